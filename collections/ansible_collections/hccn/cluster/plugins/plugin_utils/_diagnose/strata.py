# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Strata: the groups within a kind whose values differ without a fault and are compared only with each other, and the normal value of each stratum.

Latency depends on the number of switches and on the rails. Bandwidth depends on the line rate, if hosts of several speeds are checked together; a link
that negotiated down does not make its host one of another speed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from ...module_utils._core.samples import MICROSECONDS
from .fast_pairs import FastPairs, Measured, find_fast_pairs, gaps
from .measurement_table import Cell, Kind, Table
from .noise import Normal
from .plausibility import normal_of_reports

QUORUM = 8
"""A stratum with fewer values is compared with all values of its kind."""

CORE = "core"
"""The group of latencies between pods, which have one more tier of switches between them."""

TIER, ALIKE = 0.1, 1.25
"""Least difference between the latency inside and between pods, and largest factor among the latencies between pods."""

LARGEST_DIFFERENCE = 1.5
"""A larger factor between strata of one kind, or between paths of one stratum, is a fault and not a property of the path."""

LARGEST_OF_STRATUM = 4.0
"""The same if all paths of the stratum agree. Beyond it, something is wrong with all of them."""

SAMPLE = 200_000
"""Largest number of values of a kind that are used. Of more values, every n-th is used."""

LEAST_HOSTS, LEAST_OF_SINGLE, SHARE_OF_SINGLE = 2, 3, 0.25
"""Hosts that make a speed; of hosts with one NPU more are needed, and a share of all hosts, since a bad link on each would look the same."""

Stratum = tuple[int, object]
"""The number of a kind, and a group within it: tier (True inside a leaf, False inside a pod, CORE beyond it) and same rail for latency, a line rate for
bandwidth, None for the whole kind."""

LeafPair = tuple[object, object]


