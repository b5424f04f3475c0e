# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Plan further rounds that isolate the bad NPU of a bad pair, or show that the path is bad instead.

A pair is bad if one of its NPUs is. So a good pair proves both of its NPUs good, and an NPU that is bad with a proven good one is bad itself. After a round of
disjoint pairs, each NPU that is not proven is measured with a proven good one. If at most a quarter of the NPUs is bad, there are enough proven ones for a
single round (with an odd number of NPUs one of them rested, and up to (NPUs - 3) / 4 bad ones always fit).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._fabric.schedule import Names
from .input_numbers import whole_number
from .pair_list import NpuId, NpuPair, edge_colored_rounds
from .plan_forms import Entry, last_number, listed_round, pairs_of, topology_of
from .schedule_order import QUICK
from .topology import Topology

GOOD, BAD, MISSING = "good", "bad", "missing"
STATES = (GOOD, BAD, MISSING)

RETEST_QPS = 4
"""Least number of queue pairs of a retest. Each has its own source port, so that not all of them use the same link of a bundle."""
MOST_RETEST_QPS = 100
"""The smallest limit of all tools, that of roce_test."""


@dataclass
class Evidence:
    """The evidence of the measured pairs. ``proven``: NPUs with a good pair. ``bad``: by NPU, the partners in bad and in missing pairs."""

    proven: set[NpuId] = field(default_factory=set)
    bad: dict[NpuId, set[NpuId]] = field(default_factory=dict)

    def convicted(self, npu: NpuId) -> bool:
        """Return True if the NPU has no good pair, and a bad one with a proven NPU."""
        return npu not in self.proven and not self.proven.isdisjoint(self.bad.get(npu, ()))

    def waiting(self, npu: NpuId, unmeasured: bool) -> bool:
        """Return True if the NPU is neither proven nor convicted. ``unmeasured``: also count NPUs of which nothing is known."""
        return npu not in self.proven and not self.convicted(npu) and (unmeasured or npu in self.bad)


@dataclass(frozen=True)
class Retest:
    """``again``: rounds of the same pairs with other options. ``others``: rounds of their NPUs with other partners. ``same``: rounds of the same pairs
    as before."""

    again: list[list[Entry]]
    others: list[list[Entry]]
    same: list[list[Entry]]


def isolation_rounds(plan: Mapping[str, Any], states: Mapping[str, str], seed: int = 0, limit: int | None = None,
                     behind: Iterable[NpuId] = ()) -> list[list[Entry]]:
    """Return rounds in which every open NPU meets a proven one with the same device id; empty if no NPU is open.

    ``states``: good, bad or missing by pair id, of the plan and its further rounds. One round is enough if no device id has more open NPUs than proven
    ones; otherwise there are as many as needed, at most ``limit``. If a device id has no proven NPU, its NPUs stay open. In the plan quick, an NPU that
    rested is open as well. So are the NPUs ``behind`` a bad leaf or path, which explains their bad pairs. Raises InputError for unknown states.
    """
    topology = topology_of(plan)
    addresses = _addresses(topology)
    evidence = _evidence(plan, states)
    excused = set(behind) - evidence.proven
    ordered = _shuffled(topology, seed)
    rounds: list[list[NpuPair]] = []
    for device in sorted({device for _host, device in addresses}):
        mine = [npu for npu in ordered if npu[1] == device]
        waiting = [npu for npu in mine if npu in excused or evidence.waiting(npu, plan.get("plan") == QUICK)]
        proven = [npu for npu in mine if npu in evidence.proven]
        for number, pairs in enumerate(_matched(waiting, proven, topology, limit)):
            rounds += [[] for _round in range(number + 1 - len(rounds))]
            rounds[number] += [pair if place % 2 else (pair[1], pair[0]) for place, pair in enumerate(pairs, device)]
    return _entries(plan, rounds, addresses)


