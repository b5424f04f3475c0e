# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""From results of device_info to the servers of a rank table, whatever its format.

A host that cannot be in the table is a problem with its name; all hosts are looked at before anything is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .._core.errors import HccnError, InputError
from .._core.problems import Problem

RULE = "node"
"""The rule of all problems about hosts that do not fit into a table."""


class Device(NamedTuple):
    id: int
    address: str


@dataclass(frozen=True)
class Server:
    """One host in a table; devices ascend by id."""

    host: str
    server_id: str
    devices: Tuple[Device, ...]


@dataclass(frozen=True)
class Assembly:
    """``problems`` of severity error: hosts that are missing in ``servers``. ``product``: None where unknown or mixed."""

    servers: Tuple[Server, ...]
    problems: Tuple[Problem, ...]
    product: Optional[str]

    @property
    def hosts(self) -> Tuple[str, ...]:
        """The inventory name of each entry of server_list."""
        return tuple(server.host for server in self.servers)


class _Unfit(Exception):
    """Why a host cannot be in the table: sentences without the host's name, and the device where it is one."""

    def __init__(self, *reasons: Tuple[Optional[int], str]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


Result = Union[Mapping[str, Any], HccnError, None]
"""What device_info returned for a host; an error where that is known not to be had; None where there is none."""

Expand = Callable[[Sequence[str], Sequence[int]], List[int]]
"""From the option ``devices`` and the ids that a host has to the ids wanted. Raises InputError."""


def _devices_of(result: Result) -> Sequence[Mapping[str, Any]]:
    """The list ``devices`` of a result. Raises _Unfit where there is none."""
    if result is None:
        raise _Unfit((None, "no result of device_info: unreachable, or not in that play"))
    if isinstance(result, HccnError):
        raise _Unfit((None, result.message))
    if not isinstance(result, Mapping):
        raise _Unfit((None, "the result is no dictionary as device_info returns it"))
    if result.get("unreachable"):
        raise _Unfit((None, "unreachable"))
    if result.get("skipped"):
        raise _Unfit((None, "device_info was skipped"))
    devices = result.get("devices")
    if not isinstance(devices, (list, tuple)):
        raise _Unfit((None, "device_info failed: %s" % result.get("msg", "no reason given") if result.get("failed") else "the result has no devices"))
    if not devices:
        raise _Unfit((None, "has no devices"))
    return devices


def _by_id(devices: Sequence[Mapping[str, Any]]) -> Dict[int, Mapping[str, Any]]:
    found: Dict[int, Mapping[str, Any]] = {}
    for device in devices:
        number = device.get("id") if isinstance(device, Mapping) else None
        try:
            key = int(number)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise _Unfit((None, "a device has no id: %r" % (number,))) from None
        if key in found:
            raise _Unfit((key, "device %d appears twice" % key))
        found[key] = device
    return found


def _blocks(error: Any) -> bool:
    """Errors of other topics (link, tls, ...) leave the address known: they are warnings, see _remarks."""
    return not isinstance(error, Mapping) or error.get("topic", "address") == "address"


def _said(error: Any) -> str:
    return str(error.get("message", error)) if isinstance(error, Mapping) else str(error)


def _fault(number: int, device: Optional[Mapping[str, Any]]) -> Optional[Tuple[Optional[int], str]]:
    """Why this device cannot be a rank, or None."""
    if device is None:
        return (number, "has no device %d" % number)
    errors = [error for error in device.get("errors") or () if _blocks(error)]
    if errors:
        return (number, "device %d: %s" % (number, _said(errors[0])))
    if not device.get("address"):
        return (number, "device %d has no address" % number)
    return None


def _ranks(result: Result, wanted: Sequence[str], expand: Expand) -> List[Mapping[str, Any]]:
    """The wanted devices of one host, ascending by id. Raises _Unfit."""
    found = _by_id(_devices_of(result))
    numbers = sorted(expand(wanted, sorted(found)))
    faults = [fault for fault in (_fault(number, found.get(number)) for number in numbers) if fault is not None]
    if faults:
        raise _Unfit(*faults)
    return [found[number] for number in numbers]


def _remarks(host: str, devices: Sequence[Mapping[str, Any]]) -> List[Problem]:
    """Errors that device_info met beside the address."""
    return [Problem(RULE, "warning", "device %d: %s" % (int(device["id"]), _said(error)), host=host, device=int(device["id"]))
            for device in devices for error in device.get("errors") or ()]


def assemble(nodes: Mapping[str, Result], server_id: Callable[[str], str], wanted: Sequence[str], expand: Expand) -> Assembly:
    """The servers in the order of ``nodes``.

    ``server_id`` gives the address of a host, or raises HccnError. Raises InputError for what concerns no single host.
    """
    if not nodes:
        raise InputError("no hosts are given, so there is no rank table to write")
    expand(wanted, ())
    servers: List[Server] = []
    problems: List[Problem] = []
    for host, result in nodes.items():
        try:
            devices = _ranks(result, wanted, expand)
            ranks = tuple(Device(int(device["id"]), str(device["address"])) for device in devices)
            servers.append(Server(host, server_id(host), ranks))
            problems.extend(_remarks(host, devices))
        except _Unfit as unfit:
            problems.extend(Problem(RULE, "error", reason, host=host, device=number) for number, reason in unfit.reasons)
        except HccnError as error:
            problems.append(Problem(RULE, "error", error.message, host=host, hint=error.hint or None))
    return Assembly(tuple(servers), tuple(problems), _product(nodes))


def _product(nodes: Mapping[str, Result]) -> Optional[str]:
    products = {str(result["product"]) for result in nodes.values() if isinstance(result, Mapping) and result.get("product")}
    return products.pop() if len(products) == 1 else None


def sentence(problems: Sequence[Problem], hosts: int) -> str:
    """All hosts that do not fit, in one sentence; hosts with the same reason stand together."""
    groups: Dict[Tuple[str, ...], List[str]] = {}
    reasons: Dict[str, List[str]] = {}
    for problem in problems:
        if problem.severity == "error":
            reasons.setdefault(str(problem.host), []).append(problem.message)
    for host, said in reasons.items():
        groups.setdefault(tuple(said), []).append(host)
    parts = ["%s (%s)" % (", ".join(names), ", ".join(said)) for said, names in groups.items()]
    return "%d of %d hosts cannot be in the rank table: %s" % (len(reasons), hosts, "; ".join(parts))
