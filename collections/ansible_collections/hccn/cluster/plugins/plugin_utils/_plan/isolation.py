# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The rounds after the first: which end of a bad pair is it, and is it an end at all?

A pair is bad where one of its ends is. So a good pair proves both of its ends, and an end that is bad with a proven one is bad itself. After a round
of disjoint pairs, each end that is not proven meets a proven one of its own; where no more than a quarter of the ends are bad, there are enough of
those for all at once (of an odd number of ends, one rested: (ends - 3) / 4 bad ones are what always fits).
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._fabric.schedule import Names
from .plan_forms import Entry, last_number, listed_round, pairs_of, topology_of
from .pair_list import NpuId, NpuPair, edge_colored_rounds
from .input_numbers import whole_number
from .schedule_order import QUICK
from .topology import Topology

GOOD, BAD, MISSING = "good", "bad", "missing"
STATES = (GOOD, BAD, MISSING)

RETEST_QPS = 4
"""Queue pairs of a second try: each has a source port of its own, so that not all of them meet the same link of a bundle."""


@dataclass
class Evidence:
    """What some pairs tell: ``proven`` have a good one; ``bad`` are the partners in bad and in missing ones."""

    proven: set[NpuId] = field(default_factory=set)
    bad: dict[NpuId, set[NpuId]] = field(default_factory=dict)

    def convicted(self, npu: NpuId) -> bool:
        """Has it no good pair, and a bad one with a proven end?"""
        return npu not in self.proven and not self.proven.isdisjoint(self.bad.get(npu, ()))

    def waiting(self, npu: NpuId, unmeasured: bool) -> bool:
        """Is it neither proven nor convicted? ``unmeasured``: also where nothing is known of it."""
        return npu not in self.proven and not self.convicted(npu) and (unmeasured or npu in self.bad)


@dataclass(frozen=True)
class Retest:
    """``again``: rounds of the same pairs, each with ``options`` of its own; ``others``: rounds of their ends with other partners; ``same``: of the same
    pairs as they were."""

    again: list[list[Entry]]
    others: list[list[Entry]]
    same: list[list[Entry]]


def isolation_rounds(plan: Mapping[str, Any], states: Mapping[str, str], seed: int = 0, limit: int | None = None,
                     behind: Iterable[NpuId] = ()) -> list[list[Entry]]:
    """Further rounds in which every open end meets a proven one of the same device id, nobody twice in a round; empty where nothing is open.

    ``states``: good, bad or missing by pair id, of the plan's own pairs and of those that it was extended by (expand.extended). One round where the
    open ends of a device id are not more than the proven ones, else as many as it takes, at most ``limit``. Ends without any proven one of their
    device id stay open. In the plan quick an end that rested is open, too, and so are those of ``behind``, whose bad pairs with proven ends a leaf or a
    path explains. Raises InputError for states that are none.
    """
    topology = topology_of(plan)
    npus = _addresses(topology)
    evidence = _evidence(plan, states)
    excused = set(behind) - evidence.proven
    weigh = _weights(topology, seed)
    rounds: list[list[NpuPair]] = []
    for device in sorted({device for _host, device in npus}):
        mine = [npu for npu in weigh if npu[1] == device]
        waiting = [npu for npu in mine if npu in excused or evidence.waiting(npu, plan.get("plan") == QUICK)]
        proven = [npu for npu in mine if npu in evidence.proven]
        for number, pairs in enumerate(_served(waiting, proven, topology, limit)):
            rounds += [[] for _round in range(number + 1 - len(rounds))]
            rounds[number] += [pair if place % 2 else (pair[1], pair[0]) for place, pair in enumerate(pairs, device)]
    return _entries(plan, rounds, npus)


