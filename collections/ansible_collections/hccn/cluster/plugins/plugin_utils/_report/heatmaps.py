# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Heatmaps of measurements: sender by receiver, rail by host, leaf by leaf. Rows and columns follow the topology.

The maps show the most frequent metric of the run. Colours show the share of the expected value on a fixed scale, independent of the worst and
best values of the run.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ...module_utils._core.samples import GBIT, MICROSECONDS
from ...module_utils._core.words import natural
from .._history.pair_results import FAILED as FAILED_STATE
from .._history.pair_results import OK, Endpoint, Metric, PairResult, pair_results
from .._history.summary import RunContext
from . import png
from .fields import Record

LOW, HIGH = 0.5, 1.05
"""Shares of the expected value at the limits of the scale; values beyond have the colour of the limit."""
MOST_ENDPOINTS = 128
"""Up to this number of NPUs, a map across rails has a row per NPU; beyond, a row per host."""
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

    metric: Metric
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
    """The pair results of a run: ``metric`` is the most frequent one, ``results`` are its results with a value, ``without_value`` all results without one."""

    def __init__(self, records: Iterable[Record]) -> None:
        listed = list(records)
        self.context = RunContext(listed)
        self.line_rate: float | None = None
        by_metric: dict[Metric, list[PairResult]] = {}
        without: list[PairResult] = []
        for record in listed:
            if record.get("kind") not in ("rdma", "matrix"):
                continue
            of_record = record.get("context")
            rate = of_record.get("line_rate_gbit_s") if isinstance(of_record, dict) else None
            if isinstance(rate, (int, float)) and rate > 0:
                self.line_rate = max(self.line_rate or 0.0, float(rate))
            for result in pair_results(record):
                if result.value is None:
                    without.append(result)
                else:
                    by_metric.setdefault(result.metric, []).append(result)
        self.by_metric = by_metric
        self.without_value = without
        best = max(by_metric, key=lambda metric: (len(by_metric[metric]), metric.unit == GBIT, metric.size_bytes or 0), default=None)
        self.metric = best or (without[0].metric if without else None)
        self.results = by_metric.get(best, []) if best else []

    def expected(self, normal: float | None) -> Expected:
        """Return the value of 100 %: the baseline ``normal``, else the line rate, else the median of the run."""
        if normal:
            return Expected(normal, HISTORY)
        if self.line_rate and self.metric and self.metric.unit == GBIT:
            return Expected(self.line_rate, LINE_RATE)
        values = [result.value for result in self.results if result.value is not None]
        return Expected(statistics.median(values) if values else 0.0, MEDIAN)


def build(measured: PairResults, normal: float | None) -> Maps | None:
    """Return the maps of a run, None if it has no pair results. ``normal``: the baseline of the history."""
    if measured.metric is None:
        return None
    expected = measured.expected(normal)
    everything = [*measured.results, *measured.without_value]
    endpoints = {endpoint for result in everything for endpoint in (result.source, result.target)}
    unit = measured.metric.unit
    return Maps(measured.metric, expected, _pairs(measured, unit, everything, endpoints, expected), _rails(measured, unit, endpoints, expected),
                _leaves(measured, unit, expected))


def ordered(hosts: Iterable[str], context: RunContext) -> list[str]:
    """Return the hosts by leaf, then by name in natural order."""
    leaf: dict[str, str] = {}
    for endpoint in sorted(context.leaves, key=lambda one: str(one.device)):
        leaf.setdefault(endpoint.host, context.leaves[endpoint])
    return sorted(hosts, key=lambda host: (natural(leaf.get(host, "")), natural(host)))


