# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check the IPv4 addresses of the NPUs of a host: subnets that the product requires, and networks that the NPUs reserve.

``hccn_tool -ip -s`` only refuses reserved networks and the address of the sibling die ("conflicted", exit 7). It accepts all other addresses, even
if they cannot work (recorded runs of the real front end).
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from .._core.problems import Problem
from . import network_config
from .network_items import Values, canonical
from .reserved import is_in_super_pod, network_containing, reserved_networks

Network = ipaddress.IPv4Network

SUBNETS: Mapping[str, int] = {"A2": 1, "910A": 4}
"""Number of subnets of a host. NPUs whose ids have the same remainder modulo this number share one (address policies of Ascend Deployer)."""

DIES = 2
"""Number of dies of an A3 NPU. They must be in different subnets, else pings between hosts fail (address policies of Ascend Deployer)."""

CHECKED = ("address", "netmask", "gateway", "netdetect")

RULES = ("loopback_address", "reserved_network", "one_subnet", "four_subnets", "sibling_subnet")
"""Rules in addition to ``invalid_<option>`` and ``duplicate_address``, which apply to all NPUs."""

PRODUCTS = ("910A", "A2", "A3", "950")


class DeviceAddress(NamedTuple):
    """An NPU and its values. ``network`` is None if address or netmask are missing or invalid."""

    device: int
    values: Values
    where: Mapping[str, str]
    network: Optional[Network]


class Owner(NamedTuple):
    """The owner of an address, and where it is defined."""

    address: str
    host: Optional[str]
    device: int
    where: str


def in_super_pod(devices: Iterable[Mapping[str, Any]]) -> Optional[bool]:
    """Return whether these dies are in a super pod, by the topic ``super_pod`` of device_info. Return None if the topic was not read."""
    with_topic = [device for device in devices if "super_pod" in device]
    read = [device for device in with_topic if not any(error.get("topic") == "super_pod" for error in device.get("errors") or ())]
    if not read:
        return None
    return any(device["super_pod"] is not None and is_in_super_pod(device["super_pod"]["server_index"]) for device in read)


def check(devices: Sequence[Mapping[str, Any]], product: Optional[str], super_pod: Optional[bool] = None, host: Optional[str] = None,
          where: str = "devices") -> List[Problem]:
    """Return the problems of the addresses of one host's NPUs, by device and then by rule.

    ``devices``: results of device_info or entries of the option ``config`` of device_network, with ``id`` and optionally ``address``, ``netmask``,
    ``gateway``, ``netdetect``, and ``where`` (default: ``devices[<index>].<option>``). ``super_pod``: whether the host is in one, None if not known.
    """
    ports: List[DeviceAddress] = []
    problems: List[Problem] = []
    for index, entry in enumerate(devices):
        values = {option: str(entry[option]) for option in CHECKED if entry.get(option) not in (None, "")}
        paths = {option: str(entry.get("where") or "%s[%d].%s" % (where, index, option)) for option in CHECKED}
        faults = network_config.faults(values)
        is_valid = not {option for option, _wrong in faults} & {"address", "netmask"} and "address" in values
        ports.append(DeviceAddress(entry["id"], values, paths, network_config.network_of(values["address"], values["netmask"]) if is_valid else None))
        problems += [Problem("invalid_" + option, "error", wrong, host, entry["id"], paths[option]) for option, wrong in faults]
    with_network = [port for port in ports if port.network is not None]
    for port in with_network:
        problems += list(_loopback(port, host)) + list(_reserved(port, product, super_pod, host))
    problems += _by_product(with_network, product, host)
    order: Dict[Optional[int], int] = {port.device: index for index, port in enumerate(ports)}
    return sorted(problems, key=lambda problem: order[problem.device])


def duplicates(owners: Iterable[Owner]) -> List[Problem]:
    """Return problems for addresses of several NPUs, on one or several hosts. hccn_tool accepts duplicate addresses, but the fabric requires unique ones."""
    first: Dict[str, Owner] = {}
    problems = []
    for owner in owners:
        before = first.setdefault(canonical(owner.address), owner)
        if before is not owner:
            problems.append(Problem("duplicate_address", "error", "%s is also the address of %sNPU %d, %s" % (
                owner.address, before.host + " " if before.host else "", before.device, before.where), owner.host, owner.device, owner.where,
                "give each NPU an address of its own"))
    return problems