def retest(plan: Mapping[str, Any], pairs: Iterable[str], states: Mapping[str, str], seed: int = 0, qps: int = RETEST_QPS) -> Retest:
    """Is it the path? These pairs once more with more queue pairs, both of their ends with other, proven partners where there are any, and the pairs
    as they were.

    The source stays a source and the target a target, since an NPU may be bad in one direction only. Partners on the same leaf come first: no path
    between leaves is to blame there.

    A path is to blame where the ends are good with others, and the pair is bad again; where it is good with more queue pairs, and bad as it was, one of
    several links of a path is. What is good as it was comes and goes, or came from elsewhere. Raises InputError for an id that is not in the plan.
    """
    wanted = set(pairs)
    found = {name: pair for name, pair in pairs_of(plan) if name in wanted}
    if wanted - set(found):
        raise InputError(f"the plan has no pair {sorted(wanted - set(found))[0]}")
    same = list({frozenset(pair): pair for pair in found.values()}.values())
    topology = topology_of(plan)
    npus = _addresses(topology)
    evidence = _evidence(plan, states)
    proven = [npu for npu in _weights(topology, seed) if npu in evidence.proven]
    served: dict[NpuId, int] = {}
    chosen: dict[frozenset[NpuId], NpuPair] = {}
    for npu, avoided, sends in (part for one, two in same for part in ((one, two, True), (two, one, False))):
        fit = [other for other in proven if other[1] == npu[1] and other not in (npu, avoided) and frozenset((npu, other)) not in chosen]
        if fit:
            near = [other for other in fit if _leaf(topology, other) == _leaf(topology, npu)]
            partner = min(near or fit, key=lambda other: served.get(other, 0))
            served[partner] = served.get(partner, 0) + 1
            chosen[frozenset((npu, partner))] = (npu, partner) if sends else (partner, npu)
    again, others = edge_colored_rounds(same), edge_colored_rounds(list(chosen.values()))
    entries = _entries(plan, [*again, *others, *again], npus)
    last = len(again) + len(others)
    return Retest([[{**entry, "options": {"qps": qps}} for entry in one] for one in entries[:len(again)]], entries[len(again):last], entries[last:])


def confirming_round(plan: Mapping[str, Any], without: Collection[str], seed: int = 0) -> list[list[Entry]]:
    """One round of pairs that did not meet, without these hosts: do others reach what these alone report? Empty where all have met."""
    topology = topology_of(plan)
    npus, met = _addresses(topology), {frozenset(pair) for _name, pair in pairs_of(plan)}
    waiting = [npu for npu in _weights(topology, seed) if npu[0] not in without]
    pairs: list[NpuPair] = []
    while waiting:
        npu = waiting.pop(0)
        partner = next((other for other in waiting if other[1] == npu[1] and other[0] != npu[0] and frozenset((npu, other)) not in met), None)
        if partner is not None:
            waiting.remove(partner)
            pairs.append((npu, partner) if npu[1] % 2 else (partner, npu))
    return _entries(plan, [pairs], npus) if pairs else []


def _addresses(topology: Topology) -> dict[NpuId, str]:
    return {(host, int(device)): known["address"] for host, entry in topology.items() for device, known in entry["devices"].items()}


def _evidence(plan: Mapping[str, Any], states: Mapping[str, str]) -> Evidence:
    strange = next((name for name, state in states.items() if state not in STATES), None)
    if strange is not None:
        raise InputError(f"the state of pair {strange} is {states[strange]!r}, not one of {', '.join(STATES)}")
    evidence = Evidence()
    for name, (source, target) in pairs_of(plan):
        state = states.get(name)
        if state == GOOD:
            evidence.proven.update((source, target))
        elif state is not None:
            evidence.bad.setdefault(source, set()).add(target)
            evidence.bad.setdefault(target, set()).add(source)
    return evidence


def _weights(topology: Topology, seed: Any) -> list[NpuId]:
    """All ends, by hosts in an order of the seed: a host whose devices all wait tends to meet one host with all of them."""
    generator = random.Random(whole_number("seed", seed))  # noqa: S311
    weights = {host: generator.random() for host in sorted(topology)}
    return [(host, int(device)) for host in sorted(topology, key=lambda host: weights[host]) for device in topology[host]["devices"]]


def _served(waiting: Sequence[NpuId], proven: Sequence[NpuId], topology: Topology, limit: int | None) -> Iterator[list[NpuPair]]:
    """Rounds in which each that waits meets a proven one, on the same leaf where that can be: no path between leaves is to blame there."""
    done = 0
    while waiting and proven and (limit is None or done < limit):
        now, waiting = waiting[:len(proven)], waiting[len(proven):]
        free = list(proven)
        by_leaf: dict[Any, list[NpuId]] = {}
        for npu in free:
            by_leaf.setdefault(_leaf(topology, npu), []).append(npu)
        pairs, later = [], []
        for npu in now:
            near = by_leaf.get(_leaf(topology, npu))
            if near:
                pairs.append((npu, near.pop(0)))
            else:
                later.append(npu)
        taken = {partner for _npu, partner in pairs}
        pairs += zip(later, (npu for npu in free if npu not in taken))
        yield pairs
        done += 1


def _leaf(topology: Topology, npu: NpuId) -> Any:
    return topology[npu[0]]["devices"][str(npu[1])].get("leaf")


def _entries(plan: Mapping[str, Any], rounds: Sequence[Sequence[NpuPair]], addresses: Mapping[NpuId, str]) -> list[list[Entry]]:
    """With ids that go on where those of the plan end."""
    number = last_number(plan)
    name = Names(number + sum(map(len, rounds)))
    made = []
    for one in rounds:
        made.append(listed_round(one, addresses, name, number + 1))
        number += len(one)
    return made
