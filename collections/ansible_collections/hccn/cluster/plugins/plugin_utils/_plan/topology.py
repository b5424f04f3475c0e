# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Determine the leaf and rail of each NPU, and the super pod and rack of each host.

The first known source counts: the inventory, then LLDP (and for super pods the NPUs), then labels of the Kubernetes node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.untrusted_text import has_template
from ...module_utils._core.words import LONGEST_NAME, printable
from .input_numbers import whole_number
from .plan_hosts import PlanHost

LABELS: Mapping[str, Sequence[str]] = {
    "leaf": ("volcano.sh/tor", "volcano.sh/hypernode"),
    "super_pod": ("huawei.com/topotree.superpodid",),
    "rack": ("huawei.com/topotree.rackid", "topology.kubernetes.io/rack"),
}
"""Labels of Kubernetes nodes; the first existing one counts (sources: Volcano, network topology discovery by label; MindCluster, labels of nodes).
``topology.kubernetes.io/rack`` is not defined by Kubernetes itself, but widely used."""

GROUPS = ("leaf", "rail", "super_pod", "rack")
"""Keys of an entry of the option groups."""

INVENTORY, LLDP, LABEL = "inventory", "lldp", "label"
"""Sources of a leaf."""

NAMES_SHOWN = 4

Topology = dict[str, dict[str, Any]]
"""By host: ``super_pod``, ``rack``, and ``devices``, which has by id (a string) ``rail``, ``address``, ``leaf`` and its source ``leaf_from``. Unknown values
are absent."""


@dataclass(frozen=True)
class Groups:
    """The groups of one host. ``leaves``, their ``leaf_sources`` and ``rails`` are by device; an unknown leaf is absent."""

    leaves: Mapping[int, str]
    leaf_sources: Mapping[int, str]
    rails: Mapping[int, int]
    super_pod: str | None = None
    rack: str | None = None

    def wiring(self, devices: Sequence[int]) -> tuple[str | None, ...]:
        """Return the leaf of each of these devices."""
        return tuple(self.leaves.get(device) for device in devices)


def find_groups(hosts: Sequence[PlanHost], table: Any = None) -> dict[str, Groups]:
    """Return the groups of all hosts. ``table`` has ``leaf``, ``rail``, ``super_pod`` and ``rack`` by host and takes precedence. Raises InputError."""
    if table is not None and not isinstance(table, Mapping):
        raise InputError("groups is not a dictionary with an entry for each host")
    if table and not any(host.name in table for host in hosts):
        raise InputError("groups has none of the hosts", f"it has {', '.join(map(str, list(table)[:NAMES_SHOWN]))}")
    switches = Switches(host.entry for host in hosts)
    return {host.name: _groups(host, _table_of(table or {}, host.name), switches) for host in hosts}


def topology_of_hosts(hosts: Sequence[PlanHost], groups: Mapping[str, Groups], rails: Iterable[int]) -> Topology:
    """Return the topology of these devices, as a plan contains it."""
    wanted = list(rails)
    found: Topology = {}
    for host in hosts:
        mine = groups[host.name]
        named = {"super_pod": mine.super_pod, "rack": mine.rack}
        devices = {str(device): {"rail": mine.rails[device], "address": host.devices[device],
                                 **({"leaf": mine.leaves[device], "leaf_from": mine.leaf_sources[device]} if device in mine.leaves else {})}
                   for device in wanted if device in host.devices}
        found[host.name] = {**{key: value for key, value in named.items() if value is not None}, "devices": devices}
    return found


class Switches:
    """Names of leaves from LLDP: the system name, with the chassis if several switches have the same name."""

    def __init__(self, entries: Iterable[Mapping[str, Any]]) -> None:
        self._chassis: dict[str, set[str]] = {}
        for entry in entries:
            for device in entry["devices"]:
                system, chassis = self._names(device)
                if system and chassis:
                    self._chassis.setdefault(system, set()).add(chassis)

    def leaf(self, device: Mapping[str, Any]) -> str | None:
        """Return the leaf of a device of device_info."""
        system, chassis = self._names(device)
        if system and chassis and len(self._chassis[system]) > 1:
            return f"{system} {chassis}"
        return system or chassis

    @staticmethod
    def _names(device: Mapping[str, Any]) -> tuple[str | None, str | None]:
        lldp = device.get("lldp")
        return (_name(lldp.get("system_name")), _name(lldp.get("chassis"))) if isinstance(lldp, Mapping) else (None, None)


