# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A few pairs that are much faster than all others: are they what is normal, since most hosts are slow?

Where two thirds and more of the hosts are slow, nine tenths of the pairs are, and the better part of the values tells what the slow ones reach. Then the
sound hosts are few, and all pairs among them are fast; the others have no fast pair at all. A faster way (same leaf, rail or super pod) looks different:
there the others had no pair over it, or the fast pairs are in several groups that are slow with each other.

The source of a pair alone reports it, so what a single host reports proves nothing about the others, however fast it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...module_utils._core.words import some
from .cells import Kind, Table
from .claims import Reported
from .noise import Normal, normal

LEAST_GAP, GAP_SIGMAS = 0.05, 6.0
"""Between the fast values and the others: share of what was taken for normal, and multiples of the spread of either."""

SMALL_GAP, SMALL_SIGMAS, MANY = 0.01, 1.5, 10
"""The same where so many fast pairs are all there are among some NPUs, which does not come by chance; what they reach is LEAST_GAP above the others."""

LEAST_VALUES = 6
"""With fewer nothing is told apart."""

MOST_TRIED = 8
"""Gaps from the top; above the first of them may lie stray values."""

WITHIN = 0.75
"""Share of the pairs among the ends with fast ones that must be fast."""

LEAST_FAST, LEAST_SHARE = 3, 0.1
"""Fewer count only where they are FAR_ABOVE; where not all pairs among their ends are fast, it takes a share of all."""

TRUSTED, HEEDED = 0.25, 0.1
"""Share of the NPUs that have fast pairs: from which on they are what is normal, and the rest is slow; from which on nobody knows what is normal."""

FAR_ABOVE = 1.25
"""Times the others, where it rests on a pair or two, or not all pairs among these NPUs are fast: nobody knows what is normal."""

HOSTS_SHOWN = 4

Measured = tuple[int, int, float]


@dataclass(frozen=True)
class Faster:
    """``found``: what is normal among the fast ones, ``count`` of them; ``slower``: ends without any fast pair that had the same way, and ``link`` one of
    their pairs; ``share``: of the ends that have fast pairs; ``times``: how much faster they are; ``agree``: are nearly all pairs among these fast?
    ``independent``: do several hosts report them, whichever of them is left out?"""

    found: Normal
    count: int
    hosts: Sequence[str]
    slower: Sequence[int]
    link: tuple[int, int]
    share: float
    times: float
    agree: bool
    independent: bool

    @property
    def is_normal(self) -> bool:
        return self.independent and self.agree and self.share >= TRUSTED and self.count >= LEAST_FAST

    @property
    def is_doubt(self) -> bool:
        if not self.independent:
            return False
        if self.agree and self.count >= LEAST_FAST:
            return HEEDED <= self.share < TRUSTED
        return self.share >= TRUSTED and self.times >= FAR_ABOVE


def bounds(values: Iterable[float], found: Normal) -> list[tuple[float, bool]]:
    """Values above which a tight cluster lies that is above the others, the highest first, and whether it is far above them."""
    ordered = sorted(values)
    tried: list[tuple[float, bool]] = []
    if len(ordered) < LEAST_VALUES:
        return tried
    for place in range(len(ordered) - 1, max(0, bisect_left(ordered, found.reference)), -1):
        low, high = ordered[place - 1], ordered[place]
        if high - low < SMALL_GAP * found.reference:
            continue
        above = normal(ordered[place:])
        spread = min(found.safe_spread * found.reference, above.safe_spread * above.reference)
        if high - low >= SMALL_SIGMAS * spread and above.reference >= found.reference * (1 + LEAST_GAP):
            tried.append(((low + high) / 2, high - low >= max(GAP_SIGMAS * spread, LEAST_GAP * found.reference)))
            if len(tried) == MOST_TRIED:
                break
    return tried


def faster(table: Table, cells: Sequence[Measured], usual: Normal, bound: float, far: bool) -> Faster | None:
    """``cells``: source, target and worth of a stratum; ``bound`` and ``far``: see bounds. None where nobody is slow, or where it is a way or a stray value."""
    fast = [cell for cell in cells if cell[2] >= bound]
    ends = {end for cell in fast for end in cell[:2]}
    hosts = {table.ends[end].host for end in ends}
    ways = {_way(table, source, target) for source, target, _worth in fast}
    low = [cell for cell in cells if cell[2] < bound and _way(table, cell[0], cell[1]) in ways]
    slower = {end for cell in low for end in cell[:2]} - ends
    found = normal([worth for _source, _target, worth in fast])
    times = found.reference / usual.reference
    few = len(fast) < LEAST_FAST and times < FAR_ABOVE
    if not slower or few or len(hosts) < 2 or not _are_one(table, fast, hosts):
        return None
    within = sum(source in ends and target in ends for source, target, _worth in low)
    agree = len(fast) >= WITHIN * (len(fast) + within)
    if not (agree and (far or len(fast) >= MANY)) and not (far and len(fast) >= LEAST_SHARE * len(cells)):
        return None
    measured = {end for cell in cells for end in cell[:2]}
    link = next((source, target) for source, target, _worth in low if source in slower or target in slower)
    return Faster(found, len(fast), sorted(hosts), sorted(slower), link, len(ends) / len(measured), times, agree,
                  Reported(table.ends[source].host for source, _target, _worth in fast).independent())


def above_the_others(known: Faster, kind: Kind, usual: Normal) -> str:
    """What is fast, and what that may mean."""
    pairs = f"{known.count} pairs of {some(known.hosts, HOSTS_SHOWN)} reach" if known.count > 1 else f"1 pair of {some(known.hosts, HOSTS_SHOWN)} reaches"
    return (f"{pairs} {kind.shown(known.found.reference)} {kind.unit}, the others about {kind.shown(usual.reference)}: either these have a faster way, or "
            "the others are slow")


def _way(table: Table, source: int, target: int) -> tuple[bool, bool, bool]:
    pods = [table.about(table.ends[end].host).get("super_pod") for end in (source, target)]
    return table.leaves[source] == table.leaves[target], table.rails[source] == table.rails[target], pods[0] == pods[1]


def _are_one(table: Table, fast: Iterable[Measured], hosts: set[str]) -> bool:
    """Do the fast pairs hang together? Groups of them are leaves that nobody told of."""
    near: dict[str, set[str]] = {}
    for source, target, _worth in fast:
        one, other = table.ends[source].host, table.ends[target].host
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    reached: set[str] = set()
    waiting = [min(hosts)]
    while waiting:
        host = waiting.pop()
        if host not in reached:
            reached.add(host)
            waiting += near[host] - reached
    return reached == hosts
