# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Which NPU hangs on which leaf and rail, and which host stands in which super pod and rack.

The first that is known counts: what the inventory says, what the switches tell by LLDP (and the NPUs of their super pod), labels of the Kubernetes node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.foreign_text import has_template
from ...module_utils._core.words import LONGEST_NAME, printable
from .plan_hosts import PlanHost
from .input_numbers import whole_number

LABELS: Mapping[str, Sequence[str]] = {
    "leaf": ("volcano.sh/tor", "volcano.sh/hypernode"),
    "super_pod": ("huawei.com/topotree.superpodid",),
    "rack": ("huawei.com/topotree.rackid", "topology.kubernetes.io/rack"),
}
"""Labels of Kubernetes nodes, the first that is there counts (sources: Volcano, network topology discovery by label; MindCluster, labels of nodes).
``topology.kubernetes.io/rack`` is not of Kubernetes itself, but in wide use."""

GROUPS = ("leaf", "rail", "super_pod", "rack")
"""What an entry of the option groups may say of a host."""

INVENTORY, LLDP, LABEL = "inventory", "lldp", "label"
"""Who told a leaf."""

NAMES_TOLD = 4

Topology = dict[str, dict[str, Any]]
"""By host: ``super_pod``, ``rack``, and ``devices``: by id, as a string, ``rail``, ``address``, ``leaf`` and who told it (``leaf_from``). What is not
known is absent."""


@dataclass(frozen=True)
class Groups:
    """Of one host. ``leaves``, who ``told`` them, and ``rails`` are by device; a leaf that is not known is absent."""

    leaves: Mapping[int, str]
    told: Mapping[int, str]
    rails: Mapping[int, int]
    super_pod: str | None = None
    rack: str | None = None

    def wiring(self, devices: Sequence[int]) -> tuple[str | None, ...]:
        """The leaf of each of these devices."""
        return tuple(self.leaves.get(device) for device in devices)


def find_groups(hosts: Sequence[PlanHost], table: Any = None) -> dict[str, Groups]:
    """The groups of all hosts. ``table``: by host, ``leaf``, ``rail``, ``super_pod`` and ``rack``, before all else. Raises InputError."""
    if table is not None and not isinstance(table, Mapping):
        raise InputError("groups is not a dictionary with an entry for each host")
    if table and not any(host.name in table for host in hosts):
        raise InputError("groups has none of the hosts", f"it has {', '.join(map(str, list(table)[:NAMES_TOLD]))}")
    switches = Switches(host.entry for host in hosts)
    return {host.name: _groups(host, _table_of(table or {}, host.name), switches) for host in hosts}


def topology_of_hosts(hosts: Sequence[PlanHost], groups: Mapping[str, Groups], rails: Iterable[int]) -> Topology:
    """The part of it that has to do with these devices, as it stands in a plan."""
    wanted = list(rails)
    found: Topology = {}
    for host in hosts:
        mine = groups[host.name]
        named = {"super_pod": mine.super_pod, "rack": mine.rack}
        devices = {str(device): {"rail": mine.rails[device], "address": host.devices[device],
                                 **({"leaf": mine.leaves[device], "leaf_from": mine.told[device]} if device in mine.leaves else {})}
                   for device in wanted if device in host.devices}
        found[host.name] = {**{key: value for key, value in named.items() if value is not None}, "devices": devices}
    return found


class Switches:
    """Names of leaves as LLDP tells them: the system name, with the chassis where several switches have the same name."""

    def __init__(self, entries: Iterable[Mapping[str, Any]]) -> None:
        self._chassis: dict[str, set[str]] = {}
        for entry in entries:
            for device in entry["devices"]:
                system, chassis = self._told(device)
                if system and chassis:
                    self._chassis.setdefault(system, set()).add(chassis)

    def leaf(self, device: Mapping[str, Any]) -> str | None:
        """The leaf that this device of device_info sees."""
        system, chassis = self._told(device)
        if system and chassis and len(self._chassis[system]) > 1:
            return f"{system} {chassis}"
        return system or chassis

    @staticmethod
    def _told(device: Mapping[str, Any]) -> tuple[str | None, str | None]:
        told = device.get("lldp")
        return (_name(told.get("system_name")), _name(told.get("chassis"))) if isinstance(told, Mapping) else (None, None)


def _table_of(table: Mapping[str, Any], host: str) -> Mapping[str, Any]:
    entry = table.get(host, {})
    if not isinstance(entry, Mapping):
        raise InputError(f"groups: the entry of host {host} is not a dictionary")
    strange = next((key for key in entry if key not in GROUPS), None)
    if strange is not None:
        raise InputError(f"groups: host {host} has {strange!r}, which is none of {', '.join(GROUPS)}")
    return entry


