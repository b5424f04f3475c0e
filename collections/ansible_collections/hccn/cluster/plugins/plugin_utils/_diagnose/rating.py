# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Each cell against its like: two layers, of what is slow and of what failed, in which every end knows its good and its bad partners.

A cell is slow below an absolute floor, or below the relative gate, which is both out of the noise and a drop that matters (noise.py). Rows are
worked as a whole, since a matrix of 1,024 hosts with 8 NPUs has 8 million cells.
"""

from __future__ import annotations

from collections import Counter

from .cells import BUSY_CODES, INFERRED_CODES, Cell, Row, Table
from .noise import Gates, Normal, gates
from .ways import Stratum, Ways

GOOD, SLOW, FAILED, BUSY = "good", "slow", "failed", "busy"

Link = tuple[int, int]


class Layer:
    """Bad cells of one state. ``out``: the bad targets of each end, ``into``: its bad sources; ``sent`` and ``received`` count all its cells,
    ``good`` those that clear it, ``lesser`` those that cannot, since the partner is of a slower speed. ``mild``: bad cells that are not certain.
    ``sure``: cells of which an end itself told; ``accused``: where one end tells of the other."""

    def __init__(self, state: str, count: int) -> None:
        self.state = state
        self.out: list[list[int]] = [[] for _end in range(count)]
        self.into: list[list[int]] = [[] for _end in range(count)]
        self.sent = [0] * count
        self.received = [0] * count
        self.good = [0] * count
        self.lesser = [0] * count
        self.mild: set[Link] = set()
        self.sure: dict[int, list[Link]] = {}
        self.accused: dict[Link, int] = {}
        self.chance = 0.0

    def add(self, source: int, target: int) -> None:
        self.out[source].append(target)
        self.into[target].append(source)

    def total(self, end: int) -> int:
        return self.sent[end] + self.received[end]

    def bad(self, end: int) -> int:
        return len(self.out[end]) + len(self.into[end])

    def links(self, end: int) -> list[Link]:
        """The bad cells of an end."""
        return [(end, target) for target in self.out[end]] + [(source, end) for source in self.into[end]]

    def partners(self, end: int) -> set[int]:
        """Of its bad cells."""
        return {*self.out[end], *self.into[end]}


class Rating:
    """All cells of a table, rated. ``states``: by pair id; ``counts``: cells by state; ``host_of``: the number of each end's host; ``met``: by the
    number of a host those that it measured; ``spans``: kind, lowest and highest worth of the cells of an end that are not slow, in rows those of the source."""

    def __init__(self, table: Table, relative_floor: float) -> None:
        self.table = table
        count = len(table.ends)
        self.slow, self.failed, self.busy = (Layer(state, count) for state in (SLOW, FAILED, BUSY))
        self.states: dict[str, str] = {}
        self.counts = dict.fromkeys((GOOD, SLOW, FAILED, BUSY), 0)
        self.ways = Ways(table)
        self.normals: dict[Stratum, Normal] = self.ways.normals()
        cells = len(table.cells) + sum(len(row.targets) for row in table.rows)
        self.gates: dict[Stratum, Gates] = {key: gates(found, relative_floor, count, cells) for key, found in self.normals.items()}
        self.slow.chance = max((gate.chance for gate in self.gates.values()), default=0.0)
        self.met: dict[int, set[int]] = {}
        self.spans: dict[int, tuple[int, float, float]] = {}
        self.host_of = _host_numbers(table)
        self._cells: dict[Link, list[Cell]] = {}
        self._rows: dict[int, list[Row]] = {}
        self._bounds: dict[object, tuple[list[float], list[float], list[float]]] = {}
        self._received: Counter[int] = Counter()
        self._weak: Counter[int] = Counter()
        self._accusations: list[Cell] = []
        for cell in table.cells:
            self._rate(cell)
        for row in table.rows:
            self._rate_row(row)
        self._settle()

    @property
    def usual(self) -> Stratum | None:
        """The stratum of most values; a kind that has ways is judged by these."""
        with_ways = {kind for kind, way in self.normals if way is not None}
        return max((key for key in self.normals if key[1] is not None or key[0] not in with_ways), key=lambda key: self.normals[key].count, default=None)

    @property
    def spread(self) -> float:
        """Of one measurement, relative; 0 where nothing was measured."""
        return self.normals[self.usual].spread if self.usual else 0.0

    def cells(self, source: int, target: int) -> list[Cell]:
        """The single records from one end to the other."""
        if not self._cells and self.table.cells:
            for cell in self.table.cells:
                self._cells.setdefault((cell.source, cell.target), []).append(cell)
        return self._cells.get((source, target), [])

    def worth(self, source: int, target: int) -> tuple[float, int] | None:
        """The lowest that was measured from one end to the other, with its kind."""
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
        """Pairs of hosts between which something was measured."""
        count = len(self.host_of)
        return len({one * count + other if one < other else other * count + one for one, others in self.met.items() for other in others if one != other})

    def is_bad(self, cell: Cell) -> bool:
        """Slow, failed or busy."""
        if cell.worth is None:
            return True
        stratum = self._stratum(cell.source, cell.target, cell.kind)
        return cell.worth < max(cell.floor, self.normals[stratum].reference * (1 - self.gates[stratum].bad))

    def share(self, source: int, target: int) -> float | None:
        """Of the reference, of the lowest of its cells."""
        found = self.worth(source, target)
        return None if found is None else found[0] / self.normals[self._stratum(source, target, found[1])].reference

    def described(self, source: int, target: int, state: str) -> str:
        """The cell as a line of evidence."""
        ends = f"{self.table.ends[source]} to {self.table.ends[target]}"
        found = None if state in (FAILED, BUSY) else self.worth(source, target)
        if found is None:
            failed = [cell for cell in self.cells(source, target) if cell.worth is None]
            return f"{ends}: {failed[-1].code}: {failed[-1].message}" if failed else f"{ends}: failed"
        worth, number = found
        kind, stratum = self.table.kinds[number], self._stratum(source, target, number)
        floor = max((cell.floor for cell in (*self.cells(source, target), *self._rows.get(source, ()))), default=0.0)
        beside = f"the floor is {floor:.4g}" if worth < floor else f"normal is {kind.shown(self.normals[stratum].reference)}"
        return f"{ends}: {kind.shown(worth)} {kind.unit}, {beside}"

    def _stratum(self, source: int, target: int, kind: int) -> Stratum:
        stratum = (kind, self.ways.way(source, target, kind))
        return stratum if stratum in self.normals else (kind, None)

    def _rate(self, cell: Cell) -> None:
        if cell.worth is None:
            state = BUSY if cell.code in BUSY_CODES else FAILED
            layer = self.busy if state == BUSY else self.failed
            if cell.accused is not None and cell.code not in INFERRED_CODES and cell.accused == cell.source:
                layer.sure.setdefault(cell.accused, []).append((cell.source, cell.target))
            elif cell.accused is not None and cell.code not in INFERRED_CODES:
                self._accusations.append(cell)
            else:
                self._fail(layer, cell)
        else:
            state = self._measured(cell, cell.worth)
            if state == GOOD:
                for end in (cell.source, cell.target):
                    self._widen(end, cell.kind, cell.worth, cell.worth)
        self.counts[state] += 1
        self.states[cell.pair] = state

    @staticmethod
    def _fail(layer: Layer, cell: Cell) -> None:
        layer.add(cell.source, cell.target)
        layer.sent[cell.source] += 1
        layer.received[cell.target] += 1
        if cell.accused is not None:
            layer.accused[cell.source, cell.target] = cell.accused

    def _accuse(self) -> None:
        """What one host alone says that another has told it counts only where that one has measured nothing: who is good with others is not bad on the
        word of one partner."""
        hosts: dict[int, set[int]] = {}
        for cell in self._accusations:
            hosts.setdefault(cell.target, set()).add(self.host_of[cell.source])
        for cell in self._accusations:
            layer = self.busy if cell.code in BUSY_CODES else self.failed
            told = any(cell.target in one.sure for one in (self.busy, self.failed))
            if told or len(hosts[cell.target]) > 1 or not self.slow.sent[cell.target] + self._received[cell.target]:
                layer.sure.setdefault(cell.target, []).append((cell.source, cell.target))
            else:
                self._fail(layer, cell)

    def _measured(self, cell: Cell, worth: float) -> str:
        stratum = self._stratum(cell.source, cell.target, cell.kind)
        gate = self.gates[stratum]
        drop = 1 - worth / self.normals[stratum].reference
        self.slow.sent[cell.source] += 1
        self._received[cell.target] += 1
        self._compare(cell.source, cell.target, drop <= gate.good and worth >= cell.floor)
        self.met.setdefault(self.host_of[cell.source], set()).add(self.host_of[cell.target])
        if drop <= gate.good and worth >= cell.floor:
            self.slow.good[cell.source] += 1
            return GOOD
        self._weak[cell.target] += 1
        if drop <= gate.bad and worth >= cell.floor:
            return GOOD
        self.slow.add(cell.source, cell.target)
        if drop <= gate.certain and worth >= cell.floor:
            self.slow.mild.add((cell.source, cell.target))
        return SLOW

    def _compare(self, source: int, target: int, good: bool) -> None:
        """What is good for the slower of two speeds does not clear an end of the faster one. It is counted as good elsewhere."""
        end = self.ways.faster(source, target)
        if end is not None:
            self.slow.lesser[end] += 1
            self.slow.good[end] -= good

    def _rate_row(self, row: Row) -> None:
        good, bad, certain = self._row_bounds(row)
        measured = [target for target, worth in zip(row.targets, row.worths) if worth is not None]
        weak = [place for place, (worth, bound) in enumerate(zip(row.worths, good)) if worth is not None and worth < bound]
        self.slow.sent[row.source] += len(measured)
        self.slow.good[row.source] += len(measured) - len(weak)
        self._received.update(measured)
        self.met.setdefault(self.host_of[row.source], set()).update(map(self.host_of.__getitem__, measured))
        self._weak.update([row.targets[place] for place in weak])
        if self.ways.rates:
            for target, worth, bound in zip(row.targets, row.worths, good):
                if worth is not None:
                    self._compare(row.source, target, worth >= bound)
        slow = [place for place in weak if (row.worths[place] or 0.0) < bad[place]]
        if slow:
            targets = [row.targets[place] for place in slow]
            self.slow.out[row.source] += targets
            for target in targets:
                self.slow.into[target].append(row.source)
            self.slow.mild.update([(row.source, row.targets[place]) for place in slow if (row.worths[place] or 0.0) >= certain[place]])
            sound = [worth for worth, bound in zip(row.worths, bad) if worth is not None and worth >= bound]
        else:
            sound = [worth for worth in row.worths if worth is not None]
        if sound:
            self._widen(row.source, row.kind, min(sound), max(sound))
        self.counts[SLOW] += len(slow)
        self.counts[GOOD] += len(measured) - len(slow)

    def _widen(self, end: int, kind: int, low: float, high: float) -> None:
        span = self.spans.get(end)
        if span is None:
            self.spans[end] = (kind, low, high)
        elif span[0] == kind and (low < span[1] or high > span[2]):
            self.spans[end] = (kind, min(low, span[1]), max(high, span[2]))

    def _row_bounds(self, row: Row) -> tuple[list[float], list[float], list[float]]:
        """By the place of the target: below which worth a cell does not clear its ends, is slow, is so for certain."""
        key = (row.kind, row.floor, id(row.targets), self.ways.alike(row.source, row.kind))
        if key not in self._bounds:
            strata = [self._stratum(row.source, target, row.kind) for target in row.targets]
            self._bounds[key] = tuple(  # type: ignore[assignment]
                [max(row.floor, self.normals[stratum].reference * (1 - drop)) for stratum, drop in zip(strata, drops)]
                for drops in zip(*((self.gates[stratum].good, self.gates[stratum].bad, self.gates[stratum].certain) for stratum in strata)))
        return self._bounds[key]

    def _settle(self) -> None:
        """What was counted by target, and what the layers know of each other: a measured cell, however slow, is no failed one."""
        self._accuse()
        slow, failed = self.slow, self.failed
        for end, received in self._received.items():
            slow.received[end] += received
            slow.good[end] += received - self._weak[end]
        for end in range(len(self.table.ends)):
            for layer in (failed, self.busy):
                layer.good[end] = slow.total(end)
                layer.sent[end] += slow.sent[end]
                layer.received[end] += slow.received[end]


def _host_numbers(table: Table) -> list[int]:
    """The number of each end's host."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(end.host, len(numbers)) for end in table.ends]
