# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Findings about cables: the switch of each NPU by LLDP, compared with the inventory or with the pattern that most hosts have.

The pattern of a host is the switch of each of its NPUs: with rails, NPU k of all hosts is on leaf k; otherwise, all NPUs of a host are on one leaf. A host
whose pattern no other host has is compared with the pattern of several hosts that is nearest to it, if most of its NPUs agree with that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ...module_utils._core.words import printable
from . import reading
from .evidence import Evidence, evidence
from .finding import Device, Finding, finding, of_npus

LEAST_ALIKE = 2
"""Hosts with one pattern from which on other hosts are compared with it."""
LONGEST_NAME = 100

Pattern = tuple[tuple[int, str], ...]


class Neighbour(NamedTuple):
    """The switch and its port that an NPU is connected to."""

    switch: str
    port: str


class Expected(NamedTuple):
    """The switch that an NPU is expected on, and why."""

    switch: str
    why: str


def neighbours(results: Mapping[str, Any]) -> dict[Device, Neighbour]:
    """Return the neighbour of each NPU whose switch is known. Switches with the same name are told apart by their chassis."""
    found: dict[Device, tuple[str, str, str]] = {}
    for host, result in results.items():
        for number, device in reading.devices(result).items():
            lldp = reading.mapping(device.get("lldp"))
            name, chassis, port = (printable(reading.text(lldp.get(key)), LONGEST_NAME) for key in ("system_name", "chassis", "port"))
            if name or chassis:
                found[host, number] = name, chassis, port
    chassis_of: dict[str, set[str]] = {}
    for name, chassis, _port in found.values():
        chassis_of.setdefault(name, set()).add(chassis)
    return {npu: Neighbour(f"{name} {chassis}".strip() if len(chassis_of[name]) > 1 else name or chassis, port) for npu, (name, chassis, port) in found.items()}


def of_neighbours(results: Mapping[str, Any], declared: Callable[[str], Any], stage: str) -> list[Finding]:
    """Return a finding for each NPU on an unexpected switch, and one for two NPUs that are on each other's switch.

    ``results``: of device_info by host. ``declared`` returns the leaf of a host in the inventory: a name for all NPUs, or names by NPU.
    """
    connected = neighbours(results)
    expected = dict(_by_pattern(results, connected))
    expected.update(_by_inventory(connected, declared))
    wrong = {npu: want for npu, want in expected.items() if connected[npu].switch != want.switch}
    found: list[Finding] = []
    left = dict(wrong)
    for npu in list(wrong):
        other = _other_end(npu, left, connected) if npu in left else None
        if other is not None:
            found.append(_swapped(npu, other, wrong, connected, stage))
            del left[npu], left[other]
    for npu, want in left.items():
        message = f"it is connected to {connected[npu].switch}, but expected on {want.switch}"
        found.append(finding("cabling_differs", of_npus([npu]), message, devices=[npu], evidence=_pieces(npu, want, connected), stage=stage))
    return found


def _other_end(npu: Device, wrong: Mapping[Device, Expected], connected: Mapping[Device, Neighbour]) -> Device | None:
    """Return the NPU that is on the expected switch of ``npu`` and expected on its switch; one of the same host first."""
    fits = [other for other, want in wrong.items() if other != npu and connected[other].switch == wrong[npu].switch and want.switch == connected[npu].switch]
    return min(fits, key=lambda other: (other[0] != npu[0], fits.index(other)), default=None)


def _swapped(npu: Device, other: Device, wrong: Mapping[Device, Expected], connected: Mapping[Device, Neighbour], stage: str) -> Finding:
    ends = [f"{host} NPU {number} is on {_place(connected[host, number])}" for host, number in (npu, other)]
    pieces = _pieces(npu, wrong[npu], connected) + _pieces(other, wrong[other], connected)
    return finding("cable_swapped", of_npus([npu, other]), f"their cables are swapped: {ends[0]}, {ends[1]}", devices=[npu, other], evidence=pieces,
                   stage=stage)


def _place(end: Neighbour) -> str:
    return f"{end.switch} port {end.port}" if end.port else end.switch


def _pieces(npu: Device, want: Expected, connected: Mapping[Device, Neighbour]) -> list[Evidence]:
    host, device = npu
    there = connected[npu]
    here = [evidence("switch_port", host=host, device=device, switch=there.switch, port=there.port)] if there.port else []
    return [*here, evidence("expected_switch", host=host, device=device, switch=want.switch, why=want.why)]


def _by_inventory(connected: Mapping[Device, Neighbour], declared: Callable[[str], Any]) -> Iterator[tuple[Device, Expected]]:
    """Yield what the inventory declares. A leaf that no NPU is connected to is a label of the inventory, not the name of a switch, and says nothing."""
    switches = {end.switch for end in connected.values()}
    names = {host: declared(host) for host in dict.fromkeys(host for host, _number in connected)}
    for host, number in connected:
        leaf = names[host]
        leaf = leaf.get(str(number), leaf.get(number)) if isinstance(leaf, Mapping) else leaf
        if isinstance(leaf, str) and leaf in switches:
            yield (host, number), Expected(leaf, "the inventory says so")


def _by_pattern(results: Mapping[str, Any], connected: Mapping[Device, Neighbour]) -> Iterator[tuple[Device, Expected]]:
    products: dict[str, dict[str, dict[int, str]]] = {}
    for (host, number), end in connected.items():
        product = reading.text(reading.mapping(results.get(host)).get("product"))
        products.setdefault(product, {}).setdefault(host, {})[number] = end.switch
    for hosts in products.values():
        counts = Counter(tuple(sorted(mine.items())) for mine in hosts.values())
        patterns = [pattern for pattern, count in counts.most_common() if count >= LEAST_ALIKE]
        for host, mine in hosts.items():
            usual = _nearest(mine, patterns) if counts[tuple(sorted(mine.items()))] < LEAST_ALIKE else ()
            for number, switch in usual:
                if number in mine:
                    yield (host, number), Expected(switch, f"NPU {number} of {counts[usual]} other hosts is on it")


def _nearest(mine: Mapping[int, str], patterns: list[Pattern]) -> Pattern:
    """Return the pattern with which most NPUs of a host agree; an empty one if that is not more than half of them, or half of the same switches."""
    def agreeing(pattern: Pattern) -> int:
        return sum(mine.get(number) == switch for number, switch in pattern)

    best: Pattern = max(patterns, key=agreeing, default=())
    exchanged = sorted(mine.values()) == sorted(switch for _number, switch in best)
    return best if 2 * agreeing(best) > len(mine) - exchanged else ()
