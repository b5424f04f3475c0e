# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Heatmaps of measurements: sender by receiver, rail by host, leaf by leaf. Rows and columns follow the topology.

The maps show the most frequent metric of the run. Colours show the share of the expected value on a fixed scale that breaks at the limit, independent of the
worst and best values of the run.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...module_utils._core.samples import GBIT, MICROSECONDS
from ...module_utils._core.words import natural
from .._history.baseline import LEAST_DROP_OF_ENDPOINT, SIGMAS
from .._history.pair_results import FAILED as FAILED_STATE
from .._history.pair_results import OK, Endpoint, Metric, PairResult, pair_results
from .._history.summary import RunContext
from . import png
from .fields import Record, unique
from .suspects import Suspects, by_endpoint

LOW, HIGH = 0.5, 1.05
"""Shares of the expected value at the ends of the scale; values beyond have the colour of the end."""
LIMIT = 0.95
"""The limit as a share of the expected value, if nothing else is known."""
LINE_RATE_LIMIT = 0.9
"""Share of the line rate below which the diagnosis calls a pair slow."""
LEAST_LIMIT, MOST_LIMIT = 0.55, 1.0
"""Bounds of the limit, so that both parts of the scale are visible."""
MOST_ENDPOINTS = 128
"""Up to this number of NPUs, a map across rails has a row per NPU; beyond, a row per host."""
MOST_ROWS = 1024
"""Up to this number of hosts or leaves, a map has a row for each; beyond, for groups of neighbours in the order of the map, so that a page stays small."""
NO_DEVICE = 255
HISTORY, LINE_RATE, MEDIAN = "history", "line_rate", "median"


@dataclass(frozen=True)
class Expected:
    """The value that counts as 100 %, and whether it is the baseline of the history, the line rate or the median of this run.

    ``limit``: the share of it below which a value is worse than the noise of this run explains.
    """

    value: float
    basis: str
    limit: float = LIMIT


