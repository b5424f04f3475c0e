# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find the fewest components of hosts and fabric that explain the bad measurements best: a greedy maximum likelihood.

A measurement is bad if at least one of the components that it crosses makes it bad (noisy-or). A component does so with a rate: nearly always for an NPU, a
leaf or a pair of leaves, for a share of the measurements if it is one of several uplinks or spines, since each measurement takes one of them by a hash of its
ports. Without any component, a measurement is bad with the chance of noise. The page :doc:`/explanation/diagnosis` describes the model and its assumptions.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log
from typing import Any

from .classification import SLOW, Classification, Layer, Link
from .component import BOTH, CERTAIN, LEAF, NODE, NPU, PATH, POSSIBLE, PROBABLE, SOURCE, SPINE, TARGET
from .noise import RISK, poisson_tail
from .path_counts import PathCounts

ALWAYS = 0.97
"""Rate of a component that is bad for all that crosses it."""

RATES = (0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.33, 0.5, 0.67, 0.8, ALWAYS)
"""Rates that are tried."""

MOST = 0.75
"""Rate from which on a component is bad as a whole, and not one of several links or from time to time."""

MOST_OF_SPINES = 0.5
"""Largest rate of one of at least two spines. If more pairs between leaves are bad, many hosts are."""

LEAST_CHANCE = {True: 0.003, False: 0.0001}
"""Least chance of noise, of a slow measurement and of a failed one: other traffic slows down some tests on a healthy fabric."""

IN_FABRIC = (LEAF, PATH, SPINE)

MOST_NOISE, LARGE = 0.03, 0.2
"""If no more than this share of all measurements is bad, it may be noise everywhere: other traffic. A component that this share of them crosses must explain
them better."""

TIMES_CHANCE = 4.0
"""A share of links is above the chance of noise by this factor."""

COSTS = {NPU: 2.0, NODE: 2.0, LEAF: 3.0, PATH: 3.0, SPINE: 3.0}
"""Negative logarithm of the odds of such a component before anything was measured, besides the number of its kind. If many NPUs or hosts have no good
measurement, each is as likely."""

COST_OF_NOISE = 3.0
"""The same for noise everywhere above the least chance."""

COST_OF_SHARE, COST_OF_TIMES, COST_OF_DIRECTION, COST_OF_PLANE = 0.5, 5.0, 0.7, 4.0
"""The same in addition: for one of several links, for an NPU or a host that is bad from time to time, for one direction, and for spines of one rail only."""

LEAST_CERTAIN, LEAST_PROBABLE = log(99), log(4)
SURE = ((LEAST_CERTAIN, CERTAIN), (LEAST_PROBABLE, PROBABLE), (0.0, POSSIBLE))
"""Least margin over the next best explanation for each word: odds of 99 to 1 and of 4 to 1. tests/lab/fabric_simulation checks these words."""

MOST_LINKS = 4_000
"""Bad measurements that are used. Of more, every n-th is."""

EVEN = 0.5
"""Share of the mean number of bad cells of a host's NPUs that each of them must have."""

SHARED = 0.5
"""Share of the bad measurements of a component that another one must explain to be an alternative."""

Cause = tuple[str, Any, str]
"""Kind, owner (the number of an NPU or host, a leaf, two leaves, None or a rail for a spine) and direction."""


@dataclass(frozen=True)
class Explanation:
    """A component that explains ``links``. ``rate``: share of the measurements that it makes bad. ``certainty``: the word for its ``margin``."""

    cause: Cause
    rate: float
    links: list[Link]
    margin: float

    @property
    def certainty(self) -> str:
        """How sure it is that this component is bad."""
        return certainty(self.margin)


def certainty(margin: float) -> str:
    """Return the word for a margin."""
    return next((word for least, word in SURE if margin >= least), POSSIBLE)


