# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Classify each cell against the normal value of its stratum, into layers of slow, failed and busy cells.

A cell is slow below an absolute floor, or below a relative gate that is both outside the noise and a drop that matters (noise.py). A row is classified as
a whole, since a matrix of 1,024 hosts with 8 NPUs has 8 million cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import inf, log, sqrt
from statistics import median, median_low, stdev
from typing import NamedTuple

from ...module_utils._core.samples import GBIT
from .fast_pairs import Measured
from .measurement_table import BUSY_CODES, INFERRED_CODES, TIMEOUT_CODES, Cell, Row, Table
from .noise import FEW, LEAST_SPREAD, Gates, Normal, drop_of, gates, tail_of
from .strata import Strata, Stratum

MOST_REPEATS, LEAST_REPEATS, MEDIAN_OF_REPEATS = 4, 3, 0.954
"""Repeated values of a pair that are compared, least number of differences, and the median difference of two values with a standard deviation of one."""

LEAST_OTHERS = 3
"""Values of other NPUs with which those of an NPU are compared to find that it is slow and does not show the normal value."""

LEAST_AGREEING, FEW_FOR_PAIRS = 4, 12
"""Fewer values near the normal one say nothing about how much values vary; and about how much the value of a single pair does."""

MOST_BY_NOISE, MOST_BY_NOISE_OF_FEW = 0.5, 0.2
"""Share of the normal value below which noise of unknown size does not bring all measurements of an NPU or a pair; and if fewer than LEAST_AGREEING values
are near the normal one."""

SPREADS_OF_FEW = 12.0
"""Distance from the normal value, in spreads, that noise may bring if fewer than LEAST_AGREEING values are near it. What slows a host down for the time of a
run changes all its values."""

MOST_OF_TAIL = 20_000
"""Values from which the tail is estimated. Of more, every n-th is used."""

LOW, DIFFUSE = 3.5, 0.12
"""A value is low from this many times the spread below the normal value on. Low values belong to a tail of sound pairs if no NPU is a side of more of them
than two, or than this share of all sides."""

NEARLY = 0.02
"""Share of the normal value that a sound NPU may lack."""

GOOD, SLOW, FAILED, BUSY = "good", "slow", "failed", "busy"

Link = tuple[int, int]
"""The numbers of source and target of a cell."""


class Layer:
    """The bad cells of one state, by NPU.

    ``out`` and ``into``: the bad targets and the bad sources of each NPU. ``sent`` and ``received`` count all its cells, ``good_sent`` and ``good_received``
    those that prove it good, ``inconclusive`` those that cannot, since the partner has a lower line rate. ``uncertain``: bad cells that may be noise.
    ``timeouts``: slow cells without a value. ``self_reported``: cells of which the NPU itself reported the error. ``accused``: the NPU that the other side of
    a cell blames. ``chance``: of a healthy cell to be bad.
    """

    def __init__(self, state: str, count: int) -> None:
        self.state = state
        self.out: list[list[int]] = [[] for _npu in range(count)]
        self.into: list[list[int]] = [[] for _npu in range(count)]
        self.sent = [0] * count
        self.received = [0] * count
        self.good_sent = [0] * count
        self.good_received = [0] * count
        self.inconclusive = [0] * count
        self.uncertain: set[Link] = set()
        self.timeouts: list[Link] = []
        self.self_reported: dict[int, list[Link]] = {}
        self.accused: dict[Link, int] = {}
        self.chance = 0.0

    def add(self, source: int, target: int) -> None:
        """Add a bad cell."""
        self.out[source].append(target)
        self.into[target].append(source)

    def total(self, npu: int) -> int:
        """Return the number of cells of an NPU."""
        return self.sent[npu] + self.received[npu]

    def good(self, npu: int) -> int:
        """Return the number of cells that prove an NPU good."""
        return self.good_sent[npu] + self.good_received[npu]

    def bad(self, npu: int) -> int:
        """Return the number of bad cells of an NPU."""
        return len(self.out[npu]) + len(self.into[npu])

    def bad_again(self, npu: int) -> int:
        """Return the number of bad cells of an NPU that repeat another one."""
        return self.bad(npu) - len(set(self.out[npu])) - len(set(self.into[npu]))

    def links(self, npu: int) -> list[Link]:
        """Return the bad cells of an NPU."""
        return [(npu, target) for target in self.out[npu]] + [(source, npu) for source in self.into[npu]]

    def partners(self, npu: int) -> set[int]:
        """Return the partners in the bad cells of an NPU."""
        return {*self.out[npu], *self.into[npu]}


