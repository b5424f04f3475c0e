# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find the hosts that make a collective slow although every pair of them is good, by bisection over groups. The caller measures.

The search assumes that some set of hosts (one host, an incompatible pair, or more) makes every group that contains it slow, and finds the smallest such
set. Groups are filled up with hosts that are known to be good to the size of the first slow half, so that groups of the same size are compared, as long as
there are enough good hosts. The search measures about 2 log2(hosts) groups for each host that it names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple

from .._core.words import some

Hosts = Tuple[str, ...]
Measure = Callable[[Hosts], Optional[float]]
"""Returns the bandwidth of a group (in the order of the hosts); None if it could not be measured."""

GROUP, SIZE, EVERYWHERE, TOO_FEW = "group", "size", "everywhere", "too_few"
"""Kinds of findings: these hosts are the cause; their number is the cause; every measured group is slow; there are too few hosts to distinguish them."""
BUDGET = 40
"""Maximum number of groups that a search measures; it needs 26 for one slow host of 1000."""
MIN_HOSTS = 2
"""Hosts of the smallest group. A single host does not use the network."""
TRIED_PER_LEVEL = 3
"""Number of groups of one size that are measured to find a good one. If all are slow, a single host is not the cause."""


class Stopped(Exception):
    """A group could not be measured, or the number of groups is used up. ``reason`` is a clause of a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class MeasuredGroup:
    """A group that was measured."""

    hosts: Hosts
    value: float
    slow: bool


@dataclass(frozen=True)
class Finding:
    """``hosts``: the smallest set that is slow with good partners; ``tried``: groups as evidence; ``stopped``: why the search ended early."""

    kind: str
    hosts: Hosts
    tried: Tuple[MeasuredGroup, ...] = ()
    stopped: str = ""


class Search:
    """The search. ``measure`` is called at most once for each set of hosts; a value below ``limit`` is slow. ``known``: groups that were already measured."""

    def __init__(self, hosts: Sequence[str], measure: Measure, limit: float, known: Sequence[Tuple[Sequence[str], float]] = (),
                 budget: int = 1000) -> None:
        self._order = {host: place for place, host in enumerate(hosts)}
        self._measure = measure
        self._limit = limit
        self._budget = budget
        self._values: Dict[FrozenSet[str], MeasuredGroup] = {}
        self._fillers: Hosts = ()
        self._size = 0
        for group, value in known:
            if len(group) >= MIN_HOSTS and set(group) <= set(hosts):
                self._keep(self._sorted(group), value)

    @property
    def measured(self) -> int:
        """The number of groups that were measured."""
        return len(self._values)

    def findings(self) -> List[Finding]:
        """Return all disjoint slow sets: the search continues without the hosts that were found, until the rest is good."""
        found: List[Finding] = []
        rest = tuple(self._order)
        try:
            while len(rest) >= MIN_HOSTS and self._slow(rest):
                found.append(self._find_one(rest))
                if found[-1].kind != GROUP:
                    break
                rest = tuple(host for host in rest if host not in found[-1].hosts)
        except Stopped as stop:
            found.append(Finding(kind=GROUP, hosts=self._smallest_slow(rest), stopped=stop.reason))
        return [replace(one, tried=self._evidence(one.hosts)) for one in found]

    def _find_one(self, hosts: Hosts) -> Finding:
        if len(hosts) == MIN_HOSTS:
            # With a third host that is known to be good, the two can be distinguished.
            good = self._largest_good(hosts)
            if not good:
                return Finding(kind=TOO_FEW, hosts=hosts)
        else:
            good = self._good(hosts)
        if not good:
            return Finding(kind=EVERYWHERE, hosts=hosts)
        start = self._smallest_slow(hosts)
        self._fillers = tuple(host for host in good if host not in start)
        self._size = len(start)
        named = self._minimal((), start)
        named += self._partners(named)
        self._fillers = ()
        if len(named) > MIN_HOSTS and self._slow(named):
            # If several slow sets share hosts, a filler may have taken the place of a host of the set, so reduce the set once more.
            named = self._minimal((), named)
        return Finding(SIZE if self._depends_on_size_only(hosts, named) else GROUP, self._sorted(named))

    # The start of the search.

    def _good(self, hosts: Hosts) -> Hosts:
        """Return a good group, searched from halves down to pairs; empty if there is none. Both halves are always measured."""
        size = -(-len(hosts) // 2)
        while True:
            size = max(size, MIN_HOSTS)
            groups = _groups(hosts, size)
            good = [group for group in groups[:TRIED_PER_LEVEL] if not self._slow(group)]
            if good:
                return good[0]
            if size == MIN_HOSTS:
                return self._largest_good(hosts)
            size = -(-size // 2)

    def _largest_good(self, hosts: Hosts) -> Hosts:
        """Return the largest known good group, of any hosts."""
        good = [one.hosts for one in self._values.values() if not one.slow]
        return max(good, key=lambda group: (len(group), -len(set(group) & set(hosts))), default=())

    def _smallest_slow(self, hosts: Hosts) -> Hosts:
        """Return the smallest known slow group of these hosts."""
        slow = [one.hosts for one in self._values.values() if one.slow and set(one.hosts) <= set(hosts)]
        return min(slow, key=len, default=hosts)

    # The smallest slow set.

    def _minimal(self, base: Hosts, candidates: Hosts) -> Hosts:
        """Return the smallest set of candidates that is slow together with ``base``. All candidates with ``base`` are slow, ``base`` alone is not."""
        if len(candidates) == 1:
            return candidates
        middle = len(candidates) // 2
        first, second = candidates[:middle], candidates[middle:]
        if self._slow_with_fillers(base + first):
            return self._minimal(base, first)
        if self._slow_with_fillers(base + second):
            return self._minimal(base, second)
        of_second = self._minimal(base + first, second)
        return self._minimal(base + of_second, first) + of_second

    def _slow_with_fillers(self, group: Hosts) -> bool:
        """Return True if the group, filled up with good hosts to the compared size, is slow. A single host without fillers cannot be measured."""
        more = self._fillers[:max(self._size - len(group), MIN_HOSTS - len(group), 0)]
        whole = group + more
        return len(whole) >= MIN_HOSTS and self._slow(whole)

    def _partners(self, named: Hosts) -> Hosts:
        """Return fillers that belong to the slow set, too; none if the named hosts are slow with either half of the fillers."""
        fillers = self._fillers
        if len(fillers) < 2:
            return ()
        middle = len(fillers) // 2
        halves = (fillers[:middle], fillers[middle:])
        slow = [half for half in halves if self._slow(named + half)]
        self._fillers = ()
        if len(slow) == 2 or not self._slow(named + fillers):
            return ()
        return self._minimal(named, slow[0] if slow else fillers)

    def _depends_on_size_only(self, hosts: Hosts, named: Hosts) -> bool:
        """Return True if any group of this size is slow. It is only measured if no group of at least this size is known to be good."""
        if len(named) <= MIN_HOSTS or any(len(one.hosts) >= len(named) and not one.slow for one in self._values.values()):
            return False
        others = tuple(host for host in hosts if host not in named)
        if not others:
            return True
        return self._slow((others + named)[:len(named)])

    # The measured groups.

    def _slow(self, group: Hosts) -> bool:
        known = self._values.get(frozenset(group))
        if known is None:
            ordered = self._sorted(group)
            if self._budget <= 0:
                raise Stopped("the limit of measured groups (isolate_budget) was reached")
            self._budget -= 1
            value = self._measure(ordered)
            if value is None:
                raise Stopped("the collective failed over %s" % some(ordered))
            known = self._keep(ordered, value)
        return known.slow

    def _keep(self, group: Hosts, value: float) -> MeasuredGroup:
        return self._values.setdefault(frozenset(group), MeasuredGroup(group, value, value < self._limit))

    def _sorted(self, group: Sequence[str]) -> Hosts:
        """Return the hosts in the original order, so that the ranks of a super pod stay together."""
        return tuple(sorted(group, key=self._order.__getitem__))

    def _evidence(self, named: Hosts) -> Tuple[MeasuredGroup, ...]:
        """Return the smallest slow groups with all named hosts, and the largest good groups without all of them."""
        wanted = set(named)
        slow = sorted((one for one in self._values.values() if one.slow and wanted <= set(one.hosts)), key=lambda one: len(one.hosts))
        good = sorted((one for one in self._values.values() if not one.slow and not wanted <= set(one.hosts)), key=lambda one: -len(one.hosts))
        return tuple(slow[:3] + good[:3])


def _groups(hosts: Hosts, size: int) -> List[Hosts]:
    """Return disjoint groups of this size, the last one filled up from the beginning, and then groups that are shifted by half a group."""
    def cut(order: Hosts) -> List[Hosts]:
        return [(order[start:start + size] + order)[:size] for start in range(0, len(order), size)]

    found: Dict[FrozenSet[str], Hosts] = {}
    middle = max(1, size // 2)
    for group in cut(hosts) + cut(hosts[middle:] + hosts[:middle]):
        found.setdefault(frozenset(group), group)
    return [group for group in found.values() if len(set(group)) == size]