def retest_qps(used: int) -> int:
    """Return the number of queue pairs of a retest, which must differ from the ``used`` one: twice as many, or half as many if no tool accepts that."""
    if used < RETEST_QPS:
        return RETEST_QPS
    return 2 * used if 2 * used <= MOST_RETEST_QPS else min(used // 2, MOST_RETEST_QPS)


def retest(plan: Mapping[str, Any], pairs: Iterable[NpuPair], proven: Collection[NpuId], seed: int = 0,
           others: Sequence[Mapping[str, Any]] = ({"qps": RETEST_QPS},)) -> Retest:
    """Return rounds that show whether the path of these pairs is bad: the pairs with each of the ``others`` options, their NPUs with other ``proven``
    partners if there are any, and the pairs as before.

    A source stays a source and a target a target, since an NPU may be bad in one direction only.

    The path is bad if both NPUs are good with others and the pair is bad again. Without a source port, a test may take another path each time, so a good
    one proves nothing about the path of the bad one.
    """
    same = list({frozenset(pair): pair for pair in pairs}.values())
    topology = topology_of(plan)
    addresses = _addresses(topology)
    known = [npu for npu in _shuffled(topology, seed) if npu in proven] if same else []
    again, with_others = edge_colored_rounds(same), edge_colored_rounds(_with_other_partners(same, known, topology))
    entries = _entries(plan, [*(again * len(others)), *with_others, *again], addresses)
    swept, last = len(again) * len(others), len(again) * len(others) + len(with_others)
    options = [option for option in others for _round in again]
    return Retest([[{**entry, "options": dict(option)} for entry in one] for one, option in zip(entries[:swept], options)], entries[swept:last], entries[last:])


def crossing_rounds(plan: Mapping[str, Any], leaves: Collection[str], count: int, without: Collection[str] = (), seed: int = 0) -> list[list[Entry]]:
    """Return ``count`` rounds in which the NPUs of these leaves meet NPUs of other leaves on their rail, of different ones if possible.

    Each measurement takes one of the uplinks and spines, so that their number shows which leaf has a bad one.
    """
    topology = topology_of(plan)
    npus = [npu for npu in _shuffled(topology, seed) if npu[0] not in without and _leaf(topology, npu) is not None]
    rounds: list[list[NpuPair]] = []
    served: Counter[tuple[Any, Any]] = Counter()
    for number in range(count):
        free: dict[int, dict[Any, list[NpuId]]] = {}
        for npu in npus[number:] + npus[:number]:
            free.setdefault(npu[1], {}).setdefault(_leaf(topology, npu), []).append(npu)
        pairs: list[NpuPair] = []
        for by_leaf in free.values():
            mine = [leaf for leaf in by_leaf if leaf in leaves]
            while any(by_leaf[leaf] for leaf in mine):
                leaf = max(mine, key=lambda one: len(by_leaf[one]))
                other = max((one for one in by_leaf if one != leaf and by_leaf[one]), default=None,
                            key=lambda one: (one not in leaves, -served[leaf, one], len(by_leaf[one])))
                if other is None:
                    break
                served[leaf, other] += 1
                pair = by_leaf[leaf].pop(), by_leaf[other].pop()
                pairs.append(pair if (len(pairs) + number) % 2 else pair[::-1])
        rounds.append(pairs)
    return _entries(plan, [one for one in rounds if one], _addresses(topology))


def _with_other_partners(pairs: Iterable[NpuPair], proven: Sequence[NpuId], topology: Topology) -> list[NpuPair]:
    """Return pairs of both NPUs of each pair with other, proven partners, as source or target as before. Each partner is used as rarely as possible.

    An NPU that is proven meets another one of the leaf of its partner, which shows whether the path between the leaves is bad. Others meet one of their own
    leaf, where no path between leaves is involved.
    """
    served: dict[NpuId, int] = {}
    chosen: dict[frozenset[NpuId], NpuPair] = {}
    sides = [side for source, target in pairs for side in ((source, target, True), (target, source, False))]
    for npu, avoided, sends in sides:
        fit = [other for other in proven if other[1] == npu[1] and other not in (npu, avoided) and frozenset((npu, other)) not in chosen]
        if fit:
            leaf = _leaf(topology, avoided if npu in proven else npu)
            near = [other for other in fit if _leaf(topology, other) == leaf]
            partner = min(near or fit, key=lambda other: served.get(other, 0))
            served[partner] = served.get(partner, 0) + 1
            chosen[frozenset((npu, partner))] = (npu, partner) if sends else (partner, npu)
    return list(chosen.values())


def confirming_round(plan: Mapping[str, Any], without: Collection[str], seed: int = 0) -> list[list[Entry]]:
    """Return a round of new pairs without these hosts, to check whether others reach what only these hosts report. Empty if all have met."""
    topology = topology_of(plan)
    addresses, met = _addresses(topology), {frozenset(pair) for _name, pair in pairs_of(plan)}
    waiting = [npu for npu in _shuffled(topology, seed) if npu[0] not in without]
    pairs: list[NpuPair] = []
    while waiting:
        npu = waiting.pop(0)
        partner = next((other for other in waiting if other[1] == npu[1] and other[0] != npu[0] and frozenset((npu, other)) not in met), None)
        if partner is not None:
            waiting.remove(partner)
            pairs.append((npu, partner) if npu[1] % 2 else (partner, npu))
    return _entries(plan, [pairs], addresses) if pairs else []


def _addresses(topology: Topology) -> dict[NpuId, str]:
    return {(host, int(device)): known["address"] for host, entry in topology.items() for device, known in entry["devices"].items()}


def _evidence(plan: Mapping[str, Any], states: Mapping[str, str]) -> Evidence:
    unknown = next((name for name, state in states.items() if state not in STATES), None)
    if unknown is not None:
        raise InputError(f"the state of pair {unknown} is {states[unknown]!r}, not one of {', '.join(STATES)}")
    evidence = Evidence()
    for name, (source, target) in pairs_of(plan):
        state = states.get(name)
        if state == GOOD:
            evidence.proven.update((source, target))
        elif state is not None:
            evidence.bad.setdefault(source, set()).add(target)
            evidence.bad.setdefault(target, set()).add(source)
    return evidence


def _shuffled(topology: Topology, seed: Any) -> list[NpuId]:
    """Return all NPUs, by hosts in an order from the seed. So all waiting devices of a host tend to meet devices of one other host."""
    generator = random.Random(whole_number("seed", seed))  # noqa: S311
    weights = {host: generator.random() for host in sorted(topology)}
    return [(host, int(device)) for host in sorted(topology, key=lambda host: weights[host]) for device in topology[host]["devices"]]


def _matched(waiting: Sequence[NpuId], proven: Sequence[NpuId], topology: Topology, limit: int | None) -> Iterator[list[NpuPair]]:
    """Return rounds in which each waiting NPU meets a proven one, if possible on the same leaf, where no path between leaves is involved."""
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
    """Return the entries of the rounds, with ids that continue those of the plan."""
    number = last_number(plan)
    name = Names(number + sum(map(len, rounds)))
    made = []
    for one in rounds:
        made.append(listed_round(one, addresses, name, number + 1))
        number += len(one)
    return made
