# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find a few pairs that are much faster than all others: either they have a faster path, or they are normal and most hosts are slow.

If two thirds or more of the hosts are slow, nine tenths of the pairs are, and the normal value that is computed is that of slow pairs. Then all pairs
among the few healthy hosts are fast, and the other hosts have no fast pair at all. A faster path (same leaf, rail or super pod) looks different: the other
hosts have no pair over such a path, or the fast pairs form several groups that are slow with each other.

Only the source of a pair reports it, so the reports of a single host prove nothing about other hosts, however fast they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...module_utils._core.words import some
from .measurement_table import Kind, Table
from .noise import Normal, normal
from .plausibility import ReportCounts

LEAST_GAP, GAP_SIGMAS = 0.05, 6.0
"""Gap between fast values and the others: as a share of the normal value, and in multiples of the spread of either."""

SMALL_GAP, SMALL_SIGMAS, MANY = 0.01, 1.5, 10
"""A smaller gap that is enough if MANY fast pairs are all the pairs among some NPUs, which does not happen by chance. Their normal value is still
LEAST_GAP above the others."""

LEAST_VALUES = 6
"""With fewer values, no groups are distinguished."""

MOST_TRIED = 8
"""Gaps that are tried, from the top. There may be outliers above the first of them."""

WITHIN = 0.75
"""Share of the pairs among NPUs with fast pairs that must be fast."""

LEAST_FAST, LEAST_SHARE = 3, 0.1
"""Fewer fast pairs count only if they are FAR_ABOVE. If not all pairs among their NPUs are fast, they must be this share of all pairs."""

TRUSTED, HEEDED = 0.25, 0.1
"""Share of NPUs with fast pairs from which on these are normal and the others slow; and from which on the normal value is unknown."""

FAR_ABOVE = 1.25
"""Factor above the others that makes the normal value unknown even if one or two pairs, or not all pairs among their NPUs, are fast."""

HOSTS_SHOWN = 4

Measured = tuple[int, int, float]
"""Source, target and worth."""


class Gap(NamedTuple):
    """A gap in sorted values: the ``bound`` in its middle, and whether it is ``wide``."""

    bound: float
    wide: bool


@dataclass(frozen=True)
class FastPairs:
    """Pairs that are much faster than the others of their stratum.

    ``normal``: their normal value; there are ``count`` of them, on ``hosts``. ``slower``: NPUs without a fast pair that were measured over the same kind of
    path, and ``link`` is one of their pairs. ``share``: of NPUs with fast pairs. ``times``: how much faster they are. ``agree``: whether nearly all pairs
    among their NPUs are fast. ``independent``: whether several hosts report them, whichever host is left out.
    """

    normal: Normal
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
        """Whether these pairs are normal and the others slow."""
        return self.independent and self.agree and self.share >= TRUSTED and self.count >= LEAST_FAST

    @property
    def is_doubt(self) -> bool:
        """Whether these pairs make the normal value unknown."""
        if not self.independent:
            return False
        if self.agree and self.count >= LEAST_FAST:
            return HEEDED <= self.share < TRUSTED
        return self.share >= TRUSTED and self.times >= FAR_ABOVE

    def sentence(self, kind: Kind, usual: Normal) -> str:
        """Return which pairs are fast, and the two possible reasons."""
        pairs = f"{self.count} pairs of {some(self.hosts, HOSTS_SHOWN)} reach" if self.count > 1 else f"1 pair of {some(self.hosts, HOSTS_SHOWN)} reaches"
        return (f"{pairs} {kind.shown(self.normal.reference)} {kind.unit}, the others about {kind.shown(usual.reference)}: either these have a faster path, "
                "or the others are slow")


def gaps(values: Iterable[float], usual: Normal) -> list[Gap]:
    """Return the gaps above the normal value with a tight cluster of values above them, the highest first."""
    ordered = sorted(values)
    found: list[Gap] = []
    if len(ordered) < LEAST_VALUES:
        return found
    for place in range(len(ordered) - 1, max(0, bisect_left(ordered, usual.reference)), -1):
        low, high = ordered[place - 1], ordered[place]
        if high - low < SMALL_GAP * usual.reference:
            continue
        above = normal(ordered[place:])
        spread = min(usual.safe_spread * usual.reference, above.safe_spread * above.reference)
        if high - low >= SMALL_SIGMAS * spread and above.reference >= usual.reference * (1 + LEAST_GAP):
            found.append(Gap((low + high) / 2, high - low >= max(GAP_SIGMAS * spread, LEAST_GAP * usual.reference)))
            if len(found) == MOST_TRIED:
                break
    return found


def find_fast_pairs(table: Table, cells: Sequence[Measured], usual: Normal, gap: Gap) -> FastPairs | None:
    """Return the pairs above a gap, if other NPUs could have reached as much.

    ``cells`` are those of a stratum. Return None if no NPU is slower over the same kind of path, or if the values are outliers.
    """
    fast = [cell for cell in cells if cell[2] >= gap.bound]
    npus = {npu for cell in fast for npu in cell[:2]}
    hosts = {table.npus[npu].host for npu in npus}
    low = _slower_on_the_same_path(table, cells, fast, gap.bound)
    slower = {npu for cell in low for npu in cell[:2]} - npus
    reached = normal([worth for _source, _target, worth in fast])
    times = reached.reference / usual.reference
    too_few = len(fast) < LEAST_FAST and times < FAR_ABOVE
    if not slower or too_few or len(hosts) < 2 or not _are_connected(table, fast, hosts):
        return None
    slow_within = sum(source in npus and target in npus for source, target, _worth in low)
    agree = len(fast) >= WITHIN * (len(fast) + slow_within)
    if not _is_cluster(gap, agree, len(fast), len(cells)):
        return None
    measured = {npu for cell in cells for npu in cell[:2]}
    link = next((source, target) for source, target, _worth in low if source in slower or target in slower)
    return FastPairs(reached, len(fast), sorted(hosts), sorted(slower), link, len(npus) / len(measured), times, agree,
                     ReportCounts(table.npus[source].host for source, _target, _worth in fast).independent())


def _slower_on_the_same_path(table: Table, cells: Iterable[Measured], fast: Iterable[Measured], bound: float) -> list[Measured]:
    """Return the slower cells whose path is of a kind that a fast pair has, too."""
    paths = {_path(table, source, target) for source, target, _worth in fast}
    return [cell for cell in cells if cell[2] < bound and _path(table, cell[0], cell[1]) in paths]


def _is_cluster(gap: Gap, agree: bool, fast: int, cells: int) -> bool:
    """Return True if the fast values do not come by chance: a wide gap or many pairs that agree, or a large share above a wide gap."""
    return (agree and (gap.wide or fast >= MANY)) or (gap.wide and fast >= LEAST_SHARE * cells)


def _path(table: Table, source: int, target: int) -> tuple[bool, bool, bool]:
    """Return whether leaf, rail and super pod of a pair are the same."""
    pods = [table.about(table.npus[npu].host).get("super_pod") for npu in (source, target)]
    return table.leaves[source] == table.leaves[target], table.rails[source] == table.rails[target], pods[0] == pods[1]


def _are_connected(table: Table, fast: Iterable[Measured], hosts: set[str]) -> bool:
    """Return True if the fast pairs connect all their hosts. Separate groups are leaves that the topology does not name."""
    near: dict[str, set[str]] = {}
    for source, target, _worth in fast:
        one, other = table.npus[source].host, table.npus[target].host
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