def _table_of(table: Mapping[str, Any], host: str) -> Mapping[str, Any]:
    entry = table.get(host, {})
    if not isinstance(entry, Mapping):
        raise InputError(f"groups: the entry of host {host} is not a dictionary")
    unknown = next((key for key in entry if key not in GROUPS), None)
    if unknown is not None:
        raise InputError(f"groups: host {host} has {unknown!r}, which is none of {', '.join(GROUPS)}")
    return entry


def _groups(host: PlanHost, table: Mapping[str, Any], switches: Switches) -> Groups:
    given = {whole_number("device id", device["id"]): device for device in host.entry["devices"]}
    labels = host.entry.get("labels")
    labels = labels if isinstance(labels, Mapping) else {}
    leaves, leaf_sources, rails = {}, {}, {}
    for device in host.devices:
        candidates = ((_of_device(host, table, "leaf", device), INVENTORY), (given[device].get("leaf"), INVENTORY),
                      (_of_device(host, host.entry, "leaf", device), INVENTORY), (switches.leaf(given[device]), LLDP), (_label(labels, "leaf"), LABEL))
        leaf = next(((name, source) for name, source in ((_name(value), source) for value, source in candidates) if name is not None), None)
        if leaf is not None:
            leaves[device], leaf_sources[device] = leaf
        rail = next((value for value in (_of_device(host, table, "rail", device), given[device].get("rail")) if value is not None), device)
        rails[device] = whole_number(f"host {host.name} NPU {device}: rail", rail)
    probed = [(device.get("super_pod") or {}).get("super_pod_id") for device in given.values() if isinstance(device.get("super_pod"), Mapping)]
    super_pod = next(filter(None, map(_name, (table.get("super_pod"), host.entry.get("super_pod"), *probed, _label(labels, "super_pod")))), None)
    rack = next(filter(None, map(_name, (table.get("rack"), host.entry.get("rack"), _label(labels, "rack")))), None)
    return Groups(leaves, leaf_sources, rails, super_pod, rack)


def _of_device(host: PlanHost, entry: Mapping[str, Any], key: str, device: int) -> Any:
    """Return the value for a device from one value for all devices, or from a dictionary by device id."""
    value = entry.get(key)
    if isinstance(value, Mapping):
        return value.get(device, value.get(str(device)))
    if isinstance(value, Sequence) and not isinstance(value, str):
        raise InputError(f"host {host.name}: {key} is a list", "give one for all its NPUs, or a dictionary by NPU id")
    return value


def _label(labels: Mapping[str, Any], group: str) -> Any:
    return next((labels[label] for label in LABELS[group] if labels.get(label) not in (None, "")), None)


def _name(value: Any) -> str | None:
    """Return a printable name, since a switch may send anything; None for no name, and for text that Ansible could evaluate as a template."""
    if value is None or isinstance(value, (bool, Mapping, list)):
        return None
    text = str(value).strip()
    return None if has_template(text) else printable(text[:LONGEST_NAME]) or None


def pack(topology: Mapping[str, Mapping[str, Any]], order: Sequence[str], rails: Sequence[int]) -> dict[str, Any]:
    """Return the topology in a compact form, by host and rail, without addresses. A list for a host is by rail."""
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
    """Return the topology from its compact form and the addresses. Devices without an address are left out."""
    found: Topology = {}
    for place, host in enumerate(order):
        entry = {key: _named(packed[key], place, 1)[0] for key in ("super_pod", "rack") if key in packed}
        leaves, sources = ([_named(packed[key], place, len(rails)) if key in packed else [None] * len(rails) for key in ("leaf", "leaf_from")])
        numbers = _long(packed["rail"][place], len(rails)) if "rail" in packed else rails
        devices = {str(rail): {"rail": number, "address": address, **({} if leaf is None else {"leaf": leaf, "leaf_from": source})}
                   for rail, number, address, leaf, source in zip(rails, numbers, addresses[place], leaves, sources) if address is not None}
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
