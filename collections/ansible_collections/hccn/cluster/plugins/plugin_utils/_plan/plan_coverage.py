# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Count the pairs of hosts, devices and leaves that a plan measures, and those that could be measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any

from ...module_utils._fabric.round_robin import Meeting
from ...module_utils._fabric.schedule import LEAVES, Schedule
from .pair_list import NpuPair
from .topology import Groups

Kind = tuple[Any, ...]
"""The wiring of a host by rail: the leaf, None if it is unknown, False if the host has no such device."""

LeafPair = tuple[str, str]


@dataclass
class Covered:
    """The number of different pairs, without regard to direction."""

    devices: int = 0
    hosts: int = 0
    leaves: set[LeafPair] = field(default_factory=set)


def kind_of(groups: Groups, devices: Iterable[int], rails: Sequence[int]) -> Kind:
    """Return the wiring of a host."""
    has = set(devices)
    return tuple(groups.leaves.get(rail) if rail in has else False for rail in rails)


def possible(kinds: Iterable[Kind], every: bool) -> Covered:
    """Return what hosts of these kinds could measure: devices with the same id on two hosts or, with ``every``, all devices of two hosts."""
    counts = Counter(kinds)
    covered = Covered()
    for one, other in combinations_with_replacement(counts, 2):
        hosts = counts[one] * counts[other] if one is not other else counts[one] * (counts[one] - 1) // 2
        if hosts:
            pairs = [(a, b) for place, a in enumerate(one) for b in (other if every else other[place:place + 1]) if a is not False and b is not False]
            covered.devices += hosts * len(pairs)
            covered.hosts += hosts if pairs else 0
            covered.leaves.update(_leaf_pairs(pairs))
    return covered


def scheduled(schedule: Schedule, kinds: Sequence[Kind], method: str, every: bool) -> Covered:
    """Return what the rounds of a schedule cover. ``kinds`` are in the order of its hosts."""
    if schedule.rounds == schedule.rule.rounds and method != LEAVES:
        return possible(kinds, every)
    covered, met, known = Covered(), set(), {}
    for number in schedule.rule.walk(schedule.rounds):
        for meeting in number.meetings:
            key = (kinds[meeting.source], kinds[meeting.target], *meeting[3:])
            if key not in known:
                pairs = _kinds_meet(schedule, meeting, kinds)
                covered.leaves.update(_leaf_pairs(pairs))
                known[key] = len(pairs)
            covered.devices += known[key]
            if known[key]:
                met.add((meeting.source, meeting.target) if meeting.source < meeting.target else (meeting.target, meeting.source))
    covered.hosts = len(met)
    return covered


def listed(rounds: Iterable[Iterable[NpuPair]], groups: Mapping[str, Groups]) -> Covered:
    """Return what listed rounds cover."""
    pairs = [pair for one in rounds for pair in one]
    covered = Covered(len({frozenset(pair) for pair in pairs}), len({frozenset((source[0], target[0])) for source, target in pairs}))
    covered.leaves.update(_leaf_pairs([tuple(groups[host].leaves.get(device) for host, device in pair) for pair in pairs]))
    return covered


def _kinds_meet(schedule: Schedule, meeting: Meeting, kinds: Sequence[Kind]) -> list[tuple[Any, ...]]:
    leaves = ((kinds[source[0]][source[1]], kinds[target[0]][target[1]]) for _place, source, target in schedule.slots(meeting))
    return [pair for pair in leaves if False not in pair]


def _leaf_pairs(pairs: Iterable[tuple[Any, ...]]) -> set[LeafPair]:
    return {(one, other) if one <= other else (other, one) for one, other in pairs if one is not None and other is not None}
