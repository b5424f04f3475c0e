"""What differs between the versions of ClusterD, as measured on the real servers."""

from __future__ import annotations

from dataclasses import dataclass

GO_DEFAULT_PING_MS = 300_000
"""grpc-go without an enforcement policy allows one ping in five minutes."""


@dataclass(frozen=True)
class Profile:
    """``ping_ms``: a client that pings more often is disconnected. ``unary_refill``: tokens per second of the bucket of calls without a stream.

    ``fault_roles``: registrations for faults are by job and role, and there is a watch of the whole cluster. ``recovering_411``: a job on a node that is not
    ready counts as recovering. ``job_list``: SubscribeJobSummarySignalList exists, roles are checked, and limits are those of streams, not of clients.
    ``all_first``: roles that receive every job before the changes. ``tells_delete``: the end of a PodGroup is a signal.
    """

    name: str
    ping_ms: int = GO_DEFAULT_PING_MS
    unary_refill: int = 1000
    fault_roles: bool = True
    recovering_411: bool = True
    empty_orders: int = 1
    pause_failed: str = "om failed, pause train failed"
    job_roles: tuple[str, ...] = ("CCAgent", "DefaultUser1", "DefaultUser2", "FdAgent")
    job_list: bool = False
    job_clients: int = 20
    all_first: tuple[str, ...] = ("FdAgent",)
    tells_delete: bool = True
    recovery_off: str = "process-recover-enable and subhealthy hotswtich not open:<nil>"
    health_check: bool = True


_26 = {"ping_ms": 3000, "recovering_411": False, "job_list": True, "job_clients": 100_000, "all_first": ()}

PROFILES = {one.name: one for one in (
    Profile("v7.1.RC1", unary_refill=1, fault_roles=False, empty_orders=2, pause_failed="switch nic failed, pause train failed",
            job_roles=("CCAgent", "DefaultUser1", "DefaultUser2"), all_first=(), health_check=False,
            recovery_off="process-recover-enable not open:<nil>"),
    Profile("v7.2.RC1", tells_delete=False),
    Profile("v7.3.0", tells_delete=False),
    Profile("v26.0.1", **_26),  # type: ignore[arg-type]
    Profile("master", **_26),  # type: ignore[arg-type]
)}
NEWEST = "v26.0.1"
