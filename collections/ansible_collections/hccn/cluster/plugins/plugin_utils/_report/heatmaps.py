# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Heatmaps of measurements: sender by receiver, rail by host, leaf by leaf. Rows and columns are in the order of the topology.

The maps show the most frequent kind of measurement of the run. Colours show the share of the expected value on a fixed scale, independent of the worst and
best values of the run.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ...module_utils._core.samples import GBIT, MICROSECONDS
from ...module_utils._core.words import natural
from .._history.cells import FAILED as FAILED_STATE
from .._history.cells import OK, Cell, End, What, cells
from .._history.summary import Places
from . import png
from .fields import Record

LOW, HIGH = 0.5, 1.05
"""Shares of the expected value at both ends of the scale; values beyond have the colour of the end."""
MOST_ENDS = 128
"""NPUs up to which a map across rails has a row per NPU; beyond, a row is a host."""
NO_DEVICE = 255
HISTORY, LINE_RATE, MEDIAN = "history", "line_rate", "median"


@dataclass(frozen=True)
class Expected:
    """The value that counts as 100 %, and whether it is the baseline of the history, the line rate or the median of this run."""

    value: float
    basis: str


@dataclass(frozen=True)
class Map:
    """``values[row][column]`` is in ``unit``, None if ``states[row][column]`` (png.DIAGONAL, FAILED, NOT_MEASURED) is not 0.

    ``devices``: if a cell represents several NPUs, the sending NPU of the worst pair, NO_DEVICE if unknown.
    """

    name: str
    rows: list[str]
    columns: list[str]
    values: list[list[float | None]]
    states: list[bytes]
    expected: Expected
    unit: str
    devices: list[bytes] | None = None

    def share(self, row: int, column: int) -> float | None:
        """Return the share of the expected value that a cell reaches; more is better, also for latencies."""
        value = self.values[row][column]
        return None if value is None else share(value, self.expected, self.unit)

    def counts(self) -> Counter[int]:
        """Return the number of cells by state, 0 for cells with a value."""
        return Counter(state for line in self.states for state in line)


@dataclass(frozen=True)
class Maps:
    """The maps of a run; ``rails`` and ``leaves`` are None if fewer than two are known."""

    what: What
    expected: Expected
    pairs: Map
    rails: Map | None
    leaves: Map | None


def share(value: float, expected: Expected, unit: str) -> float:
    """Return the share of the expected value; more is better, also for latencies."""
    if unit == MICROSECONDS:
        return expected.value / value if value else 1.0
    return value / expected.value if expected.value else 1.0


def level(part: float | None) -> int:
    """Return the palette index of a share."""
    if part is None:
        return png.CLEAR
    return round(min(max((part - LOW) / (HIGH - LOW), 0.0), 1.0) * (png.SHADES - 1))


class PairResults:
    """The cells of a run by what they measure: ``what`` is the most frequent kind, ``cells`` its values, ``without`` all cells without a value."""

    def __init__(self, records: Iterable[Record]) -> None:
        listed = list(records)
        self.places = Places(listed)
        self.line_rate: float | None = None
        by_what: dict[What, list[Cell]] = {}
        without: list[Cell] = []
        for record in listed:
            if record.get("kind") not in ("rdma", "matrix"):
                continue
            context = record.get("context")
            rate = context.get("line_rate_gbit_s") if isinstance(context, dict) else None
            if isinstance(rate, (int, float)) and rate > 0:
                self.line_rate = max(self.line_rate or 0.0, float(rate))
            for cell in cells(record):
                if cell.value is None:
                    without.append(cell)
                else:
                    by_what.setdefault(cell.what, []).append(cell)
        self.by_what = by_what
        self.without = without
        best = max(by_what, key=lambda what: (len(by_what[what]), what.unit == GBIT, what.size_bytes or 0), default=None)
        self.what = best or (without[0].what if without else None)
        self.cells = by_what.get(best, []) if best else []

    def expected(self, normal: float | None) -> Expected:
        """Return the value of 100 %: the baseline ``normal``, else the line rate, else the median of the run."""
        if normal:
            return Expected(normal, HISTORY)
        if self.line_rate and self.what and self.what.unit == GBIT:
            return Expected(self.line_rate, LINE_RATE)
        values = [cell.value for cell in self.cells if cell.value is not None]
        return Expected(statistics.median(values) if values else 0.0, MEDIAN)


def build(measured: PairResults, normal: float | None) -> Maps | None:
    """Return the maps of a run, None if nothing was measured between two ends. ``normal``: the baseline of the history."""
    if measured.what is None:
        return None
    expected = measured.expected(normal)
    everything = [*measured.cells, *measured.without]
    ends = {end for cell in everything for end in (cell.source, cell.target)}
    pairs = _pairs(measured, measured.what, everything, ends, expected)
    return Maps(measured.what, expected, pairs, _rails(measured, ends, expected), _leaves(measured, expected))


