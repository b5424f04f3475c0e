# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The placement of a collective: the hosts in rank order, their addresses for the launcher, and the hosts that cannot take part now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...module_utils._rank_table.super_pod import ALONE

Variables = Callable[[str], Mapping[str, Any]]
"""The variables of a host."""


@dataclass
class Placement:
    """``hosts`` are in rank order, with their ``addresses``. ``known_hosts`` are lines for ssh.

    ``busy`` describes each busy NPU and the busy GPUs of each host, ``unready`` each failure of a host.
    """

    hosts: list[str] = field(default_factory=list)
    addresses: list[Any] = field(default_factory=list)
    known_hosts: list[str] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    unready: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the result of the filter."""
        return asdict(self)


def placement(hosts: Iterable[str], variables: Variables, register_name: str, trust_name: str, addresses: Mapping[str, Any], rank_order: str) -> Placement:
    """Return the placement of a collective over ``hosts``.

    ``register_name`` and ``trust_name`` are the variables in which the hosts registered the results of device_info or gpu_info, and of ssh_trust.
    ``variables`` is called once per host.
    """
    found = Placement()
    own: dict[str, tuple[Any, list[str]]] = {}
    pods: dict[tuple[str, Any], list[str]] = {}
    for host in hosts:
        known = variables(host)
        probe, trust = _mapping(known.get(register_name)), _mapping(known.get(trust_name))
        address = addresses[host] if host in addresses else known.get("ansible_host", host)
        own[host] = address, [f"{address},[{address}]:* {key}" for key in _sequence(trust.get("host_keys"))]
        pods.setdefault(_super_pod(host, probe) if rank_order == "super_pod" else ("", None), []).append(host)
        found.busy += _busy(host, probe)
        found.unready += [f"{host}: {reason}" for result in (probe, trust) for reason in _failures(result)]
    for host in (host for members in pods.values() for host in members):
        address, lines = own[host]
        found.hosts.append(host)
        found.addresses.append(address)
        found.known_hosts += lines
    return found


def _super_pod(host: str, probe: Mapping[str, Any]) -> tuple[str, Any]:
    """Return a key for the super pod of a host; the host itself if it is in no super pod or its super pod is unknown."""
    for device in map(_mapping, _sequence(probe.get("devices"))):
        pod = device.get("super_pod")
        if isinstance(pod, Mapping) and pod.get("server_index") != ALONE:
            number = pod.get("super_pod_id")
            return ("super_pod", number) if isinstance(number, (int, str)) else ("host", host)
    return "host", host


def _busy(host: str, probe: Mapping[str, Any]) -> list[str]:
    """Return a description of each NPU that has processes or whose processes are unknown, and of GPUs that have processes."""
    on_gpus = [str(_mapping(process).get("pid")) for process in _sequence(probe.get("gpu_processes"))]
    found = [f"{host} GPUs (pid {', '.join(on_gpus)})"] if on_gpus else []
    for device in map(_mapping, _sequence(probe.get("devices"))):
        processes = device.get("processes")
        if not isinstance(processes, (list, tuple)):
            found.append(f"{host} NPU {device.get('id')} (processes unknown)")
        elif processes:
            found.append(f"{host} NPU {device.get('id')} (pid {', '.join(str(_mapping(process).get('pid')) for process in processes)})")
    return found


def _failures(result: Mapping[str, Any]) -> list[str]:
    """Return the reason why a module failed as the only element of a list; an empty list if it did not fail."""
    if "msg" not in result or result.get("devices") or result.get("skipped"):
        return []
    # If the module could not start, its stderr has the reason.
    output = str(result.get("module_stderr") or result.get("module_stdout") or "").strip().splitlines()
    return [f"{result['msg']}: {output[-1]}" if output else str(result["msg"])]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []
