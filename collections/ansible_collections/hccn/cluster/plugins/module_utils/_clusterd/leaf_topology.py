# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The user's description of which NPUs are connected to which leaf and QDD, and the selection of NPUs by it.

A QDD is a module (QSFP-DD) with ports A and B, each for one NPU. After a failover, an NPU uses the port of the same letter of the backup QDD.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import InputError
from .._core.numbers import is_count

PORTS = ("A", "B")
Nics = Dict[str, List[int]]
"""Physical ids of NPUs by node, in the order of the request."""


class Qdd(NamedTuple):
    """``ports`` are NPUs by port. ``backup`` is the QDD that takes over; it is informational."""

    name: str
    ports: Tuple[Tuple[str, int], ...]
    backup: str


class Leaf(NamedTuple):
    """``nodes`` are those with this wiring; None for all."""

    name: str
    backup: str
    nodes: Optional[Tuple[str, ...]]
    qdds: Tuple[Qdd, ...]

    @property
    def devices(self) -> List[int]:
        return [device for qdd in self.qdds for _port, device in qdd.ports]


def device_id(value: Any, option: str) -> int:
    """Return the physical id of an NPU. Raises InputError."""
    text = str(value).strip()
    if isinstance(value, bool) or not is_count(text):
        raise InputError("%s: %r is not the id of an NPU, such as 0 or 8" % (option, value))
    return int(text)


def _keys(entry: Any, known: Sequence[str], needed: str, where: str) -> Mapping[str, Any]:
    if not isinstance(entry, dict) or not entry.get(needed):
        raise InputError("%s has no %s" % (where, needed))
    strange = sorted(set(entry) - set(known))
    if strange:
        raise InputError("%s: %s is unknown; valid keys are %s" % (where, ", ".join(strange), ", ".join(known)))
    found: Mapping[str, Any] = entry
    return found


def _qdd(entry: Any, where: str) -> Qdd:
    fields = _keys(entry, ("qdd", "backup", "ports"), "qdd", where)
    ports = fields.get("ports")
    if not isinstance(ports, dict) or not ports or not set(ports) <= set(PORTS):
        raise InputError("%s.ports must contain the NPU of each port, such as {A: 0, B: 8}" % where)
    return Qdd(str(fields["qdd"]), tuple((port, device_id(ports[port], "%s.ports.%s" % (where, port))) for port in PORTS if port in ports),
               str(fields.get("backup") or ""))


def parse(topology: Any) -> List[Leaf]:
    """Parse the option ``topology``. Raises InputError."""
    leaves = []
    for place, entry in enumerate(topology or ()):
        where = "topology[%d]" % place
        fields = _keys(entry, ("leaf", "backup", "nodes", "qdds"), "leaf", where)
        qdds = fields.get("qdds")
        if not isinstance(qdds, list) or not qdds:
            raise InputError("%s.qdds must be a list with the QDDs of the leaf" % where)
        nodes = fields.get("nodes")
        if nodes is not None and not isinstance(nodes, list):
            raise InputError("%s.nodes must be a list of node names" % where)
        leaves.append(Leaf(str(fields["leaf"]), str(fields.get("backup") or ""), None if nodes is None else tuple(str(node) for node in nodes),
                           tuple(_qdd(qdd, "%s.qdds[%d]" % (where, number)) for number, qdd in enumerate(qdds))))
    _check_once(leaves)
    return leaves


def _check_once(leaves: Sequence[Leaf]) -> None:
    """Raise InputError if an NPU is on several ports."""
    seen: Dict[Tuple[str, int], str] = {}
    for leaf in leaves:
        for node in leaf.nodes or ("",):
            for qdd in leaf.qdds:
                for port, device in qdd.ports:
                    place = "port %s of %s" % (port, qdd.name)
                    other = seen.setdefault((node, device), place)
                    if other != place:
                        raise InputError("topology: NPU %d%s is connected to %s and to %s" % (device, " of " + node if node else "", other, place))


def leaf_named(leaves: Sequence[Leaf], name: str) -> List[Leaf]:
    """Return the entries of a leaf: one, or one per group of nodes. Raises InputError if there is none."""
    found = [leaf for leaf in leaves if leaf.name == name]
    if not found:
        raise InputError("topology has no leaf %r; it has %s" % (name, ", ".join(sorted({leaf.name for leaf in leaves})) or "none"))
    return found


def _leaves_of(leaves: Sequence[Leaf], node: str) -> List[Leaf]:
    return [leaf for leaf in leaves if leaf.nodes is None or node in leaf.nodes]


def _by_qdd(leaves: Sequence[Leaf], node: str, name: str, port: str, where: str) -> List[int]:
    found = [qdd for leaf in _leaves_of(leaves, node) for qdd in leaf.qdds if qdd.name == name]
    if not found:
        raise InputError("%s: topology has no QDD %r on node %s" % (where, name, node))
    devices = [device for letter, device in found[0].ports if port in ("", letter)]
    if not devices:
        raise InputError("%s: the QDD %s has no NPU on port %r" % (where, name, port))
    return devices


def _by_leaf(leaves: Sequence[Leaf], node: str, name: str, where: str) -> List[int]:
    found = [leaf for leaf in leaf_named(leaves, name) if leaf.nodes is None or node in leaf.nodes]
    if not found:
        raise InputError("%s: topology has the leaf %s, but not for node %s" % (where, name, node))
    return found[0].devices


_SELECTORS = ("devices", "leaf", "qdd")


def _selected_devices(entry: Mapping[str, Any], leaves: Sequence[Leaf], where: str) -> List[int]:
    selectors = [selector for selector in _SELECTORS if entry.get(selector) is not None]
    node = str(entry["node"])
    if selectors == ["devices"]:
        return [device_id(device, where + ".devices") for device in entry["devices"]]
    if selectors == ["leaf"]:
        return _by_leaf(leaves, node, str(entry["leaf"]), where)
    if selectors == ["qdd"]:
        return _by_qdd(leaves, node, str(entry["qdd"]), str(entry.get("port") or ""), where)
    raise InputError("%s: select the NPUs of node %s with exactly one of devices, leaf and qdd" % (where, node))


def select(entries: Sequence[Mapping[str, Any]], topology: Any) -> Nics:
    """Return the NPUs of the option ``nics`` by node. Raises InputError for empty lists, duplicates, and names that the topology does not have."""
    leaves = parse(topology)
    if not entries:
        raise InputError("nics is empty: ClusterD would accept the request and do nothing")
    found: Nics = {}
    for place, entry in enumerate(entries):
        where = "nics[%d]" % place
        node = str(entry.get("node") or "")
        if not node:
            raise InputError("%s has no node, which is the name of the node in Kubernetes" % where)
        if entry.get("port") and not entry.get("qdd"):
            raise InputError("%s: port requires qdd" % where)
        devices = _selected_devices(entry, leaves, where)
        if not devices:
            raise InputError("%s.devices is empty" % where)
        found.setdefault(node, []).extend(devices)
    for node, devices in found.items():
        twice = sorted({device for device in devices if devices.count(device) > 1})
        if twice:
            raise InputError("nics: NPU %s of node %s is listed twice" % (", ".join(map(str, twice)), node))
    return found


def on_leaf(topology: Any, name: str) -> Tuple[Nics, Optional[List[int]]]:
    """Return the NPUs on a leaf by node, and those on all other nodes. Raises InputError."""
    by_node: Nics = {}
    everywhere: Optional[List[int]] = None
    for leaf in leaf_named(parse(topology), name):
        if leaf.nodes is None:
            everywhere = leaf.devices
        for node in leaf.nodes or ():
            by_node.setdefault(node, []).extend(leaf.devices)
    return by_node, everywhere