def ordered(hosts: Iterable[str], places: Places) -> list[str]:
    """Return the hosts by leaf, then by name in natural order."""
    leaf: dict[str, str] = {}
    for end in sorted(places.leaves, key=lambda end: str(end.device)):
        leaf.setdefault(end.host, places.leaves[end])
    return sorted(hosts, key=lambda host: (natural(leaf.get(host, "")), natural(host)))


def _pairs(measured: PairResults, what: What, everything: list[Cell], ends: set[End], expected: Expected) -> Map:
    """Return the map of senders by receivers: of hosts, with the worst NPU per cell, or of NPUs if the run crosses rails or has a single host."""
    names, place = _axis(measured.places, everything, ends)
    size = len(names)
    values: list[list[float | None]] = [[None] * size for name in names]
    states = [bytearray([png.NOT_MEASURED]) * size for name in names]
    devices = [bytearray([NO_DEVICE]) * size for name in names] if size < len(ends) else None
    for number in range(size):
        states[number][number] = png.DIAGONAL
    for cell in measured.cells:
        row, column = place[cell.source], place[cell.target]
        before, value = values[row][column], cell.value
        if value is not None and (before is None or (value > before if what.unit == MICROSECONDS else value < before)):
            values[row][column], states[row][column] = value, 0
            if devices is not None:
                devices[row][column] = _device(cell)
    for cell in measured.without:
        row, column = place[cell.source], place[cell.target]
        if cell.state == FAILED_STATE and row != column:
            values[row][column], states[row][column] = None, png.FAILED
            if devices is not None:
                devices[row][column] = _device(cell)
    return Map("pairs", names, list(names), values, list(map(bytes, states)), expected, what.unit, list(map(bytes, devices)) if devices else None)


def _axis(places: Places, everything: list[Cell], ends: set[End]) -> tuple[list[str], dict[End, int]]:
    """Return the names of rows and columns, and the position of each end."""
    hosts = ordered({end.host for end in ends}, places)
    crossing = any(cell.source.device != cell.target.device for cell in everything)
    if len(hosts) > 1 and not (crossing and len(ends) <= MOST_ENDS):
        by_host = {host: number for number, host in enumerate(hosts)}
        return hosts, {end: by_host[end.host] for end in ends}
    rank = {host: number for number, host in enumerate(hosts)}
    order = sorted(ends, key=lambda end: (rank[end.host], natural(str(end))))
    return [str(end) for end in order], {end: number for number, end in enumerate(order)}


def _device(cell: Cell) -> int:
    device = cell.source.device
    return device if isinstance(device, int) and 0 <= device < NO_DEVICE else NO_DEVICE


def _rails(measured: PairResults, ends: set[End], expected: Expected) -> Map | None:
    """Return the map of rails by hosts: the median of each NPU as sender and receiver together."""
    devices = sorted({end.device for end in ends if end.device is not None}, key=lambda device: natural(str(device)))
    hosts = ordered({end.host for end in ends}, measured.places)
    if len(devices) < 2 or len(hosts) < 2:
        return None
    found: dict[End, list[float]] = {}
    for cell in measured.cells:
        if cell.value is not None:
            found.setdefault(cell.source, []).append(cell.value)
            found.setdefault(cell.target, []).append(cell.value)
    failed = {end for cell in measured.without if cell.state == FAILED_STATE for end in (cell.source, cell.target)}
    values: list[list[float | None]] = []
    states = []
    for device in devices:
        mine = [End(host, device) for host in hosts]
        values.append([statistics.median(found[end]) if end in found else None for end in mine])
        states.append(bytes(0 if end in found else png.FAILED if end in failed else png.NOT_MEASURED for end in mine))
    names = [f"npu {device}" if isinstance(device, int) else str(device) for device in devices]
    return Map("rails", names, hosts, values, states, expected, measured.what.unit if measured.what else GBIT)


def _leaves(measured: PairResults, expected: Expected) -> Map | None:
    """Return the map of leaves by leaves: the median of the pairs between them."""
    leaves = measured.places.leaves
    names = sorted(set(leaves.values()), key=natural)
    if len(names) < 2:
        return None
    found: dict[tuple[str, str], list[float]] = {}
    failed = set()
    for cell in [*measured.cells, *measured.without]:
        one, other = leaves.get(cell.source), leaves.get(cell.target)
        if one is None or other is None:
            continue
        if cell.state == OK and cell.value is not None:
            found.setdefault((one, other), []).append(cell.value)
        elif cell.state == FAILED_STATE:
            failed.add((one, other))
    if not found:
        return None
    values: list[list[float | None]] = [[statistics.median(found[one, other]) if (one, other) in found else None for other in names] for one in names]
    states = [bytes(0 if (one, other) in found else png.FAILED if (one, other) in failed else png.NOT_MEASURED for other in names) for one in names]
    return Map("leaves", names, list(names), values, states, expected, measured.what.unit if measured.what else GBIT)