class Inference:
    """Explains bad ``links`` by components. ``paths``: the measurements between leaves that count. ``is_path_only``: whether repeated measurements of a link
    prove that the fault is on its path, not on a host."""

    def __init__(self, classification: Classification, layer: Layer, links: Sequence[Link], paths: PathCounts, is_path_only: Callable[[Link], bool]) -> None:
        self._classification, self._table, self._layer, self._paths = classification, classification.table, layer, paths
        self._stride = max(1, len(links) // MOST_LINKS)
        self._links = links[::self._stride]
        self.path_only = frozenset(filter(is_path_only, set(self._links)))
        self._between: dict[tuple[str, str, object], Sequence[Cause]] = {}
        self._members: dict[Cause, list[int]] = {}
        for number, link in enumerate(self._links):
            for cause in self.causes(link):
                self._members.setdefault(cause, []).append(number)
        self._total = max(1, sum(layer.sent) // self._stride)
        self._least = max(LEAST_CHANCE[layer.state == SLOW], layer.chance)
        self._keep([])
        self._together: Collection[str] = ()
        kinds = Counter(cause[0] for cause in self._all_causes())
        self._cost = {kind: cost + log(max(2, kinds[kind])) - log(1 + exp(cost) * self._many(kind)) for kind, cost in COSTS.items()}

    def _many(self, kind: str) -> float:
        """Return how many NPUs or hosts have no good measurement, besides one, and those that have none by chance if bad measurements are spread evenly."""
        owners = {NPU: [[npu] for npu in range(len(self._table.npus))], NODE: list(self._npus_of_host.values())}.get(kind, [])
        share = sum(map(len, self._layer.out)) / max(1, sum(self._layer.sent))
        found = -1.0
        for npus in owners:
            bad, total = (sum(map(count, npus)) for count in (self._layer.bad, self._layer.total))
            found += (total > 0) * ((bad == total) - share ** total)
        return max(0.0, found)

    def causes(self, link: Link) -> Iterator[Cause]:
        """Return the components that a measurement crosses."""
        leaves = [self._table.leaves[npu] for npu in link]
        for npu, side in zip(link, (SOURCE, TARGET)) if link not in self.path_only else ():
            for direction in (BOTH, side):
                yield NPU, npu, direction
                yield NODE, self._classification.host_of[npu], direction
        one, other = leaves
        if one is not None and other is not None:
            rails = [self._table.rails[npu] for npu in link]
            yield from self._causes_between(one, other, rails[0] if rails[0] == rails[1] else None)

    def unexplained(self, links: Sequence[Link], found: Collection[tuple[str, object]]) -> list[Link]:
        """Return the measurements that cross none of these components, given by kind and owner."""
        leaves, rails, hosts = self._table.leaves, self._table.rails, self._classification.host_of
        between: dict[tuple[Any, ...], bool] = {}
        ends = [(NPU, npu) in found or (NODE, host) in found for npu, host in enumerate(hosts)]
        left = []
        for link in links:
            one, other = link
            if (ends[one] or ends[other]) and link not in self.path_only:
                continue
            key = leaves[one], leaves[other], rails[one], rails[other]
            if key not in between:
                between[key] = any(cause[:2] in found for cause in self.causes(link) if cause[0] in IN_FABRIC)
            if not between[key]:
                left.append(link)
        return left

    def _causes_between(self, one: str, other: str, rail: object) -> Sequence[Cause]:
        """Return the components of the fabric between two leaves. ``rail``: that of both NPUs, None if they differ."""
        if (one, other, rail) not in self._between:
            found: list[Cause] = [(PATH, (one, other) if one <= other else (other, one), BOTH)]
            if one != other:
                found.append((PATH, (one, other), SOURCE))
                for leaf, side in ((one, SOURCE), (other, TARGET)):
                    if self._paths.is_divided(leaf):
                        found += (LEAF, leaf, BOTH), (LEAF, leaf, side)
                if rail is not None and self._paths.has_spines(rail):
                    found.append((SPINE, rail, BOTH))
                if self._paths.has_spines():
                    found.append((SPINE, None, BOTH))
            self._between[one, other, rail] = found
        return self._between[one, other, rail]

    def explain(self) -> list[Explanation]:
        """Return the components that explain the measurements best."""
        found = self._with_spines(self._found_together(self._search(())))
        self._together = ()
        self._keep(found)
        return found

    def _found_together(self, found: list[Explanation]) -> list[Explanation]:
        """Return components of the fabric that are only likely together if they explain nearly all that ``found`` leaves, else ``found``.

        The search takes what the others explain for noise until they are found, so that of two uplinks neither may be better than noise. Their margin is also
        that over noise everywhere, at the rate of all bad measurements.
        """
        if self._is_complete(found):
            return found
        together = self._search((), together=IN_FABRIC)
        rate = min(ALWAYS, max(self._least, len(self._links) / self._total))
        good = self._total - len(self._links)
        noise = len(self._links) * log(rate) + good * log(1 - rate) - COST_OF_NOISE
        likelihood = self._likelihood(together)
        margin = likelihood + good * log(1 - self._least) - noise
        if margin < 0 or not self._is_complete(together) or likelihood <= self._likelihood(found):
            return found
        return [replace(one, margin=min(one.margin, margin)) if one.cause[0] in IN_FABRIC else one for one in together]

    def _with_spines(self, found: list[Explanation]) -> list[Explanation]:
        """Return ``found``, or the components without spines if they are more likely.

        A spine crosses what several uplinks cross, and has the highest likelihood of a single component then. The margin of a spine is that over any other
        components, also over those of which too little was measured to name them.
        """
        if not any(one.cause[0] == SPINE for one in found):
            return found
        others = [self._search((SPINE,), together) for together in ((), COSTS)]
        other = max(others, key=self._likelihood)
        margin = self._likelihood(found) - self._likelihood(other)
        if margin < 0:
            return [replace(one, margin=min(one.margin, -margin)) if one.cause[0] in (LEAF, PATH) else one for one in other]
        margin = min(margin, self._likelihood(found) - self._likelihood(self._search((SPINE,), together=COSTS, named=False)))
        return [replace(one, margin=min(one.margin, max(0.0, margin))) if one.cause[0] == SPINE else one for one in found]

    def _is_complete(self, found: Sequence[Explanation]) -> bool:
        """Return True if the components explain all bad measurements but one and those that the least noise brings."""
        return self._shares(found).count(1.0) <= 1 + self._least * self._total

    def _likelihood(self, found: Sequence[Explanation]) -> float:
        """Return the logarithm of the likelihood of a set of components, less their costs."""
        total = sum(self._good(one.cause) / self._stride * log(1 - one.rate) - self._cost_of(one.cause, one.rate) for one in found)
        return total + sum(log(1 - share * (1 - self._least)) for share in self._shares(found))

    def _shares(self, found: Sequence[Explanation]) -> list[float]:
        """Return for each bad measurement the probability that none of these components makes it bad."""
        shares = [1.0] * len(self._links)
        for one in found:
            for number in self._members[one.cause]:
                shares[number] *= 1 - one.rate
        return shares

    def _search(self, without: Collection[str], together: Collection[str] = (), named: bool = True) -> list[Explanation]:
        """Return components, the one with the highest likelihood first, until none is better than noise; none of the kinds ``without``.

        ``together``: kinds of components of which to assume that others explain the other bad measurements. One of two is not found otherwise if noise
        explains it as well while the other one is not known. ``named``: see _score().
        """
        found: list[Explanation] = []
        self._together = together
        self._keep([])
        heap = [(-self._score(cause, named)[0], str(cause), cause) for cause in self._members if cause[0] not in without]
        heapq.heapify(heap)
        while heap:
            _old, name, cause = heapq.heappop(heap)
            score, rate = self._score(cause, named)
            if score <= 0:
                continue
            if heap and score < -heap[0][0]:  # scores only fall, since fewer and fewer measurements are unexplained
                heapq.heappush(heap, (-score, name, cause))
                continue
            margin = min(score, score - self._alternative(cause, without)) if named else score
            if margin < 0:  # too little was measured to name the better one
                continue
            found.append(Explanation(cause, rate, [self._links[number] for number in self._members[cause]], margin))
            self._keep(found)
        for one in list(found):  # one that the later ones made needless
            rest = [other for other in found if other is not one]
            if rest and self._likelihood(rest) > self._likelihood(found):
                found = rest
        return found

    def _keep(self, found: Sequence[Explanation]) -> None:
        """Set for each bad measurement the probability that no component found so far makes it bad."""
        self._kept = self._shares(found)
        self._all_kept = sum(self._kept)

    def _all_causes(self) -> Iterator[Cause]:
        for npu in range(len(self._table.npus)):
            yield NPU, npu, BOTH
        for host in range(len(self._table.of_host)):
            yield NODE, host, BOTH
        for path in {(min(path), max(path)) for path in self._paths.totals}:
            yield PATH, path, BOTH
        for leaf in {leaf for path in self._paths.totals for leaf in path}:
            yield LEAF, leaf, BOTH

    # -- the likelihood of one component

    def _score(self, cause: Cause, named: bool = True) -> tuple[float, float]:
        """Return how much more likely the measurements are with this component, as a logarithm less its costs, and its best rate.

        ``named``: return nothing for a component of which too little was measured to name it. It may be an alternative all the same.
        """
        members, best = self._members[cause], (-1.0, 0.0)
        open_now = sum(map(self._kept.__getitem__, members))
        if named and (len(members) * self._stride < 2 or open_now < 1):
            return best
        chance = self._least if cause[0] in self._together else max(self._least, (self._all_kept - open_now) / self._total)
        good = self._good(cause) / self._stride
        everywhere = self._all_kept / self._total
        if cause[0] in IN_FABRIC and everywhere <= MOST_NOISE and good + len(members) > LARGE * self._total:
            chance = max(chance, everywhere)
        if _most_gain(open_now, good, chance) - self._cost_of(cause, ALWAYS) <= best[0] or named and not self._is_possible(cause):
            return best
        kept = Counter(map(self._kept.__getitem__, members))
        for rate in RATES:
            if cause[0] in IN_FABRIC and rate < TIMES_CHANCE * chance:
                continue
            gain = good * log(1 - rate) - self._cost_of(cause, rate)
            for share, count in kept.items():
                before = 1 - share * (1 - chance)
                gain += count * (log(1 - (1 - before) * (1 - rate)) - log(before))
            best = max(best, (gain, rate))
        if cause[0] == SPINE and best[1] > MOST_OF_SPINES:
            return -1.0, 0.0
        if named and cause[0] in (NPU, NODE) and best[1] < MOST and not self._is_more_than_chance(cause, good):
            return -1.0, 0.0
        return best

    def _cost_of(self, cause: Cause, rate: float) -> float:
        kind, owner, direction = cause
        cost = self._cost[kind] + (COST_OF_DIRECTION if direction else 0.0) + (COST_OF_PLANE if kind == SPINE and owner is not None else 0.0)
        if rate >= ALWAYS:
            return cost
        return cost + (COST_OF_TIMES if kind in (NPU, NODE, PATH) else COST_OF_SHARE)

    def _good(self, cause: Cause) -> float:
        """Return the number of measurements that crossed a component and were not bad."""
        kind, owner, direction = cause
        if kind in (NPU, NODE):
            npus = [owner] if kind == NPU else self._npus_of_host[owner]
            layer = self._layer
            return float(sum((layer.sent[npu] - len(layer.out[npu]) if direction != TARGET else 0)
                             + (layer.received[npu] - len(layer.into[npu]) if direction != SOURCE else 0) for npu in npus))
        return float(self._paths.good(kind, owner, direction))

    @cached_property
    def _npus_of_host(self) -> Mapping[object, list[int]]:
        found: dict[object, list[int]] = {}
        for npu, host in enumerate(self._classification.host_of):
            if self._layer.total(npu):
                found.setdefault(host, []).append(npu)
        return found

    def _is_possible(self, cause: Cause) -> bool:
        """Return True if the measurements are not of a single pair, and concern the component as a whole."""
        kind, owner, _direction = cause
        links = [self._links[number] for number in self._members[cause] if self._kept[number] > 1 - MOST]
        hosts = self._classification.host_of
        if kind in (NPU, NODE):
            numbers = (lambda npu: npu) if kind == NPU else hosts.__getitem__
            partners = {numbers(npu) for link in links for npu in link if numbers(npu) != owner}
            return len(partners) > 1 and (kind == NPU or self._is_even(links, owner))
        if kind == PATH and owner[0] != owner[1]:
            sides: Mapping[str, set[int]] = {leaf: set() for leaf in owner}
            for link in links:
                for npu in link:
                    sides[str(self._table.leaves[npu])].add(hosts[npu])
            return all(len(side) > 1 for side in sides.values())
        if kind == LEAF:
            away = {frozenset(self._paths.path(link) or ()) for link in links if link in self.path_only}
            return len(away) > 1 or all(
                len({hosts[npu] for link in links for npu in link if (self._table.leaves[npu] == owner) is inside}) > 1 for inside in (True, False))
        common = Counter(host for link in links for host in {hosts[npu] for npu in link})
        return len(common) > 2 and max(common.values()) <= max(1, len(links) - 2)

    def _is_even(self, links: Sequence[Link], host: object) -> bool:
        """Return True if every NPU of the host has its share of the bad measurements. One bad NPU is not a bad host."""
        counts = Counter(npu for link in links for npu in link if self._classification.host_of[npu] == host)
        mine = self._npus_of_host.get(host, [])
        return len(mine) > 1 and min(counts[npu] for npu in mine) >= EVEN * len(links) / len(mine)

    def _is_more_than_chance(self, cause: Cause, good: float) -> bool:
        """Return True if an NPU or host is bad more often than all measurements are, which an unknown leaf would be as well (Poisson)."""
        if self._layer.state != SLOW:
            return True
        bad = sum(map(self._kept.__getitem__, self._members[cause]))
        rate = max(self._layer.chance, self._all_kept / self._total)
        return poisson_tail(int(bad), rate * (bad + good)) < RISK / len(self._table.npus)

    # -- the next best explanation

    def _alternative(self, cause: Cause, without: Collection[str]) -> float:
        """Return the score of the best other component that explains a good part of the same measurements."""
        members = [number for number in self._members[cause] if self._kept[number] > 1 - MOST] or self._members[cause]
        crossed = Counter(other for number in members for other in self.causes(self._links[number])
                          if other[0] not in without and not _is_same(cause, other, self._classification))
        on_host = cause[0] in (NPU, NODE)
        return max((self._score(other, named=not on_host or other[0] in (NPU, NODE))[0] for other, count in crossed.items() if count > SHARED * len(members)),
                   default=0.0)

    def certainty_of_npu(self, npu: int) -> str:
        """Return how sure it is that an NPU is bad and no component of the fabric, given that one of them is."""
        cause: Cause = (NPU, npu, BOTH)
        if cause not in self._members:
            return CERTAIN
        crossed = Counter(other for number in self._members[cause] for other in self.causes(self._links[number]) if other[0] in IN_FABRIC)
        others = [self._score(other, named=False)[0] for other, count in crossed.items() if count > SHARED * len(self._members[cause])]
        return certainty(self._score(cause, named=False)[0] - max(others)) if others else CERTAIN


def _most_gain(bad: float, good: float, chance: float) -> float:
    """Return an upper bound, over all rates, of how much more likely a component makes its measurements. It is exact for a component that crosses nothing that
    another one explains. Most components are settled by it."""
    odds = (1 - chance) / chance
    if bad * odds <= good:
        return 0.0
    if good <= 0:
        return bad * log(1 + odds)
    rate = (bad * odds - good) / (odds * (bad + good))
    return good * log(1 - rate) + bad * log(1 + rate * odds)


def _is_same(one: Cause, other: Cause, classification: Classification) -> bool:
    """Return True if two causes differ in direction only, or are the same spine or an NPU and its host."""
    if {one[0], other[0]} == {NPU, NODE}:
        npu, host = (one, other) if one[0] == NPU else (other, one)
        return bool(classification.host_of[npu[1]] == host[1])
    return one[0] == other[0] and bool(one[1] == other[1] or one[0] == SPINE or (one[0] == PATH and set(one[1]) == set(other[1])))