class _RowBounds(NamedTuple):
    """Limits of a row by the place of the target: a cell below ``good`` does not prove its NPUs good, below ``bad`` it is slow, below ``certain`` without
    doubt."""

    good: Sequence[float]
    bad: Sequence[float]
    certain: Sequence[float]


class Classification:
    """All cells of a table, classified.

    ``states``: by pair id. ``counts``: cells by state. ``host_of``: the number of each NPU's host. ``met``: by number of a host, those that it measured.
    ``shared``: NPUs with slow cells that prove nothing, since long tests of a round share the links between leaves.
    ``spans``: kind, lowest and highest worth of the cells of an NPU that are not slow; a row counts for its source.
    """

    def __init__(self, table: Table, relative_floor: float) -> None:
        self.table = table
        count = len(table.npus)
        self.slow, self.failed, self.busy = (Layer(state, count) for state in (SLOW, FAILED, BUSY))
        self.states: dict[str, str] = {}
        self.counts = dict.fromkeys((GOOD, SLOW, FAILED, BUSY), 0)
        self.strata = Strata(table)
        self.normals: dict[Stratum, Normal] = {stratum: self._with_noise(stratum, found) for stratum, found in self.strata.normals().items()}
        cells = len(table.cells) + sum(len(row.targets) for row in table.rows)
        self.gates: dict[Stratum, Gates] = {stratum: gates(found, relative_floor, count, cells) for stratum, found in self.normals.items()}
        self.slow.chance = max((gate.chance for gate in self.gates.values()), default=0.0)
        self.met: dict[int, set[int]] = {}
        self.shared: set[int] = set()
        self.spans: dict[int, tuple[int, float, float]] = {}
        self.host_of = _host_numbers(table)
        self._cells: dict[Link, list[Cell]] = {}
        self._rows: dict[int, list[Row]] = {}
        self._bounds: dict[object, _RowBounds] = {}
        self._received: Counter[int] = Counter()
        self._weak: Counter[int] = Counter()
        self._accusations: list[Cell] = []
        for cell in sorted(table.cells, key=lambda cell: cell.worth is None):  # values first: they decide what a timeout means
            self._classify_cell(cell)
        for row in table.rows:
            self._classify_row(row)
        self._settle_accusations()
        self._complete_layers()

    @cached_property
    def usual(self) -> Stratum | None:
        """The stratum with the most values. A kind that is divided counts by its groups."""
        divided = {kind for kind, group in self.normals if group is not None}
        return max((key for key in self.normals if key[1] is not None or key[0] not in divided), key=lambda key: self.normals[key].count, default=None)

    @property
    def spread(self) -> float:
        """The relative spread of one measurement; 0 if nothing was measured."""
        return self.normals[self.usual].spread if self.usual else 0.0

    @cached_property
    def is_noise_unknown(self) -> bool:
        """Whether there are too few values to know how much they vary: they do vary, or hardly any is near the normal one."""
        found = self.normals.get(self.usual) if self.usual else None
        return found is not None and found.count < FEW and (found.spread > 2 * LEAST_SPREAD or found.agreeing < LEAST_AGREEING)

    def may_be_noise(self, link: Link) -> bool:
        """Return True if noise of unknown size explains a slow cell, even if it was slow each time."""
        enough = self.usual is not None and self.normals[self.usual].agreeing >= LEAST_AGREEING
        return (self.share(*link) or 0.0) > (MOST_BY_NOISE if enough else MOST_BY_NOISE_OF_FEW)

    @property
    def is_noise_of_pairs_unknown(self) -> bool:
        """Whether there are too few values even for a pair, of which it is enough that one of many varies more than the others."""
        return self.is_noise_unknown and self.usual is not None and self.normals[self.usual].count < FEW_FOR_PAIRS

    def is_within_noise(self, links: Sequence[Link]) -> bool:
        """Return True if noise of unknown size explains slow cells so well that their NPU is not named: latencies that single operations of good pairs reach as
        well, or values of which few are near the normal one, if neither these, nor the other good ones, nor repeated ones show that the noise is much smaller.
        A value below a floor is always too low.
        """
        if not self.is_noise_unknown or any(cell.worth is not None and cell.worth < cell.floor for link in links for cell in self.cells(*link)):
            return False
        least = inf
        for link in links:
            found = self.worth(*link)
            normal = self.normals[self._stratum(*link, found[1])] if found else None
            if found is None or normal is None:
                return False
            spread, jitter = self._noise_of_good(found[1], normal)
            drop = -log(found[0] / normal.reference)
            if drop < jitter:
                least = 0.0
            elif normal.agreeing >= LEAST_AGREEING or (normal.agreeing > 1 and drop >= SPREADS_OF_FEW * spread):
                return False
            least = min(least, drop)
        return least < -log(MOST_BY_NOISE)

    def _noise_of_good(self, kind: int, normal: Normal) -> tuple[float, float]:
        """Return the spread of good values of a kind, and how far single operations of latencies are from the typical ones, as logarithms.

        The latter is the median of the medians of the hosts, so that no host decides.
        """
        good = [cell for cell in self.table.cells if cell.kind == kind and not self.is_bad(cell)]
        of_host: dict[str, list[float]] = {}
        for cell in good:
            of_host.setdefault(self.table.npus[cell.source].host, []).append(cell.jitter)
        distances = [log(cell.worth / normal.reference) ** 2 for cell in good if cell.worth]
        return max(normal.spread, sqrt(sum(distances) / max(1, len(distances)))), median_low(list(map(median_low, of_host.values())) or [0.0])

    def _with_noise(self, stratum: Stratum, found: Normal) -> Normal:
        """Return a normal value with the tail of low values between NPUs that reach it elsewhere; of few values, with the spread of repeated ones, and without
        those of a slow NPU."""
        cells = [cell for cell in self.strata.cells_of(stratum) if cell[2]]
        cells = cells[::max(1, len(cells) // MOST_OF_TAIL)]
        if found.count < FEW:
            found = _without_slow_npu(found, cells)
            changes = [abs(log(one / other)) for values in self._repeats(stratum) for one, other in combinations(values[:MOST_REPEATS], 2)]
            return found.pooled(median(changes) / MEDIAN_OF_REPEATS, len(changes)) if len(changes) >= LEAST_REPEATS else found
        best: dict[int, list[float]] = {}
        for source, target, worth in cells:
            for npu in (source, target):
                known = best.setdefault(npu, [0.0, 0.0])
                if worth > known[1]:
                    known[:] = sorted((known[0], known[1], worth))[1:]
        sound = found.reference * (1 - max(drop_of(2 * found.spread), NEARLY))
        drops = [log(found.reference / worth) for source, target, worth in cells
                 if all((best[npu][0] if worth == best[npu][1] else best[npu][1]) >= sound for npu in (source, target))]  # the best in another pair
        low = [npu for source, target, worth in cells if worth < found.reference * (1 - drop_of(LOW * found.spread)) for npu in (source, target)]
        most = max(Counter(low).values(), default=0)
        return replace(found, tail=tail_of(drops)) if len(low) > 2 and most <= max(2, DIFFUSE * len(low)) else found

    def _repeats(self, stratum: Stratum) -> Iterable[list[float]]:
        """Return the values of each pair in one direction and over one source port, since the others may have a fault of their own."""
        kind, group = stratum
        found: dict[tuple[int, int, str], list[float]] = {}
        for cell in self.table.cells:
            if cell.worth is not None and cell.kind == kind and group in (None, self.strata.group(cell.source, cell.target, kind)):
                found.setdefault((cell.source, cell.target, cell.path_options[0]), []).append(cell.worth)
        return found.values()

    def cells(self, source: int, target: int) -> list[Cell]:
        """Return the single records from one NPU to another."""
        if not self._cells and self.table.cells:
            for cell in self.table.cells:
                self._cells.setdefault((cell.source, cell.target), []).append(cell)
        return self._cells.get((source, target), [])

    def worth(self, source: int, target: int) -> tuple[float, int] | None:
        """Return the lowest worth from one NPU to another, with its kind; None if nothing was measured."""
        found = [(cell.worth, cell.kind) for cell in self.cells(source, target) if cell.worth is not None]
        if not self._rows and self.table.rows:
            for row in self.table.rows:
                self._rows.setdefault(row.source, []).append(row)
        for row in self._rows.get(source, ()):
            if target in row.targets:
                worth = row.worths[row.targets.index(target)]
                found += [(worth, row.kind)] if worth is not None else []
        return min(found, default=None)

    def met_pairs(self) -> int:
        """Return the number of pairs of hosts between which something was measured."""
        count = len(self.host_of)
        return len({one * count + other if one < other else other * count + one for one, others in self.met.items() for other in others if one != other})

    def is_bad(self, cell: Cell) -> bool:
        """Return True for a slow, failed or busy cell."""
        if cell.worth is None:
            return True
        stratum = self._stratum(cell.source, cell.target, cell.kind)
        return cell.worth < self.gates[stratum].limits(self.normals[stratum].reference, cell.floor)[1]

    def share(self, source: int, target: int) -> float | None:
        """Return the lowest worth from one NPU to another as a share of the normal value."""
        found = self.worth(source, target)
        return None if found is None else found[0] / self.normals[self._stratum(source, target, found[1])].reference

    def described(self, source: int, target: int, state: str) -> str:
        """Return a cell as a line of evidence."""
        pair = f"{self.table.npus[source]} to {self.table.npus[target]}"
        found = None if state in (FAILED, BUSY) else self.worth(source, target)
        if found is None:
            failed = [cell for cell in self.cells(source, target) if cell.worth is None]
            return f"{pair}: {failed[-1].code}: {failed[-1].message}" if failed else f"{pair}: failed"
        worth, number = found
        kind, stratum = self.table.kinds[number], self._stratum(source, target, number)
        floor = max((cell.floor for cell in (*self.cells(source, target), *self._rows.get(source, ()))), default=0.0)
        limit = f"the floor is {floor:.4g}" if worth < floor else f"normal is {kind.shown(self.normals[stratum].reference)}"
        return f"{pair}: {kind.shown(worth)} {kind.unit}, {limit}"

    def _stratum(self, source: int, target: int, kind: int) -> Stratum:
        stratum = (kind, self.strata.group(source, target, kind))
        return stratum if stratum in self.normals else (kind, None)

    # -- single records

    def _classify_cell(self, cell: Cell) -> None:
        if cell.worth is None:
            state = self._classify_failure(cell)
        else:
            state = self._classify_value(cell, cell.worth)
            if state == GOOD:
                for npu in (cell.source, cell.target):
                    self._widen_span(npu, cell.kind, cell.worth, cell.worth)
        self.counts[state] += 1
        self.states[cell.pair] = state

    def _classify_failure(self, cell: Cell) -> str:
        if cell.code in TIMEOUT_CODES and (self.share(cell.source, cell.target) or 1.0) < MOST_BY_NOISE:
            self._add_timeout(cell)
            return SLOW
        state = BUSY if cell.code in BUSY_CODES else FAILED
        layer = self.busy if state == BUSY else self.failed
        if cell.accused is None or cell.code in INFERRED_CODES:
            _add_failure(layer, cell)
        elif cell.accused == cell.source:
            layer.self_reported.setdefault(cell.accused, []).append((cell.source, cell.target))
        else:
            self._accusations.append(cell)
        return state

    def _add_timeout(self, cell: Cell) -> None:
        """Add a test that did not end in time to the slow cells. With more queue pairs it moves more data, too much at the speed of the pair.

        If noise may be the reason for the value of the pair, it may be the reason for this as well.
        """
        self.slow.timeouts.append((cell.source, cell.target))
        if cell.target not in self.slow.out[cell.source]:
            self.slow.uncertain.add((cell.source, cell.target))
        self.slow.add(cell.source, cell.target)
        self.slow.sent[cell.source] += 1
        self._received[cell.target] += 1
        self._weak[cell.target] += 1

    def _classify_value(self, cell: Cell, worth: float) -> str:
        stratum = self._stratum(cell.source, cell.target, cell.kind)
        good, bad, certain = self.gates[stratum].limits(self.normals[stratum].reference, cell.floor)
        proves_good = worth >= good
        self.slow.sent[cell.source] += 1
        self._received[cell.target] += 1
        self._count_inconclusive(cell.source, cell.target, proves_good)
        self.met.setdefault(self.host_of[cell.source], set()).add(self.host_of[cell.target])
        if proves_good:
            self.slow.good_sent[cell.source] += 1
            return GOOD
        self._weak[cell.target] += 1
        if worth >= bad:
            return GOOD
        if cell.long and self._crosses(cell.source, cell.target, cell.kind):
            self._share(cell.source, cell.target)
            return SLOW
        self.slow.add(cell.source, cell.target)
        if worth >= certain:
            self.slow.uncertain.add((cell.source, cell.target))
        return SLOW

    def _crosses(self, source: int, target: int, kind: int) -> bool:
        """Return True for a bandwidth between two leaves that are known."""
        one, other = self.table.leaves[source], self.table.leaves[target]
        return self.table.kinds[kind].unit == GBIT and one is not None and other is not None and one != other

    def _share(self, source: int, target: int) -> None:
        """Count a slow cell that proves nothing, since the pair may have shared a link with others."""
        for npu in (source, target):
            self.slow.inconclusive[npu] += 1
            self.shared.add(npu)

    def _count_inconclusive(self, source: int, target: int, good: bool) -> None:
        """A good value with a partner of a lower line rate does not prove the faster NPU good. Undo that the caller counts it as good."""
        npu = self.strata.faster_npu(source, target)
        if npu is not None:
            self.slow.inconclusive[npu] += 1
            (self.slow.good_sent if npu == source else self.slow.good_received)[npu] -= good

    def _settle_accusations(self) -> None:
        """Decide on errors that a source reports about its target.

        An error counts as reported by the target itself if the target reported others, if several hosts report it, or if the target measured nothing.
        Otherwise, it is a failed cell: the report of a single partner does not make an NPU bad that is good with others.
        """
        hosts: dict[int, set[int]] = {}
        for cell in self._accusations:
            hosts.setdefault(cell.target, set()).add(self.host_of[cell.source])
        for cell in self._accusations:
            layer = self.busy if cell.code in BUSY_CODES else self.failed
            reported = any(cell.target in one.self_reported for one in (self.busy, self.failed))
            if reported or len(hosts[cell.target]) > 1 or not self.slow.sent[cell.target] + self._received[cell.target]:
                layer.self_reported.setdefault(cell.target, []).append((cell.source, cell.target))
            else:
                _add_failure(layer, cell)

    # -- rows

    def _classify_row(self, row: Row) -> None:
        bounds = self._row_bounds(row)
        measured = [target for target, worth in zip(row.targets, row.worths) if worth is not None]
        weak = [place for place, (worth, bound) in enumerate(zip(row.worths, bounds.good)) if worth is not None and worth < bound]
        self._count_row(row, measured, weak)
        if self.strata.expected_rates:
            for target, worth, bound in zip(row.targets, row.worths, bounds.good):
                if worth is not None:
                    self._count_inconclusive(row.source, target, worth >= bound)
        slow = [place for place in weak if (row.worths[place] or 0.0) < bounds.bad[place]]
        if row.long:
            for place in [place for place in slow if self._crosses(row.source, row.targets[place], row.kind)]:
                self._share(row.source, row.targets[place])
                slow.remove(place)
        if slow:
            self._add_slow_places(row, slow, bounds.certain)
            good = [worth for worth, bound in zip(row.worths, bounds.bad) if worth is not None and worth >= bound]
        else:
            good = [worth for worth in row.worths if worth is not None]
        if good:
            self._widen_span(row.source, row.kind, min(good), max(good))
        self.counts[SLOW] += len(slow)
        self.counts[GOOD] += len(measured) - len(slow)

    def _row_bounds(self, row: Row) -> _RowBounds:
        """Return the limits of a row. Rows that are alike share them."""
        key = (row.kind, row.floor, id(row.targets), self.strata.source_group(row.source, row.kind))
        if key not in self._bounds:
            strata = [self._stratum(row.source, target, row.kind) for target in row.targets]
            limits = {stratum: self.gates[stratum].limits(self.normals[stratum].reference, row.floor) for stratum in set(strata)}
            self._bounds[key] = _RowBounds(*(list(bounds) for bounds in zip(*(limits[stratum] for stratum in strata))))
        return self._bounds[key]

    def _count_row(self, row: Row, measured: Sequence[int], weak: Sequence[int]) -> None:
        """Count the ``measured`` targets, and those in the ``weak`` places, which do not prove their NPUs good."""
        self.slow.sent[row.source] += len(measured)
        self.slow.good_sent[row.source] += len(measured) - len(weak)
        self._received.update(measured)
        self.met.setdefault(self.host_of[row.source], set()).update(map(self.host_of.__getitem__, measured))
        self._weak.update([row.targets[place] for place in weak])

    def _add_slow_places(self, row: Row, slow: Sequence[int], certain: Sequence[float]) -> None:
        """Add the cells in these places of a row to the slow layer."""
        targets = [row.targets[place] for place in slow]
        self.slow.out[row.source] += targets
        for target in targets:
            self.slow.into[target].append(row.source)
        self.slow.uncertain.update([(row.source, row.targets[place]) for place in slow if (row.worths[place] or 0.0) >= certain[place]])

    def _widen_span(self, npu: int, kind: int, low: float, high: float) -> None:
        span = self.spans.get(npu)
        if span is None:
            self.spans[npu] = (kind, low, high)
        elif span[0] == kind and (low < span[1] or high > span[2]):
            self.spans[npu] = (kind, min(low, span[1]), max(high, span[2]))

    def _complete_layers(self) -> None:
        """Add the counts by target to the layers. A measured cell, however slow, counts as good in the layers of failed and busy cells."""
        slow, failed = self.slow, self.failed
        for npu, received in self._received.items():
            slow.received[npu] += received
            slow.good_received[npu] += received - self._weak[npu]
        for npu in range(len(self.table.npus)):
            for layer in (failed, self.busy):
                layer.good_sent[npu], layer.good_received[npu] = slow.sent[npu], slow.received[npu]
                layer.sent[npu] += slow.sent[npu]
                layer.received[npu] += slow.received[npu]
        for source, target in slow.timeouts:
            for layer in (failed, self.busy):
                layer.good_sent[source] -= 1
                layer.good_received[target] -= 1


def _without_slow_npu(found: Normal, cells: Sequence[Measured]) -> Normal:
    """Return the normal value of a few cells without those of an NPU, of one direction or both, that are all far below the others.

    A slow NPU has a third or more of the values of a small cluster. Taken for noise, they would hide themselves. Of fewer than LEAST_AGREEING other values,
    the lowest one counts, not the median.
    """
    best = found
    for npu in sorted({npu for cell in cells for npu in cell[:2]}):
        for sides in ((0,), (1,), (0, 1)):
            mine: list[Measured] = []
            others: list[float] = []
            for cell in cells:
                if npu in [cell[side] for side in sides]:
                    mine.append(cell)
                else:
                    others.append(cell[2])
            partners = {partner for cell in mine for partner in cell[:2]} - {npu}
            if len(partners) < 2 or len(others) < LEAST_OTHERS:
                continue
            reference = median(others)
            if max(cell[2] for cell in mine) < MOST_BY_NOISE * (reference if len(others) >= LEAST_AGREEING else min(others)):
                without = Normal(reference, max(LEAST_SPREAD, stdev(map(log, others))), len(others))
                best = min(best, without, key=lambda normal: normal.spread)
    return best


def _add_failure(layer: Layer, cell: Cell) -> None:
    layer.add(cell.source, cell.target)
    layer.sent[cell.source] += 1
    layer.received[cell.target] += 1
    if cell.accused is not None:
        layer.accused[cell.source, cell.target] = cell.accused


def _host_numbers(table: Table) -> list[int]:
    """Return the number of each NPU's host."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(npu.host, len(numbers)) for npu in table.npus]