def _error(rule: str, port: DeviceAddress, host: Optional[str], message: str, hint: Optional[str] = None, severity: str = "error") -> Problem:
    return Problem(rule, severity, message, host, port.device, port.where["address"], hint)


def _loopback(port: DeviceAddress, host: Optional[str]) -> Iterator[Problem]:
    if ipaddress.IPv4Address(port.values["address"]).is_loopback:
        yield _error("loopback_address", port, host, "%s is a loopback address: packets to it never leave the NPU" % port.values["address"])


def _reserved(port: DeviceAddress, product: Optional[str], super_pod: Optional[bool], host: Optional[str]) -> Iterator[Problem]:
    address = port.values["address"]
    certain, possible = reserved_networks(product, super_pod)
    reserved = network_containing(address, certain)
    if reserved is not None:
        yield _error("reserved_network", port, host, "%s is in %s, which the NPUs of %s use internally" % (address, reserved, _host_of(product)),
                     "hccn_tool refuses it")
        return
    reserved = network_containing(address, possible)
    if reserved is not None:
        yield _error("reserved_network", port, host, "%s is in %s, which the NPUs of an A3 host use internally inside a super pod" % (address, reserved),
                     "hccn_tool refuses it there; whether this host is in a super pod is unknown", "warning")


def _host_of(product: Optional[str]) -> str:
    return "a 910A host" if product == "910A" else "an %s host" % product


def _by_product(ports: Sequence[DeviceAddress], product: Optional[str], host: Optional[str]) -> List[Problem]:
    if product == "A2":
        return list(_one_subnet(ports, host))
    if product == "910A":
        return list(_four_subnets(ports, host))
    return list(_sibling_subnets(ports, host)) if product == "A3" else []


def _in_common_subnet(ports: Sequence[DeviceAddress]) -> DeviceAddress:
    """Return an NPU in the most common subnet."""
    network = Counter(port.network for port in ports).most_common(1)[0][0]
    return next(port for port in ports if port.network == network)


def _in_other_subnets(rule: str, ports: Sequence[DeviceAddress], host: Optional[str], sentence: str) -> Iterator[Problem]:
    if ports:
        reference = _in_common_subnet(ports)
        for port in ports:
            if port.network != reference.network:
                yield _error(rule, port, host, "%s is in %s, NPU %d in %s: %s" % (
                    port.values["address"], port.network, reference.device, reference.network, sentence))


def _one_subnet(ports: Sequence[DeviceAddress], host: Optional[str]) -> Iterator[Problem]:
    return _in_other_subnets("one_subnet", ports, host, "all NPUs of an A2 host must be in one subnet")


def _four_subnets(ports: Sequence[DeviceAddress], host: Optional[str]) -> Iterator[Problem]:
    count = SUBNETS["910A"]
    groups = [[port for port in ports if port.device % count == number] for number in range(count)]
    present_groups = [group for group in groups if group]
    if len(present_groups) > 1 and len({port.network for port in ports}) == 1:
        yield _error("four_subnets", ports[0], host, "all NPUs are in %s: this is only correct for a 910A host in AMP mode" % ports[0].network,
                     "in SMP mode, use a separate subnet for each of the NPU pairs 0 and 4, 1 and 5, 2 and 6, 3 and 7", "warning")
        return
    for group in present_groups:
        yield from _in_other_subnets("four_subnets", group, host, "each of the NPU pairs 0 and 4, 1 and 5, 2 and 6, 3 and 7 of a 910A host must share a subnet")
    references: Dict[Optional[Network], DeviceAddress] = {}
    for group in present_groups:
        port = _in_common_subnet(group)
        before = references.setdefault(port.network, port)
        if before is not port:
            yield _error("four_subnets", port, host, "%s is in %s, and so is NPU %d: the NPUs 0, 1, 2 and 3 of a 910A host must be in different subnets" % (
                port.values["address"], port.network, before.device))


def _sibling_subnets(ports: Sequence[DeviceAddress], host: Optional[str]) -> Iterator[Problem]:
    by_device = {port.device: port for port in ports}
    for port in ports:
        sibling = by_device.get(port.device - 1) if port.device % DIES else None
        if sibling is not None and port.network is not None and sibling.network is not None and port.network.overlaps(sibling.network):
            yield _error("sibling_subnet", port, host, "%s is in %s, and so is die %d of the same NPU (%s)" % (
                port.values["address"], port.network, sibling.device, sibling.values["address"]),
                "the two dies of an A3 NPU must be in different subnets, else pings between hosts fail")
