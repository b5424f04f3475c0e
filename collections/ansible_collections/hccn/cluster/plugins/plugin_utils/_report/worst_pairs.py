# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The worst pairs of a run, and the medians of both endpoints with other peers as evidence which endpoint is at fault."""

from __future__ import annotations

import heapq
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from .._history.pair_results import FAILED, Endpoint, Metric, PairResult
from .heatmaps import Expected, PairResults, share, typical
from .suspects import Suspects, by_endpoint

WORST = 10
MOST_PER_HOST = 3
"""Pairs of one host that are listed before those of other hosts, since a failed NPU is bad with every peer."""
CANDIDATES = 1000
"""Number of slowest pairs from which the listed ones are selected."""


@dataclass(frozen=True)
class WorstPair:
    """One direction of a pair; ``value`` and ``share`` (of the expected value) are None if it failed, for the reason in ``message``.

    ``source_median``, ``target_median``: the median of each endpoint with other peers, as sender and receiver, None without any. ``reverse``: the value of the
    other direction.
    """

    source: str
    target: str
    value: float | None
    share: float | None
    unit: str
    metric: Metric
    message: str
    source_median: float | None
    target_median: float | None
    reverse: float | None


@dataclass(frozen=True)
class EndMedian:
    """The medians of an NPU as sender and as receiver, with partners that are no suspects; ``share`` is that of the lower one."""

    end: Endpoint
    sent: float | None
    received: float | None
    share: float


def pairs(measured: PairResults, expected: Expected, count: int = WORST) -> list[WorstPair]:
    """Return the worst pairs: failed ones first, then those with the lowest share of the expected value."""
    worst = _selected(measured, expected, count)
    found: dict[Endpoint, list[PairResult]] = {end: [] for result in worst for end in (result.source, result.target)}
    reverse: dict[tuple[Endpoint, Endpoint], float | None] = {(result.target, result.source): None for result in worst}
    for result in measured.results:
        for end in (result.source, result.target):
            if end in found:
                found[end].append(result)
        if (result.source, result.target) in reverse:
            reverse[result.source, result.target] = result.value
    return [_pair(result, found, reverse[result.target, result.source], expected) for result in worst]


def _selected(measured: PairResults, expected: Expected, count: int) -> list[PairResult]:
    """Return the worst results, failed before slow. Limit those of each host, so that many failures of one host do not hide a slow link."""
    failed = [result for result in measured.without_value if result.state == FAILED][:CANDIDATES * 10]
    slowest = heapq.nsmallest(CANDIDATES, measured.results, key=lambda result: _share(result, expected))
    candidates = [*failed, *slowest]
    seen: Counter[str] = Counter()
    taken: list[int] = []
    for most in (MOST_PER_HOST, len(candidates)):
        for number, result in enumerate(candidates):
            hosts = {result.source.host, result.target.host}
            if len(taken) < count and number not in taken and max(seen[host] for host in hosts) < most:
                taken.append(number)
                seen.update(hosts)
    return [candidates[number] for number in sorted(taken)]


def _pair(result: PairResult, found: dict[Endpoint, list[PairResult]], reverse: float | None, expected: Expected) -> WorstPair:
    part = None if result.value is None else share(result.value, expected, result.metric.unit)
    ends = {result.source, result.target}
    medians = [_median(one for one in found[end] if {one.source, one.target} != ends) for end in (result.source, result.target)]
    return WorstPair(str(result.source), str(result.target), result.value, part, result.metric.unit, result.metric, result.message, medians[0], medians[1],
                     reverse)


def _median(found: Iterable[PairResult]) -> float | None:
    values = [result.value for result in found if result.value is not None]
    return statistics.median(values) if values else None


def _share(result: PairResult, expected: Expected) -> float:
    return share(result.value, expected, result.metric.unit) if result.value is not None else 0.0


def ends(measured: PairResults, expected: Expected, suspects: Suspects, count: int = WORST) -> list[EndMedian]:
    """Return the NPUs with the lowest medians as sender or as receiver."""
    unit = measured.metric.unit if measured.metric else ""
    found = []
    for end, results in by_endpoint(measured.results, suspects).items():
        roles = [[one.value for one in results if one.value is not None and end == (one.source if sends else one.target)] for sends in (True, False)]
        medians = [typical(values, unit) if values else None for values in roles]
        found.append(EndMedian(end, medians[0], medians[1], min(share(value, expected, unit) for value in medians if value is not None)))
    return heapq.nsmallest(count, found, key=lambda one: one.share)