@dataclass(frozen=True)
class Map:
    """``values[row][column]`` is in ``unit``, None if ``states[row][column]`` (png.DIAGONAL, FAILED, NOT_MEASURED, LOST) is not 0.

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


def level(part: float | None, limit: float = LIMIT) -> int:
    """Return the palette index of a share: the lower half of the palette for shares below the limit, the upper half for the others."""
    if part is None:
        return png.CLEAR
    half = png.SHADES // 2
    if part < limit:
        return round(max((part - LOW) / (limit - LOW), 0.0) * (half - 1))
    return half + round(min((part - limit) / (HIGH - limit), 1.0) * (half - 1))


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
        values = [result.value for result in self.results if result.value is not None]
        median = statistics.median(values) if values else 0.0
        spread = 1.4826 * statistics.median(abs(value - median) for value in values) / median if median else 0.0
        rate = self.line_rate if self.metric and self.metric.unit == GBIT else None
        value, basis = (normal, HISTORY) if normal else (rate, LINE_RATE) if rate else (median, MEDIAN)
        return Expected(value, basis, self._limit(value, normal or median, spread, rate))

    def _limit(self, expected: float, usual: float, spread: float, rate: float | None) -> float:
        """Return the limit as a share: the usual value less the noise of the run, at least LEAST_DROP_OF_ENDPOINT, and not below the floor of the line rate."""
        if not expected or not usual:
            return LIMIT
        drop = max(LEAST_DROP_OF_ENDPOINT, SIGMAS * spread)
        if self.metric and self.metric.unit == MICROSECONDS:
            found = expected / (usual * (1 + drop))
        else:
            found = max(usual * (1 - drop), LINE_RATE_LIMIT * (rate or 0.0)) / expected
        return min(max(found, LEAST_LIMIT), MOST_LIMIT)


@dataclass(frozen=True)
class Others:
    """What maps show beside the results: ``hosts`` of the run without results (rows of their own), and the ``suspects``."""

    hosts: frozenset[str] = frozenset()
    suspects: Suspects = field(default_factory=Suspects)


def build(measured: PairResults, normal: float | None, others: Others | None = None) -> Maps | None:
    """Return the maps of a run, None if it has no pair results. ``normal``: the baseline of the history."""
    if measured.metric is None:
        return None
    beside = others or Others()
    expected = measured.expected(normal)
    everything = [*measured.results, *measured.without_value]
    endpoints = {endpoint for result in everything for endpoint in (result.source, result.target)}
    unit = measured.metric.unit
    return Maps(measured.metric, expected, _pairs(measured, unit, everything, endpoints, expected, beside),
                _rails(measured, unit, endpoints, expected, beside.suspects), _leaves(measured, unit, expected))


def ordered(hosts: Iterable[str], context: RunContext) -> list[str]:
    """Return the hosts by leaf, then by name in natural order."""
    leaf: dict[str, str] = {}
    for endpoint in sorted(context.leaves, key=lambda one: str(one.device)):
        leaf.setdefault(endpoint.host, context.leaves[endpoint])
    return sorted(hosts, key=lambda host: (natural(leaf.get(host, "")), natural(host)))


def _pairs(measured: PairResults, unit: str, everything: list[PairResult], endpoints: set[Endpoint], expected: Expected, beside: Others) -> Map:
    """Return the map of senders by receivers: of hosts, with the worst NPU per cell, or of NPUs if the run crosses rails or has a single host."""
    names, place = _axis(measured.context, everything, endpoints, beside.hosts)
    size = len(names)
    values: list[list[float | None]] = [[None] * size for name in names]
    states = [bytearray([png.NOT_MEASURED]) * size for name in names]
    devices = [bytearray([NO_DEVICE]) * size for name in names] if size < len(endpoints) else None
    for number in [number for number, name in enumerate(names) if name in beside.suspects.lost]:
        states[number] = bytearray([png.LOST]) * size
        for line in states:
            line[number] = png.LOST
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
        if result.state == FAILED_STATE and result.source != result.target:
            values[row][column], states[row][column] = None, png.FAILED
            if devices is not None:
                devices[row][column] = _device(result)
    return Map("pairs", names, list(names), values, list(map(bytes, states)), expected, unit, list(map(bytes, devices)) if devices else None)


def _axis(context: RunContext, everything: list[PairResult], endpoints: set[Endpoint], others: Iterable[str] = ()) -> tuple[list[str], dict[Endpoint, int]]:
    """Return the names of rows and columns, and the index of each endpoint. ``others``: hosts without results, which get a row, too."""
    measured = ordered({endpoint.host for endpoint in endpoints}, context)
    crossing = any(result.source.device != result.target.device for result in everything)
    if len(measured) > 1 and not (crossing and len(endpoints) <= MOST_ENDPOINTS):
        groups = grouped(ordered({*measured, *others}, context))
        place = {host: number for number, hosts in enumerate(groups.values()) for host in hosts}
        return list(groups), {endpoint: place[endpoint.host] for endpoint in endpoints}
    rank = {host: number for number, host in enumerate(measured)}
    order = sorted(endpoints, key=lambda one: (rank[one.host], natural(str(one))))
    return [*map(str, order), *unique(set(others) - rank.keys())], {endpoint: number for number, endpoint in enumerate(order)}


def grouped(names: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the members of each row: one name, or, of more than MOST_ROWS names, a group of neighbours, called ``first to last``."""
    size = 1 if len(names) <= MOST_ROWS else math.ceil(len(names) / (MOST_ROWS // 2))
    groups = [names[start:start + size] for start in range(0, len(names), size)]
    return {group[0] if len(group) == 1 else f"{group[0]} to {group[-1]}": group for group in groups}


def _device(result: PairResult) -> int:
    device = result.source.device
    return device if isinstance(device, int) and 0 <= device < NO_DEVICE else NO_DEVICE


def _rails(measured: PairResults, unit: str, endpoints: set[Endpoint], expected: Expected, suspects: Suspects) -> Map | None:
    """Return the map of rails by hosts: the better median of each NPU, over its pairs with partners that are no suspects; of a group of hosts the worst one."""
    devices = sorted({endpoint.device for endpoint in endpoints if endpoint.device is not None}, key=lambda device: natural(str(device)))
    hosts = ordered({endpoint.host for endpoint in endpoints}, measured.context)
    if len(devices) < 2 or len(hosts) < 2:
        return None
    found = {end: typical([result.value for result in results if result.value is not None], unit)
             for end, results in by_endpoint(measured.results, suspects).items()}
    failed = {end for result in measured.without_value if result.state == FAILED_STATE
              for end, other in ((result.source, result.target), (result.target, result.source)) if end in suspects or other not in suspects}
    groups = grouped(hosts)
    worst = max if unit == MICROSECONDS else min
    values: list[list[float | None]] = []
    states = []
    for device in devices:
        ends = [[Endpoint(host, device) for host in of_group] for of_group in groups.values()]
        known = [[found[one] for one in of_group if one in found] for of_group in ends]
        values.append([worst(some) if some else None for some in known])
        states.append(bytes(0 if some else png.FAILED if not failed.isdisjoint(of_group) else png.NOT_MEASURED for some, of_group in zip(known, ends)))
    names = [f"NPU {device}" if isinstance(device, int) else str(device) for device in devices]
    return Map("rails", names, list(groups), values, states, expected, unit)


def typical(values: list[float], unit: str) -> float:
    """Return the better median: of two values the better one, since the partner may be the reason for the worse one."""
    return statistics.median_low(values) if unit == MICROSECONDS else statistics.median_high(values)


def _leaves(measured: PairResults, unit: str, expected: Expected) -> Map | None:
    """Return the map of leaves by leaves: the median of the pairs between them."""
    all_names = sorted(set(measured.context.leaves.values()), key=natural)
    if len(all_names) < 2:
        return None
    groups = grouped(all_names)
    names, row_of = list(groups), {leaf: row for row, leaves_of in groups.items() for leaf in leaves_of}
    leaves = {endpoint: row_of[leaf] for endpoint, leaf in measured.context.leaves.items()}
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