def _pairs(measured: PairResults, unit: str, everything: list[PairResult], endpoints: set[Endpoint], expected: Expected) -> Map:
    """Return the map of senders by receivers: of hosts, with the worst NPU per cell, or of NPUs if the run crosses rails or has a single host."""
    names, place = _axis(measured.context, everything, endpoints)
    size = len(names)
    values: list[list[float | None]] = [[None] * size for name in names]
    states = [bytearray([png.NOT_MEASURED]) * size for name in names]
    devices = [bytearray([NO_DEVICE]) * size for name in names] if size < len(endpoints) else None
    for number in range(size):
        states[number][number] = png.DIAGONAL
    for result in measured.results:
        row, column = place[result.source], place[result.target]
        before, value = values[row][column], result.value
        if value is not None and (before is None or (value > before if unit == MICROSECONDS else value < before)):
            values[row][column], states[row][column] = value, 0
            if devices is not None:
                devices[row][column] = _device(result)
    for result in measured.without_value:
        row, column = place[result.source], place[result.target]
        if result.state == FAILED_STATE and row != column:
            values[row][column], states[row][column] = None, png.FAILED
            if devices is not None:
                devices[row][column] = _device(result)
    return Map("pairs", names, list(names), values, list(map(bytes, states)), expected, unit, list(map(bytes, devices)) if devices else None)


def _axis(context: RunContext, everything: list[PairResult], endpoints: set[Endpoint]) -> tuple[list[str], dict[Endpoint, int]]:
    """Return the names of rows and columns, and the index of each endpoint."""
    hosts = ordered({endpoint.host for endpoint in endpoints}, context)
    crossing = any(result.source.device != result.target.device for result in everything)
    rank = {host: number for number, host in enumerate(hosts)}
    if len(hosts) > 1 and not (crossing and len(endpoints) <= MOST_ENDPOINTS):
        return hosts, {endpoint: rank[endpoint.host] for endpoint in endpoints}
    order = sorted(endpoints, key=lambda one: (rank[one.host], natural(str(one))))
    return list(map(str, order)), {endpoint: number for number, endpoint in enumerate(order)}


def _device(result: PairResult) -> int:
    device = result.source.device
    return device if isinstance(device, int) and 0 <= device < NO_DEVICE else NO_DEVICE


def _rails(measured: PairResults, unit: str, endpoints: set[Endpoint], expected: Expected) -> Map | None:
    """Return the map of rails by hosts: the median of each NPU as sender and receiver together."""
    devices = sorted({endpoint.device for endpoint in endpoints if endpoint.device is not None}, key=lambda device: natural(str(device)))
    hosts = ordered({endpoint.host for endpoint in endpoints}, measured.context)
    if len(devices) < 2 or len(hosts) < 2:
        return None
    found: dict[Endpoint, list[float]] = {}
    for result in measured.results:
        if result.value is not None:
            found.setdefault(result.source, []).append(result.value)
            found.setdefault(result.target, []).append(result.value)
    failed = {endpoint for result in measured.without_value if result.state == FAILED_STATE for endpoint in (result.source, result.target)}
    values: list[list[float | None]] = []
    states = []
    for device in devices:
        of_rail = [Endpoint(host, device) for host in hosts]
        values.append([statistics.median(found[one]) if one in found else None for one in of_rail])
        states.append(bytes(0 if one in found else png.FAILED if one in failed else png.NOT_MEASURED for one in of_rail))
    names = [f"NPU {device}" if isinstance(device, int) else str(device) for device in devices]
    return Map("rails", names, hosts, values, states, expected, unit)


def _leaves(measured: PairResults, unit: str, expected: Expected) -> Map | None:
    """Return the map of leaves by leaves: the median of the pairs between them."""
    leaves = measured.context.leaves
    names = sorted(set(leaves.values()), key=natural)
    if len(names) < 2:
        return None
    found: dict[tuple[str, str], list[float]] = {}
    failed = set()
    for result in [*measured.results, *measured.without_value]:
        source_leaf, target_leaf = leaves.get(result.source), leaves.get(result.target)
        if source_leaf is None or target_leaf is None:
            continue
        if result.state == OK and result.value is not None:
            found.setdefault((source_leaf, target_leaf), []).append(result.value)
        elif result.state == FAILED_STATE:
            failed.add((source_leaf, target_leaf))
    if not found:
        return None
    values: list[list[float | None]] = [[statistics.median(found[one, other]) if (one, other) in found else None for other in names] for one in names]
    states = [bytes(0 if (one, other) in found else png.FAILED if (one, other) in failed else png.NOT_MEASURED for other in names) for one in names]
    return Map("leaves", names, list(names), values, states, expected, unit)
