# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Strata: what is compared with each other within a kind, since no fault makes the difference, and what is normal in each of them.

Latency differs by the number of switches and by the rails. Bandwidth differs by line rate where hosts of several speeds are checked together; a link that
negotiated down is no such host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from ...module_utils._core.samples import MICROSECONDS
from .cells import Kind, Table
from .claims import normal_of_reports
from .faster import Faster, Measured, above_the_others, bounds, faster
from .noise import Normal

QUORUM = 8
"""A stratum with fewer values is compared with all of its kind."""

LARGEST_DIFFERENCE = 1.5
"""Between strata of one kind that is still put down to the way, and not to a fault of it; also between paths of one stratum that agree."""

LARGEST_OF_WAY = 4.0
"""The same where all paths of the stratum agree; beyond it something is wrong with all of them."""

SAMPLE = 200_000
"""Values of a kind that are sorted; of more, every n-th."""

LEAST_HOSTS, LEAST_OF_SINGLE, SHARE_OF_SINGLE = 2, 3, 0.25
"""Hosts of a speed; of those with a single NPU more of them, and a share of all: a bad link each would look the same."""

Stratum = tuple[int, object]
Place = tuple[object, object]


class Ways:
    """``rates``: the line rate that is right for each end, where hosts of several speeds are there; ``above``: by stratum what is above normal and cannot
    be told from a fault of the others; ``alone``: hosts that alone report what would be normal otherwise."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._timed = [kind.unit == MICROSECONDS for kind in table.kinds]
        self.speeds, self.rates = speeds(table)
        self.above: dict[Stratum, Faster] = {}
        self.alone: set[str] = set()
        self._stride = max(1, sum(len(row.targets) for row in table.rows) // SAMPLE)

    def way(self, source: int, target: int, kind: int) -> object:
        """The stratum within a kind, None where there is one only."""
        if self._timed[kind]:
            leaves, rails = self._table.leaves, self._table.rails
            return leaves[source] == leaves[target], rails[source] == rails[target]
        if not self.rates:
            return None
        one, other = self.rates[source], self.rates[target]
        return None if one is None or other is None else min(one, other)

    def faster(self, source: int, target: int) -> int | None:
        """Which end is of a faster speed than the other?"""
        one, other = (self.rates[source], self.rates[target]) if self.rates else (None, None)
        return None if one is None or other is None or one == other else source if one > other else target

    def kind(self, number: int) -> Kind:
        return self._table.kinds[number]

    def alike(self, source: int, kind: int) -> object:
        """Sources of which the ways to the same targets are the same."""
        return (self._table.leaves[source], self._table.rails[source]) if self._timed[kind] else self.rates[source] if self.rates else None

    def normals(self) -> dict[Stratum, Normal]:
        """Of every kind, under the way None, and of the strata that are compared by themselves."""
        values: dict[Stratum, dict[str, list[float]]] = {}
        places: dict[Stratum, dict[Place, list[float]]] = {}
        for source, target, kind, worth in self._sampled():
            host = self._table.ends[source].host
            values.setdefault((kind, None), {}).setdefault(host, []).append(worth)
            way = self.way(source, target, kind)
            if way is not None:
                values.setdefault((kind, way), {}).setdefault(host, []).append(worth)
                if self._timed[kind]:
                    one, other = sorted(str(self._table.leaves[end]) for end in (source, target))
                    places.setdefault((kind, way), {}).setdefault((one, other), []).append(worth)
        for source, kind, worths in self._plain():
            values.setdefault((kind, None), {}).setdefault(self._table.ends[source].host, []).extend(worths)
        found = {stratum: self._normal(mine) for stratum, mine in values.items() if stratum[1] is None or self._is_stratum(stratum, mine)}
        with_ways = {kind for kind, way in found if way is not None}
        for stratum in [stratum for stratum in found if stratum[1] is not None or stratum[0] not in with_ways]:
            self._look_above(stratum, found, [worth for mine in values[stratum].values() for worth in mine])
        best = {kind: max(known.reference for (other, way), known in found.items() if other == kind) for kind, way in found}
        kept = {stratum: known for stratum, known in found.items()
                if stratum[1] is None or not self._timed[stratum[0]] or _is_way(known, best[stratum[0]], places[stratum].values())}
        self.above = {stratum: known for stratum, known in self.above.items() if stratum in kept}
        return kept

    def _is_stratum(self, stratum: Stratum, values: Mapping[str, Sequence[float]]) -> bool:
        """Of latency, enough values, and not of one host alone."""
        return not self._timed[stratum[0]] or (len(values) > 1 and sum(map(len, values.values())) >= QUORUM)

    def _normal(self, values: Mapping[str, Sequence[float]]) -> Normal:
        found, alone = normal_of_reports(values, len(self._table.of_host))
        if alone is not None:
            self.alone.add(alone)
        return found

    def _look_above(self, stratum: Stratum, found: dict[Stratum, Normal], values: Sequence[float]) -> None:
        """Are there pairs that are so much faster that they, and not the most, are what is normal?"""
        tried = bounds(values, found[stratum])
        cells = list(self._of(stratum)) if tried else []
        for bound, far in tried:
            known = faster(self._table, cells, found[stratum], bound, far)
            if known is not None:
                if known.is_normal:
                    found[stratum] = known.found
                else:
                    self.above[stratum] = known
                return

    def _of(self, stratum: Stratum) -> Iterator[Measured]:
        """What was measured of a stratum, of the way None of the kind; of large matrices a sample."""
        kind, way = stratum
        for cell in self._table.cells:
            if cell.worth is not None and cell.kind == kind and way in (None, self.way(cell.source, cell.target, kind)):
                yield cell.source, cell.target, cell.worth
        for number, row in enumerate(self._table.rows):
            if row.kind == kind:
                for place in self._places(number):
                    target, worth = row.targets[place], row.worths[place]
                    if worth is not None and way in (None, self.way(row.source, target, kind)):
                        yield row.source, target, worth

    def _sampled(self) -> Iterator[tuple[int, int, int, float]]:
        """Source, target, kind and worth of what has ways."""
        table = self._table
        for cell in table.cells:
            if cell.worth is not None:
                yield cell.source, cell.target, cell.kind, cell.worth
        for number, row in enumerate(table.rows):
            if self._timed[row.kind] or self.rates:
                for place in self._places(number):
                    worth = row.worths[place]
                    if worth:
                        yield row.source, row.targets[place], row.kind, worth

    def _plain(self) -> Iterator[tuple[int, int, Sequence[float]]]:
        """Rows without ways, by their source and kind: no cell of theirs needs a look."""
        for number, row in enumerate(self._table.rows):
            if not self._timed[row.kind] and not self.rates:
                yield row.source, row.kind, [worth for worth in (row.worths[place] for place in self._places(number)) if worth]

    def _places(self, number: int) -> range:
        return range(number % self._stride, len(self._table.rows[number].targets), self._stride)


def told(ways: Ways, normals: Mapping[Stratum, Normal]) -> list[str]:
    """What was taken for a way although it could be a fault that all pairs have in common, or what is too fast to be told from a fault of the others."""
    found = [above_the_others(known, ways.kind(stratum[0]), normals[stratum]) for stratum, known in ways.above.items()]
    if ways.speeds:
        found.append(f"{' and '.join(f'{rate:g}' for rate in ways.speeds)} Gbit/s are line rates of whole hosts here: each pair was compared with its like")
    for (kind, way), known in sorted(normals.items(), key=str):
        best = max(other.reference for (one, _other), other in normals.items() if one == kind)
        if way is not None and ways.kind(kind).unit == MICROSECONDS and known.reference * LARGEST_DIFFERENCE < best:
            shown = ways.kind(kind).shown
            where = "pairs between leaves" if way == (False, True) else "pairs of different rails" if way == (True, False) else "pairs between leaves and rails"
            found.append(f"{where} take {shown(known.reference)} us, the nearest {shown(best)}: all of them do, so it was taken for their way")
    return found


def _is_way(found: Normal, best: float, places: Iterable[Sequence[float]]) -> bool:
    """Is a stratum that is this far off the best of its kind as it has to be? A fault of some paths leaves others that are better."""
    if found.reference * LARGEST_DIFFERENCE >= best:
        return True
    return found.reference * LARGEST_OF_WAY >= best and max(map(median, places)) <= found.reference * LARGEST_DIFFERENCE


def speeds(table: Table) -> tuple[list[float], list[float | None]]:
    """The line rates that whole hosts have, and for each end the one that it should have: its own where all NPUs of its host have it and other hosts, too;
    else the next one above. Nothing where there is one only."""
    own = table.line_rates()
    hosts: dict[str, list[float]] = {}
    for end, rate in own.items():
        hosts.setdefault(table.ends[end].host, []).append(rate)
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
    return right, [of_host.get(end.host) for end in table.ends]