class Strata:
    """The strata of a table.

    ``expected_rates``: the line rate that each NPU should have, if there are hosts of several speeds. ``fast_pairs``: by stratum, pairs that are so fast
    that the others may be at fault. ``single_reporters``: hosts whose own reports would raise the normal value.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._timed = [kind.unit == MICROSECONDS for kind in table.kinds]
        self.speeds, self.expected_rates = line_rates_of_hosts(table)
        self.fast_pairs: dict[Stratum, FastPairs] = {}
        self.single_reporters: set[str] = set()
        self._pods: dict[str | None, int] = {}
        self._stride = max(1, sum(len(row.targets) for row in table.rows) // SAMPLE)

    def group(self, source: int, target: int, kind: int) -> object:
        """Return the group of a pair within its kind, None if the kind is not divided."""
        if self._timed[kind]:
            leaves, rails = self._table.leaves, self._table.rails
            near = leaves[source] == leaves[target]
            tier = CORE if not near and self._pods.get(leaves[source]) != self._pods.get(leaves[target]) else near
            return tier, rails[source] == rails[target]
        if not self.expected_rates:
            return None
        one, other = self.expected_rates[source], self.expected_rates[target]
        return None if one is None or other is None else min(one, other)

    def faster_npu(self, source: int, target: int) -> int | None:
        """Return the NPU of the pair that has the higher line rate, None if they do not differ."""
        one, other = (self.expected_rates[source], self.expected_rates[target]) if self.expected_rates else (None, None)
        return None if one is None or other is None or one == other else source if one > other else target

    def kind(self, number: int) -> Kind:
        """Return a kind by its number."""
        return self._table.kinds[number]

    def source_group(self, source: int, kind: int) -> object:
        """Return a key that is the same for all sources that are in the same groups with the same targets."""
        if self._timed[kind]:
            return self._table.leaves[source], self._table.rails[source]
        return self.expected_rates[source] if self.expected_rates else None

    def normals(self) -> dict[Stratum, Normal]:
        """Return the normal value of each kind as a whole, and of each stratum that is compared by itself."""
        if any(self._timed):
            self._pods = pods_of(self._table, [cell for cell in self._sampled(self._table.cells) if self._timed[cell[2]]])
        values, by_leaves = self._collect()
        found = {stratum: self._normal(mine) for stratum, mine in values.items() if stratum[1] is None or self._is_large_enough(stratum, mine)}
        for stratum in self._compared(found):
            self._check_fast_pairs(stratum, found, [worth for mine in values[stratum].values() for worth in mine])
        kept = self._without_faulty(found, by_leaves)
        self.fast_pairs = {stratum: fast for stratum, fast in self.fast_pairs.items() if stratum in kept}
        return kept

    def _collect(self) -> tuple[dict[Stratum, dict[str, list[float]]], dict[Stratum, dict[LeafPair, list[float]]]]:
        """Return the values of each stratum by reporting host, and those of latency strata by pair of leaves as well."""
        values: dict[Stratum, dict[str, list[float]]] = {}
        by_leaves: dict[Stratum, dict[LeafPair, list[float]]] = {}
        for source, target, kind, worth in self._sampled(self._balanced_cells()):
            host = self._table.npus[source].host
            values.setdefault((kind, None), {}).setdefault(host, []).append(worth)
            group = self.group(source, target, kind)
            if group is not None:
                values.setdefault((kind, group), {}).setdefault(host, []).append(worth)
                if self._timed[kind]:
                    one, other = sorted(str(self._table.leaves[npu]) for npu in (source, target))
                    by_leaves.setdefault((kind, group), {}).setdefault((one, other), []).append(worth)
        for source, kind, worths in self._undivided_rows():
            values.setdefault((kind, None), {}).setdefault(self._table.npus[source].host, []).extend(worths)
        return values, by_leaves

    def _is_large_enough(self, stratum: Stratum, values: Mapping[str, Sequence[float]]) -> bool:
        """Return True for a stratum of bandwidths, and for one of latencies with enough values from more than one host."""
        return not self._timed[stratum[0]] or (len(values) > 1 and sum(map(len, values.values())) >= QUORUM)

    def _normal(self, values: Mapping[str, Sequence[float]]) -> Normal:
        found, single_reporter = normal_of_reports(values, len(self._table.of_host))
        if single_reporter is not None:
            self.single_reporters.add(single_reporter)
        return found

    @staticmethod
    def _compared(found: Mapping[Stratum, Normal]) -> list[Stratum]:
        """Return the strata that cells are compared with: the groups of a kind, or the whole kind if it has none."""
        divided = {kind for kind, group in found if group is not None}
        return [stratum for stratum in found if stratum[1] is not None or stratum[0] not in divided]

    def _check_fast_pairs(self, stratum: Stratum, found: dict[Stratum, Normal], values: Sequence[float]) -> None:
        """Find pairs that are much faster than the others. If they are the normal ones, replace the normal value of the stratum in ``found``."""
        candidates = gaps(values, found[stratum])
        cells = list(self.cells_of(stratum)) if candidates else []
        for gap in candidates:
            fast = find_fast_pairs(self._table, cells, found[stratum], gap)
            if fast is not None:
                if fast.is_normal:
                    found[stratum] = fast.normal
                else:
                    self.fast_pairs[stratum] = fast
                return

    def _without_faulty(self, found: Mapping[Stratum, Normal], by_leaves: Mapping[Stratum, Mapping[LeafPair, Sequence[float]]]) -> dict[Stratum, Normal]:
        """Return the strata without latency strata that are so slow that a fault explains them better than the path."""
        best = {kind: max(normal.reference for (other, _group), normal in found.items() if other == kind) for kind, _group in found}
        return {stratum: normal for stratum, normal in found.items()
                if stratum[1] is None or not self._timed[stratum[0]] or _is_plausible(normal, best[stratum[0]], by_leaves[stratum].values())}

    def cells_of(self, stratum: Stratum) -> Iterator[Measured]:
        """Return source, target and worth of the measurements of a stratum; of large matrices a sample."""
        kind, group = stratum
        for cell in self._table.cells:
            if cell.worth is not None and cell.kind == kind and group in (None, self.group(cell.source, cell.target, kind)):
                yield cell.source, cell.target, cell.worth
        for number, row in enumerate(self._table.rows):
            if row.kind == kind:
                for place in self._places(number):
                    target, worth = row.targets[place], row.worths[place]
                    if worth is not None and group in (None, self.group(row.source, target, kind)):
                        yield row.source, target, worth

    def _balanced_cells(self) -> list[Cell]:
        """Return the cells without those of NPUs that were measured more often than others.

        The confirmation run measures bad NPUs again and again. In a small cluster, most values would be theirs.
        """
        cells = sorted((cell for cell in self._table.cells if cell.worth is not None), key=lambda cell: (len(cell.pair), cell.pair))
        counts = Counter(npu for cell in cells for npu in (cell.source, cell.target)).values()
        most = median(counts) if counts else 0
        used: Counter[int] = Counter()
        found = []
        for cell in cells:
            fewer, more = sorted((used[cell.source], used[cell.target]))
            if more < most or not fewer:
                used.update((cell.source, cell.target))
                found.append(cell)
        return found

    def _sampled(self, cells: Iterable[Cell]) -> Iterator[tuple[int, int, int, float]]:
        """Return source, target, kind and worth of these cells, and of a sample of the rows whose kind is divided."""
        table = self._table
        for cell in cells:
            if cell.worth is not None:
                yield cell.source, cell.target, cell.kind, cell.worth
        for number, row in enumerate(table.rows):
            if self._timed[row.kind] or self.expected_rates:
                for place in self._places(number):
                    worth = row.worths[place]
                    if worth:
                        yield row.source, row.targets[place], row.kind, worth

    def _undivided_rows(self) -> Iterator[tuple[int, int, Sequence[float]]]:
        """Return source, kind and a sample of the values of the other rows. Their cells need not be looked up one by one."""
        for number, row in enumerate(self._table.rows):
            if not self._timed[row.kind] and not self.expected_rates:
                yield row.source, row.kind, [worth for worth in (row.worths[place] for place in self._places(number)) if worth]

    def _places(self, number: int) -> range:
        return range(number % self._stride, len(self._table.rows[number].targets), self._stride)


def notes(strata: Strata, normals: Mapping[Stratum, Normal]) -> list[str]:
    """Return a sentence for each difference between strata that may be a fault after all, and for each group of suspiciously fast pairs."""
    found = [fast.sentence(strata.kind(stratum[0]), normals[stratum]) for stratum, fast in strata.fast_pairs.items()]
    if strata.speeds:
        rates = " and ".join(f"{rate:g}" for rate in strata.speeds)
        found.append(f"{rates} Gbit/s are line rates of whole hosts here: each pair was compared with pairs of its line rate")
    for (kind, group), normal in sorted(normals.items(), key=str):
        best = max(other.reference for (one, _other), other in normals.items() if one == kind)
        if group is not None and strata.kind(kind).unit == MICROSECONDS and normal.reference * LARGEST_DIFFERENCE < best:
            shown = strata.kind(kind).shown
            where = "pairs between leaves and rails"
            if isinstance(group, tuple) and group[0] == CORE:
                where = "pairs between groups of leaves, over one more tier of switches,"
            elif group in ((False, True), (True, False)):
                where = "pairs between leaves" if group == (False, True) else "pairs of different rails"
            found.append(f"{where} take {shown(normal.reference)} us, the nearest {shown(best)}: since all of them do, this is attributed to their path")
    return found


def _is_plausible(normal: Normal, best: float, by_leaves: Iterable[Sequence[float]]) -> bool:
    """Return True if the path explains why a stratum is slower than the best of its kind. A fault of some paths leaves others that are better."""
    if normal.reference * LARGEST_DIFFERENCE >= best:
        return True
    return normal.reference * LARGEST_OF_STRATUM >= best and max(map(median, by_leaves)) <= normal.reference * LARGEST_DIFFERENCE


def pods_of(table: Table, cells: Iterable[tuple[int, int, int, float]]) -> dict[str | None, int]:
    """Return the pod of each leaf: groups of leaves that are near each other and equally far from all leaves of other groups. Empty if there are none.

    A slow path does not look like that: it would be between leaves of one group. Two groups of which one is a single leaf may be a slow leaf.
    """
    times: dict[tuple[str, str], list[float]] = {}
    for source, target, _kind, worth in cells:
        one, other = table.leaves[source], table.leaves[target]
        if one is not None and other is not None and one != other and table.rails[source] == table.rails[target]:
            times.setdefault((min(one, other), max(one, other)), []).append(1 / worth)
    medians = {pair: median(values) for pair, values in times.items()}
    ordered = sorted(medians.values())
    if len(ordered) < 2:
        return {}
    place = max(range(1, len(ordered)), key=lambda number: ordered[number] / ordered[number - 1])
    if ordered[place] < ordered[place - 1] * (1 + TIER) or ordered[-1] > ordered[place] * ALIKE:
        return {}
    pods: dict[str | None, int] = {leaf: number for number, leaf in enumerate(sorted({leaf for pair in medians for leaf in pair}))}
    for one, other in (pair for pair, time in medians.items() if time < ordered[place]):
        joined = {pods[one], pods[other]}
        pods.update({leaf: min(joined) for leaf, pod in pods.items() if pod in joined})
    separate = all(pods[one] != pods[other] for (one, other), time in medians.items() if time >= ordered[place])
    sizes = Counter(pods.values())
    single = sum(size == 1 for size in sizes.values())
    return pods if separate and len(sizes) > single and (len(sizes) > 2 or not single) else {}


def line_rates_of_hosts(table: Table) -> tuple[list[float], list[float | None]]:
    """Return the line rates that whole hosts have, and the one that each NPU should have. Both are empty if there is only one.

    An NPU should have its own line rate if all NPUs of its host and other hosts have it, else the next higher one.
    """
    own = table.line_rates()
    hosts: dict[str, list[float]] = {}
    for npu, rate in own.items():
        hosts.setdefault(table.npus[npu].host, []).append(rate)
    if len({rate for rates in hosts.values() for rate in rates}) < 2:
        return [], []
    whole, single = Counter[float](), Counter[float]()
    for rates in hosts.values():
        if len(set(rates)) == 1:
            (whole if len(rates) > 1 else single)[rates[0]] += 1
    fastest = max(max(rates) for rates in hosts.values())
    right = sorted(rate for rate in {*whole, *single, fastest} if rate == fastest or whole[rate] >= LEAST_HOSTS or (
        single[rate] >= max(LEAST_OF_SINGLE, SHARE_OF_SINGLE * len(hosts))))
    if len(right) < 2:
        return [], []
    of_host = {host: next(rate for rate in right if rate >= max(rates)) for host, rates in hosts.items()}
    return right, [of_host.get(npu.host) for npu in table.npus]
