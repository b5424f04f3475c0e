# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Assemble the servers of a rank table of any format from results of device_info.

A host that cannot be in the table is reported as a problem with its name. All hosts are read first, so one call reports all such hosts.
"""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from .._core.errors import HccnError, InputError
from .._core.problems import Problem
from . import hccl, rank_list
from .formats import AUTO, version_of
from .host_result import Result, UnusableHost, by_id, devices_of, is_mapping, message_of, super_pod_of, topic_of, vnic_address
from .model import Device, Server

RULE = "node"
"""The rule of all problems with hosts that cannot be in a table."""

Expand = Callable[[Sequence[str], Sequence[int]], List[int]]
"""Maps the option ``devices`` and the ids of a host to the requested ids. Raises InputError."""


class HostAddresses(NamedTuple):
    """The addresses of a host in a table."""

    server_id: str
    host_ip: Optional[str] = None
    container_ip: Optional[str] = None


@dataclass(frozen=True)
class TableOptions:
    """The options of a table. ``host_devices`` overrides ``devices`` by host; ``levels`` holds the addresses of each host for version 2.0."""

    format: str = "hccl"
    version: str = AUTO
    devices: Sequence[str] = ("all",)
    host_devices: Optional[Mapping[str, Sequence[str]]] = None
    levels: Optional[Mapping[str, Any]] = None

    def devices_of(self, host: str) -> Sequence[str]:
        return (self.host_devices or {}).get(host, self.devices)


@dataclass(frozen=True)
class Assembly:
    """The servers of a table. Hosts with a problem of severity error are missing in ``servers``. ``product`` is None if unknown or mixed."""

    servers: Tuple[Server, ...]
    problems: Tuple[Problem, ...]
    product: Optional[str]
    version: str = hccl.VERSION

    @property
    def hosts(self) -> Tuple[str, ...]:
        """The inventory name of each server."""
        return tuple(server.host for server in self.servers)


class _Requirements:
    """The requirements of a format and version for every device."""

    def __init__(self, options: TableOptions, version: str) -> None:
        self.layers = version == rank_list.VERSION
        self.vnic = options.format == "vllm_pd"
        self.needs_pod = version == hccl.SUPER_POD_VERSION and not self.vnic
        self.includes_pod = self.needs_pod or self.vnic or options.format == "local_comm_res"
        self._needed = {"super_pod"} if self.needs_pod else set()
        if not self.layers:
            self._needed.add("address")

    def rank(self, number: int, device: Optional[Mapping[str, Any]]) -> Device:
        """Return the device as a rank of the table. Raises UnusableHost with the reason if that is impossible."""
        if device is None:
            raise UnusableHost((number, "has no device %d" % number))
        address = str(device["address"]) if device.get("address") else None
        vnic = vnic_address(device) if self.vnic else None
        # Errors of other topics (link, tls, ...) do not prevent a table. They become warnings, see _other_errors.
        if not isinstance(device.get("errors") or [], (list, tuple)):
            raise UnusableHost((number, "device %d: its errors are not a list" % number))
        for error in _errors(device):
            if topic_of(error) in self._needed and not (vnic and topic_of(error) == "address"):
                raise UnusableHost((number, "device %d: %s" % (number, message_of(error))))
        pod = super_pod_of(device) if self.includes_pod else None
        if self.needs_pod and pod is None:
            message = "device %d is not in a super pod" if "super_pod" in device else "the super pod of device %d was not read: gather super_pod"
            raise UnusableHost((number, message % number))
        if address is None and vnic is None and not self.needs_pod:
            raise UnusableHost((number, "device %d has no address" % number))
        return Device(number, vnic or address, int(pod["sdid"]) if pod and pod["sdid"] is not None else None)


def _errors(device: Mapping[str, Any]) -> Sequence[Any]:
    errors = device.get("errors")
    return errors if isinstance(errors, (list, tuple)) else ()


def _selected(found: Mapping[int, Mapping[str, Any]], wanted: Sequence[str], expand: Expand, requirements: _Requirements) -> Tuple[Device, ...]:
    """Return the requested devices of one host, ascending by id. Raises UnusableHost."""
    devices: List[Device] = []
    faults: List[Tuple[Optional[int], str]] = []
    for number in sorted(expand(wanted, sorted(found))):
        try:
            devices.append(requirements.rank(number, found.get(number)))
        except UnusableHost as error:
            faults.extend(error.reasons)
    if faults:
        raise UnusableHost(*faults)
    return tuple(devices)


def _pod_id(devices: Sequence[Device], found: Mapping[int, Mapping[str, Any]]) -> Optional[str]:
    """Return the super pod of a host. Raises UnusableHost if its devices are in several."""
    pods = sorted({str(found[device.id]["super_pod"]["super_pod_id"]) for device in devices if device.sdid is not None})
    if len(pods) > 1:
        raise UnusableHost((None, "its devices are in several super pods: %s" % ", ".join(pods)))
    return pods[0] if pods else None


def _devices_of_levels(host: str, levels: Optional[Mapping[str, Any]], wanted: Sequence[str], expand: Expand, present: Mapping[int, Any]) -> Tuple[Device, ...]:
    """Return the devices of one host for version 2.0, from the option ``levels``. Raises UnusableHost."""
    given = (levels or {}).get(host)
    given = given.get("rank_list") if isinstance(given, abc.Mapping) else given
    if not isinstance(given, (list, tuple)) or not given:
        raise UnusableHost((None, "version 2.0 requires the addresses of the network layers, which no tool reports: set the option levels"))
    found = by_id(given, "device_id")
    numbers = sorted(expand(wanted, sorted(found)))
    faults = [(number, "levels has no device %d" % number) for number in numbers if number not in found]
    faults += [(number, "has no device %d" % number) for number in numbers if number in found and number not in present]
    faults += [(number, "levels: device %d has no %s" % (number, rank_list.LEVELS)) for number in numbers
               if number in found and not isinstance(found[number].get(rank_list.LEVELS), list)]
    if faults:
        raise UnusableHost(*faults)
    return tuple(Device(number, more={key: value for key, value in found[number].items() if key not in ("rank_id", "device_id")}) for number in numbers)


def _other_errors(host: str, result: Result, devices: Sequence[Device], found: Mapping[int, Mapping[str, Any]]) -> List[Problem]:
    """Return warnings for errors of device_info that do not concern the table."""
    product = result.get("product") if isinstance(result, abc.Mapping) else None
    return [Problem(RULE, "warning", "device %d: %s" % (device.id, message_of(error)), host=host, device=device.id)
            for device in devices for error in _errors(found[device.id])
            # Only A3 has super pods in this sense, so the error is expected for other products.
            if not (topic_of(error) == "super_pod" and product not in ("A3", None))]


def _server(host: str, result: Result, addresses_of: Callable[[str], HostAddresses], options: TableOptions, expand: Expand,
            requirements: _Requirements) -> Tuple[Server, List[Problem]]:
    found = by_id(devices_of(result))
    if requirements.layers:
        devices = _devices_of_levels(host, options.levels, options.devices_of(host), expand, found)
    else:
        devices = _selected(found, options.devices_of(host), expand, requirements)
    server_id, host_ip, container_ip = addresses_of(host)
    return Server(host, server_id, devices, host_ip, container_ip, _pod_id(devices, found)), _other_errors(host, result, devices, found)


def _without_address(servers: Sequence[Server]) -> List[Problem]:
    """Return a problem for each device without an address. HCCL accepts that inside one super pod, but not between several."""
    pods = {server.super_pod_id for server in servers}
    severity = "warning" if len(pods) == 1 else "error"
    why = "HCCL can do without one inside a super pod, unless RoCE is forced" if len(pods) == 1 else "HCCL requires one between super pods"
    return [Problem(RULE, severity, "device %d has no address: %s" % (device.id, why), host=server.host, device=device.id)
            for server in servers for device in server.devices if device.address is None]


def _unknown_pods(results: Mapping[str, Result]) -> List[Problem]:
    """Return a warning if the version depends on super pods but device_info did not gather them."""
    for result in results.values():
        if isinstance(result, abc.Mapping) and result.get("product") == "A3":
            devices = result.get("devices")
            if isinstance(devices, (list, tuple)) and not any(isinstance(device, abc.Mapping) and "super_pod" in device for device in devices):
                return [Problem(RULE, "warning", "the topic super_pod was not gathered, so the table assumes hosts outside a super pod",
                                hint="gather super_pod with device_info")]
    return []


def assemble(results: Mapping[str, Result], addresses_of: Callable[[str], HostAddresses], options: TableOptions, expand: Expand) -> Assembly:
    """Return the servers in the order of ``results``, which are those of device_info by host.

    ``addresses_of`` returns the addresses of a host, or raises HccnError. Raises InputError for errors that do not concern a single host.
    """
    if not results:
        raise InputError("no hosts are given, so there is no rank table to write")
    for words in [options.devices, *(options.host_devices or {}).values()]:
        expand(words, ())
    version = version_of(options.format, options.version, _products(results), _in_super_pod(results))
    requirements = _Requirements(options, version)
    servers: List[Server] = []
    problems: List[Problem] = _unknown_pods(results) if options.version == AUTO and version == hccl.VERSION else []
    for host, result in results.items():
        try:
            server, warnings = _server(host, result, addresses_of, options, expand, requirements)
            servers.append(server)
            problems.extend(warnings)
        except UnusableHost as error:
            problems.extend(Problem(RULE, "error", reason, host=host, device=number) for number, reason in error.reasons)
        except HccnError as error:
            problems.append(Problem(RULE, "error", error.message, host=host, hint=error.hint or None))
    if requirements.needs_pod:
        problems.extend(_without_address(servers))
    products = _products(results)
    return Assembly(tuple(servers), tuple(problems), products.pop() if len(products) == 1 else None, version)


def _products(results: Mapping[str, Result]) -> Set[str]:
    return {str(result["product"]) for result in results.values() if isinstance(result, abc.Mapping) and result.get("product")}


def _in_super_pod(results: Mapping[str, Result]) -> bool:
    return any(is_mapping(device) and super_pod_of(device) is not None
               for result in results.values() if isinstance(result, abc.Mapping) and isinstance(result.get("devices"), (list, tuple))
               for device in result["devices"])


def exclusion_message(problems: Sequence[Problem], hosts: int) -> str:
    """Return one sentence that names all hosts that cannot be in the table, grouped by reason."""
    groups: Dict[Tuple[str, ...], List[str]] = {}
    reasons: Dict[str, List[str]] = {}
    for problem in problems:
        if problem.severity == "error":
            reasons.setdefault(str(problem.host), []).append(problem.message)
    for host, messages in reasons.items():
        groups.setdefault(tuple(messages), []).append(host)
    parts = ["%s (%s)" % (", ".join(names), ", ".join(messages)) for messages, names in groups.items()]
    return "%d of %d hosts cannot be in the rank table: %s" % (len(reasons), hosts, "; ".join(parts))