def _groups(host: PlanHost, table: Mapping[str, Any], switches: Switches) -> Groups:
    given = {whole_number("device id", device["id"]): device for device in host.entry["devices"]}
    labels = host.entry.get("labels")
    labels = labels if isinstance(labels, Mapping) else {}
    leaves, told_by, rails = {}, {}, {}
    for device in host.devices:
        said = ((_of_device(host, table, "leaf", device), INVENTORY), (given[device].get("leaf"), INVENTORY),
                (_of_device(host, host.entry, "leaf", device), INVENTORY), (switches.leaf(given[device]), LLDP), (_label(labels, "leaf"), LABEL))
        leaf = next(((name, source) for name, source in ((_name(value), source) for value, source in said) if name is not None), None)
        if leaf is not None:
            leaves[device], told_by[device] = leaf
        rail = next((value for value in (_of_device(host, table, "rail", device), given[device].get("rail")) if value is not None), device)
        rails[device] = whole_number(f"host {host.name} npu {device}: rail", rail)
    told = [(device.get("super_pod") or {}).get("super_pod_id") for device in given.values() if isinstance(device.get("super_pod"), Mapping)]
    super_pod = next(filter(None, map(_name, (table.get("super_pod"), host.entry.get("super_pod"), *told, _label(labels, "super_pod")))), None)
    rack = next(filter(None, map(_name, (table.get("rack"), host.entry.get("rack"), _label(labels, "rack")))), None)
    return Groups(leaves, told_by, rails, super_pod, rack)


def _of_device(host: PlanHost, entry: Mapping[str, Any], key: str, device: int) -> Any:
    """One value for all devices of a host, or a dictionary by device id."""
    value = entry.get(key)
    if isinstance(value, Mapping):
        return value.get(device, value.get(str(device)))
    if isinstance(value, Sequence) and not isinstance(value, str):
        raise InputError(f"host {host.name}: {key} is a list", "give one for all its NPUs, or a dictionary by NPU id")
    return value


def _label(labels: Mapping[str, Any], group: str) -> Any:
    return next((labels[label] for label in LABELS[group] if labels.get(label) not in (None, "")), None)


def _name(value: Any) -> str | None:
    """A name fit to be printed; a switch may send anything. None for what is none, and for what Ansible could run as a template."""
    if value is None or isinstance(value, (bool, Mapping, list)):
        return None
    text = str(value).strip()
    return None if has_template(text) else printable(text[:LONGEST_NAME]) or None


def pack(topology: Mapping[str, Mapping[str, Any]], order: Sequence[str], rails: Sequence[int]) -> dict[str, Any]:
    """The same in few words, by host and rail; a list for a host is by rail. Addresses are not in it."""
    packed: dict[str, Any] = {}
    for key in ("super_pod", "rack"):
        packed[key] = _indexed([[topology[host].get(key)] for host in order])
    devices = [[topology[host]["devices"].get(str(rail), {}) for rail in rails] for host in order]
    for key in ("leaf", "leaf_from"):
        packed[key] = _indexed([[device.get(key) for device in mine] for mine in devices])
    if any(device.get("rail", rail) != rail for mine in devices for rail, device in zip(rails, mine)):
        packed["rail"] = [_short([device.get("rail", rail) for rail, device in zip(rails, mine)]) for mine in devices]
    return {key: value for key, value in packed.items() if value is not None}


def unpack(packed: Mapping[str, Any], order: Sequence[str], rails: Sequence[int], addresses: Sequence[Sequence[str | None]]) -> Topology:
    """What was packed, with the addresses. Devices without address are not there."""
    found: Topology = {}
    for place, host in enumerate(order):
        entry = {key: _named(packed[key], place, 1)[0] for key in ("super_pod", "rack") if key in packed}
        leaves, told = ([_named(packed[key], place, len(rails)) if key in packed else [None] * len(rails) for key in ("leaf", "leaf_from")])
        numbers = _long(packed["rail"][place], len(rails)) if "rail" in packed else rails
        devices = {str(rail): {"rail": number, "address": address, **({} if leaf is None else {"leaf": leaf, "leaf_from": source})}
                   for rail, number, address, leaf, source in zip(rails, numbers, addresses[place], leaves, told) if address is not None}
        found[host] = {**{key: value for key, value in entry.items() if value is not None}, "devices": devices}
    return found


def _indexed(values: Sequence[Sequence[Any]]) -> dict[str, Any] | None:
    names = sorted({name for row in values for name in row if name is not None})
    places = {name: place for place, name in enumerate(names)}
    return {"names": names, "of": [_short([places.get(name) for name in row]) for row in values]} if names else None


def _named(packed: Mapping[str, Any], place: int, count: int) -> list[Any]:
    return [None if index is None else packed["names"][index] for index in _long(packed["of"][place], count)]


def _short(row: Sequence[Any]) -> Any:
    return row[0] if len(set(row)) == 1 else list(row)


def _long(value: Any, count: int) -> list[Any]:
    return value if isinstance(value, list) else [value] * count
