# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Findings that compare hosts: duplicates of what must be unique, and differences of what must be equal."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils._core.words import natural, printable, some
from . import reading
from .evidence import evidence
from .finding import Device, Finding, finding, of_host, of_npus

NO_SERIALS = ("", "NA", "N/A", "NONE", "NULL", "UNKNOWN")
"""Texts that tools print in place of a serial number."""
LONGEST_VALUE = 60
PORT_NOUN = "RDMA port"
HOLDERS_SHOWN = 8

Devices = Mapping[int, Mapping[str, Any]]


class _Option(NamedTuple):
    """A property that must be equal: the cause of its finding, its name in messages, a function that reads it from an NPU, None if unknown, and the word
    for what has it."""

    cause: str
    title: str
    of: Callable[[Mapping[str, Any]], str | None]
    noun: str = "NPU"


def _tls(device: Mapping[str, Any]) -> str | None:
    enabled = reading.mapping(device.get("tls")).get("enabled")
    return ("on" if enabled else "off") if isinstance(enabled, bool) else None


def _number(key: str, unit: str = "") -> Callable[[Mapping[str, Any]], str | None]:
    def of(device: Mapping[str, Any]) -> str | None:
        value = device.get(key)
        return f"{value}{unit}" if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None

    return of


def _speed(device: Mapping[str, Any]) -> str | None:
    return _number("speed", " Mbit/s")(device) if device.get("link") != "down" else None


def _part(group: str, key: str, unit: str = "") -> Callable[[Mapping[str, Any]], str | None]:
    """Return a function that reads a text or a positive number of a group of values, such as ``versions``."""
    def of(device: Mapping[str, Any]) -> str | None:
        value = reading.mapping(device.get(group)).get(key)
        return printable(value.strip(), LONGEST_VALUE) or None if isinstance(value, str) else _number(key, unit)({key: value})

    return of


def _text(key: str) -> Callable[[Mapping[str, Any]], str | None]:
    return lambda device: printable(reading.text(device.get(key)), LONGEST_VALUE) or None


def _pfc(device: Mapping[str, Any]) -> str | None:
    enabled = device.get("pfc")
    if not isinstance(enabled, (list, tuple)) or not enabled or any(flag not in (0, 1) for flag in enabled):
        return None
    return "on for priority " + ", ".join(str(priority) for priority, flag in enumerate(enabled) if flag) if any(enabled) else "off for all priorities"


OPTIONS = (_Option("tls_differs", "TLS", _tls), _Option("mtu_differs", "the MTU", _number("mtu")), _Option("speed_differs", "the link speed", _speed),
           _Option("driver_differs", "the driver", _part("versions", "driver")), _Option("firmware_differs", "the firmware", _part("versions", "firmware")),
           _Option("driver_differs", "the network driver", _part("network_version", "driver")),
           _Option("firmware_differs", "the network firmware", _part("network_version", "firmware")),
           _Option("cann_differs", "CANN", _text("cann")),
           _Option("qos_differs", "the traffic class by DSCP", _text("dscp_to_tc")), _Option("qos_differs", "PFC", _pfc))

RDMA_OPTIONS = tuple(_Option(cause, title, of, PORT_NOUN) for cause, title, of in (
    ("mtu_differs", "the MTU of the network device", _part("rdma", "netdev_mtu")), ("mtu_differs", "the active MTU", _part("rdma", "active_mtu")),
    ("speed_differs", "the rate of the RDMA port", _part("rdma", "rate_gbit_s", " Gbit/s")), ("gid_differs", "the type of the GID", _part("rdma", "gid_type")),
    ("driver_differs", "the driver of the card", _part("rdma", "driver")), ("firmware_differs", "the firmware of the card", _part("rdma", "firmware"))))


def over_hosts(results: Mapping[str, Any], stage: str) -> list[Finding]:
    """Return the duplicates and the differences. ``results``: of device_info by host; hosts without an answer are not compared."""
    devices = {host: found for host, found in ((host, reading.devices(result)) for host, result in results.items()) if found}
    machines = _machines(results, devices)
    others = {host for alike, _why in machines for host in alike[1:]}
    once = {host: found for host, found in devices.items() if host not in others}
    twice = [finding("machine_listed_twice", of_host(*alike), f"they are the same machine according to {why}", alike, stage=stage) for alike, why in machines]
    return twice + _conflicts(once, stage) + _serials(once, stage) + _differences(results, once, stage)


