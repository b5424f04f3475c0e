# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find the hosts that make a collective slow although every pair of them is good, by bisection over groups. The caller measures.

A group is taken to be slow as soon as it holds everything that it takes to be slow (one host, a pair that does not get on, a larger set), whoever else
is in it. What is searched is the smallest such set. Groups are filled up with hosts that are proven good to the size of the first slow half, so that what is
compared is of one size, as far as there are any. Cost: about 2 log2(hosts) groups for each host that is named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple

from .._core.words import some

Hosts = Tuple[str, ...]
Measure = Callable[[Hosts], Optional[float]]
"""Return the bandwidth of a group (in the order of the hosts), None where it could not be measured."""

GROUP, SIZE, EVERYWHERE, TOO_FEW = "group", "size", "everywhere", "too_few"
"""Kinds of findings: these hosts; no host, but the number of hosts; every group that was tried; too few hosts to distinguish them."""
LEAST = 2
"""Hosts of the smallest group: a single one does not use the network."""
TRIED_PER_LEVEL = 3
"""Groups of one size that are tried in search of a good one: where so many are slow, it is not one host's fault."""


class Stopped(Exception):
    """A group could not be measured, or the number of groups is used up. ``reason`` is a clause of a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Tried:
    """A group that was measured."""

    hosts: Hosts
    value: float
    slow: bool


@dataclass(frozen=True)
class Finding:
    """``hosts``: the smallest set that is slow with good partners; ``tried``: the groups that show it. ``stopped``: why the search ended early."""

    kind: str
    hosts: Hosts
    tried: Tuple[Tried, ...] = ()
    stopped: str = ""


class Search:
    """``measure`` is called once for each set of hosts; a value below ``limit`` is slow. ``known``: groups that are measured already."""

    def __init__(self, hosts: Sequence[str], measure: Measure, limit: float, known: Sequence[Tuple[Sequence[str], float]] = (),
                 budget: int = 1000) -> None:
        self._order = {host: place for place, host in enumerate(hosts)}
        self._measure = measure
        self._limit = limit
        self._budget = budget
        self._values: Dict[FrozenSet[str], Tried] = {}
        self._pads: Hosts = ()
        self._size = 0
        for group, value in known:
            if len(group) >= LEAST and set(group) <= set(hosts):
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
            while len(rest) >= LEAST and self._slow(rest):
                found.append(self._one(rest))
                if found[-1].kind != GROUP:
                    break
                rest = tuple(host for host in rest if host not in found[-1].hosts)
        except Stopped as stop:
            found.append(Finding(GROUP, self._least(rest), (), stop.reason))
        return [replace(one, tried=self._evidence(one.hosts)) for one in found]

    def _one(self, hosts: Hosts) -> Finding:
        if len(hosts) == LEAST:
            # A good host that was found before tells which of the two it is.
            good = self._proven(hosts)
            if not good:
                return Finding(TOO_FEW, hosts)
        else:
            good = self._good(hosts)
        if not good:
            return Finding(EVERYWHERE, hosts)
        start = self._least(hosts)
        self._pads = tuple(host for host in good if host not in start)
        self._size = len(start)
        named = self._minimal((), start)
        named += self._partners(named)
        self._pads = ()
        if len(named) > LEAST and self._slow(named):
            # Where several sets share hosts, those that filled up the groups may have stood for one of these.
            named = self._minimal((), named)
        return Finding(SIZE if self._by_number(hosts, named) else GROUP, self._sorted(named))

    # Where to begin.

    def _good(self, hosts: Hosts) -> Hosts:
        """Return a good group, searched from halves down to pairs; empty if there is none. Both halves are always measured."""
        size = -(-len(hosts) // 2)
        while True:
            size = max(size, LEAST)
            groups = _groups(hosts, size)
            good = [group for group in groups[:TRIED_PER_LEVEL] if not self._slow(group)]
            if good:
                return good[0]
            if size == LEAST:
                return self._proven(hosts)
            size = -(-size // 2)

    def _proven(self, hosts: Hosts) -> Hosts:
        """Return the largest known good group, of any hosts."""
        good = [one.hosts for one in self._values.values() if not one.slow]
        return max(good, key=lambda group: (len(group), -len(set(group) & set(hosts))), default=())

    def _least(self, hosts: Hosts) -> Hosts:
        """Return the smallest known slow group of these hosts."""
        slow = [one.hosts for one in self._values.values() if one.slow and set(one.hosts) <= set(hosts)]
        return min(slow, key=len, default=hosts)

    # The smallest slow set.

    def _minimal(self, base: Hosts, candidates: Hosts) -> Hosts:
        """Return the smallest set of candidates that is slow with ``base``, where ``base`` and ``candidates`` are slow and ``base`` alone is not."""
        if len(candidates) == 1:
            return candidates
        middle = len(candidates) // 2
        first, second = candidates[:middle], candidates[middle:]
        if self._padded_slow(base + first):
            return self._minimal(base, first)
        if self._padded_slow(base + second):
            return self._minimal(base, second)
        of_second = self._minimal(base + first, second)
        return self._minimal(base + of_second, first) + of_second

    def _padded_slow(self, group: Hosts) -> bool:
        """Return True if the group is slow with good hosts added up to the compared size. A single host without any cannot be measured."""
        more = self._pads[:max(self._size - len(group), LEAST - len(group), 0)]
        whole = group + more
        return len(whole) >= LEAST and self._slow(whole)

    def _partners(self, named: Hosts) -> Hosts:
        """Return good hosts that are needed for slowness, too; none where the named hosts are slow with either half of them."""
        pads = self._pads
        if len(pads) < 2:
            return ()
        middle = len(pads) // 2
        halves = (pads[:middle], pads[middle:])
        slow = [half for half in halves if self._slow(named + half)]
        self._pads = ()
        if len(slow) == 2 or not self._slow(named + pads):
            return ()
        return self._minimal(named, slow[0] if slow else pads)

    def _by_number(self, hosts: Hosts, named: Hosts) -> bool:
        """Return True if any group of this size is slow. Measured only where no group as large is known to be good."""
        if len(named) <= LEAST or any(len(one.hosts) >= len(named) and not one.slow for one in self._values.values()):
            return False
        others = tuple(host for host in hosts if host not in named)
        if not others:
            return True
        return self._slow((others + named)[:len(named)])

    # What is known.

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

    def _keep(self, group: Hosts, value: float) -> Tried:
        return self._values.setdefault(frozenset(group), Tried(group, value, value < self._limit))

    def _sorted(self, group: Sequence[str]) -> Hosts:
        """Return the hosts in the order given, so that the ranks of a super pod stay together."""
        return tuple(sorted(group, key=self._order.__getitem__))

    def _evidence(self, named: Hosts) -> Tuple[Tried, ...]:
        """Return the smallest slow groups with all named hosts, and the largest good groups without all of them."""
        wanted = set(named)
        slow = sorted((one for one in self._values.values() if one.slow and wanted <= set(one.hosts)), key=lambda one: len(one.hosts))
        good = sorted((one for one in self._values.values() if not one.slow and not wanted <= set(one.hosts)), key=lambda one: -len(one.hosts))
        return tuple(slow[:3] + good[:3])


def _groups(hosts: Hosts, size: int) -> List[Hosts]:
    """Return disjoint groups of this size, the last one filled up from the beginning, then the same again shifted by half a group."""
    def cut(order: Hosts) -> List[Hosts]:
        return [(order[start:start + size] + order)[:size] for start in range(0, len(order), size)]

    found: Dict[FrozenSet[str], Hosts] = {}
    middle = max(1, size // 2)
    for group in cut(hosts) + cut(hosts[middle:] + hosts[:middle]):
        found.setdefault(frozenset(group), group)
    return [group for group in found.values() if len(set(group)) == size]