def tls_differences(results: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the hosts whose TLS flags differ from those of most hosts, all of them if there is no majority, and those on which a flag is on (``enabled``).

    ``results``: of device_info by host. Hosts that were not read, or answered something else, are not compared.
    """
    flags = {host: found for host, result in results.items() for found in [_tls_flags(result)] if found}
    usual = _most_frequent(next(iter(found)) for found in flags.values() if len(found) == 1)
    return {"hosts": [host for host, found in flags.items() if found != {usual}], "enabled": [host for host, found in flags.items() if "on" in found]}


def _tls_flags(result: Any) -> set[str]:
    return {flag for device in reading.mappings(reading.mapping(result).get("devices")) for flag in [_tls(device)] if flag}


def _most_frequent(values: Iterable[str]) -> str | None:
    """Return the value that occurs most often, None if no value occurs more often than all others."""
    counts = Counter(values).most_common(2)
    return None if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]) else counts[0][0]


def _machines(results: Mapping[str, Any], devices: Mapping[str, Devices]) -> list[tuple[list[str], str]]:
    """Return the groups of inventory names that are one machine, each with the evidence."""
    by_id: dict[str, list[str]] = {}
    by_serials: dict[frozenset[str], list[str]] = {}
    for host, result in results.items():
        machine = reading.text(reading.mapping(result).get("machine"))
        serials = [_serial(device) for device in devices.get(host, {}).values()]
        if machine:
            by_id.setdefault(machine, []).append(host)
        if serials and all(serials):
            by_serials.setdefault(frozenset(serials), []).append(host)
    found: list[tuple[list[str], str]] = []
    reported: set[str] = set()
    groups = [(alike, "the id of the machine") for hosts in by_id.values() if len(hosts) > 1 for alike in _with_shared_npus(hosts, devices)]
    for alike, why in groups + [(hosts, "the serial numbers of all NPUs") for hosts in by_serials.values()]:
        if len(alike) > 1 and not reported.issuperset(alike):
            found.append((sorted(alike, key=natural), why))
            reported.update(alike)
    return found


def _with_shared_npus(hosts: Sequence[str], devices: Mapping[str, Devices]) -> list[list[str]]:
    """Group hosts by the NPUs that they share. Cloned images have the same machine id, so the id counts only if the NPUs are unknown."""
    groups: list[list[str]] = []
    owners: dict[str, list[str]] = {}
    for host in hosts:
        mine = devices.get(host, {}).values()
        serials, addresses = (list(filter(None, map(value_of, mine))) for value_of in (_serial, _address))
        group = next((owners[fact] for fact in serials or addresses if fact in owners), None)
        if group is None:
            group = groups[0] if groups and not (serials or addresses) else []
            groups += [group] if not group else []
        group.append(host)
        owners.update(dict.fromkeys([*serials, *addresses], group))
    return groups


def _serial(device: Mapping[str, Any]) -> str:
    serial = reading.text(device.get("serial"))
    return "" if serial.upper() in NO_SERIALS or not serial.strip("0-") else serial


def _address(device: Mapping[str, Any]) -> str:
    try:
        return str(ipaddress.ip_address(device["address"])) if isinstance(device.get("address"), str) else ""
    except ValueError:
        return ""


def _conflicts(devices: Mapping[str, Devices], stage: str) -> list[Finding]:
    return [finding("address_conflict", of_npus(npus), f"{'both' if len(npus) == 2 else f'all {len(npus)}'} have the address {address}", devices=npus,
                    evidence=_holders(npus), stage=stage)
            for address, npus in _owners(devices, _address).items() if len(npus) > 1]


def _serials(devices: Mapping[str, Devices], stage: str) -> list[Finding]:
    """Compare over hosts only, since the dies of one card share its serial number."""
    return [finding("serial_duplicate", of_npus(npus), f"they have the same serial number, {printable(serial)}", devices=npus, evidence=_holders(npus),
                    stage=stage)
            for serial, npus in _owners(devices, _serial).items() if len({host for host, _number in npus}) > 1]


def _owners(devices: Mapping[str, Devices], value_of: Callable[[Mapping[str, Any]], str]) -> dict[str, list[Device]]:
    owners: dict[str, list[Device]] = {}
    for host, found in devices.items():
        for number, device in found.items():
            value = value_of(device)
            if value:
                owners.setdefault(value, []).append((host, number))
    return owners


def _holders(npus: Sequence[Device]) -> list[str]:
    return [f"{host} NPU {number}" for host, number in npus] if len(npus) > HOLDERS_SHOWN else []


def _differences(results: Mapping[str, Any], devices: Mapping[str, Devices], stage: str, options: Sequence[_Option] = OPTIONS) -> list[Finding]:
    """Compare the hosts of each product, since speed and firmware may legitimately differ between products."""
    products: dict[str, dict[str, Devices]] = {}
    for host, found in devices.items():
        answer = reading.mapping(results[host])
        of_host = {key: answer[key] for key in ("cann",) if key in answer}
        mine = {number: {**device, **of_host} for number, device in found.items()} if of_host else found
        products.setdefault(reading.text(answer.get("product")), {})[host] = mine
    return [one for hosts in products.values() for option in options for one in _differing(option, hosts, stage)]


def over_rdma_hosts(results: Mapping[str, Any], stage: str) -> list[Finding]:
    """Return the differences between the RDMA ports of hosts. ``results``: of perf_tools_info by host. Cards of one rate are one product."""
    return _differences(results, {host: found for host, found in ((host, reading.devices(result)) for host, result in results.items()) if found}, stage,
                        RDMA_OPTIONS)


def _differing(option: _Option, devices: Mapping[str, Devices], stage: str) -> Iterable[Finding]:
    """Yield a finding per host with an uncommon value; if no value is the most frequent one, a single finding for all hosts."""
    values = {(host, number): value for host, found in devices.items() for number, device in found.items() for value in [option.of(device)] if value}
    counts = Counter(values.values()).most_common()
    if len(counts) < 2:
        return
    usual = _most_frequent(values.values())
    if usual is None:
        shown = some([f"{value} for {count} {option.noun}{'' if count == 1 else 's'} ({_some_of(values, value)})" for value, count in counts], 4)
        yield finding(option.cause, of_host(*devices), f"{option.title} is {shown}", devices, values, stage=stage)
        return
    most = counts[0][1]
    rare: dict[tuple[str, str], list[Device]] = {}
    for npu, value in values.items():
        if value != usual:
            rare.setdefault((npu[0], value), []).append(npu)
    for (host, value), npus in rare.items():
        component = of_host(host) if len(npus) == len(devices[host]) or option.noun == PORT_NOUN else of_npus(npus)
        piece = evidence("differs", host=host, setting=option.title.removeprefix("the "), value=value, count=most, usual=usual)
        yield finding(option.cause, component, f"{option.title} is {value}, that of {most} other {option.noun}s is {usual}", [host], npus, [piece], stage)


def _some_of(values: Mapping[Device, str], value: str) -> str:
    return some(sorted({host for (host, _number), found in values.items() if found == value}, key=natural), 3)
