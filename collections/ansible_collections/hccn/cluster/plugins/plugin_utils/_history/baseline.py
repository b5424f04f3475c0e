# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Compute the baselines of earlier runs, and find the regressions of a run: a step (only this run is worse) or a drift (a gradual decline).

A baseline is the median of the medians of earlier runs, with 1.4826 times their median absolute deviation as its spread, so that a single bad run affects
neither. Drift is detected by CUSUM over the later half of the runs against the earlier half.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from ...module_utils._core.samples import MICROSECONDS
from .pair_results import Endpoint
from .summary import Group, GroupStatistics, Summary

WINDOW = 30
"""The number of newest runs that a baseline is computed from."""
LEAST_RUNS = 5
LEAST_SPREAD = 0.005
"""The smallest spread, as a share of the median, since runs on the same day vary too little."""
SIGMAS = 5.0
LEAST_DROP, LEAST_DROP_OF_ENDPOINT = 0.03, 0.05
SLACK, DRIFT, MOST_PER_RUN = 0.5, 8.0, 2.0
"""CUSUM's k and h in spreads, and the maximum that one run adds, so that a single bad run is not a drift. Fewer than 1 % of stable series of 30 runs raise
an alarm, and 85 % of those that gradually lose three spreads."""

LEVEL, DRIFTING, LOST = "level", "drift", "failed"


@dataclass
class Baseline:
    """The normal value of a group, its spread (one sigma), the number of runs it was computed from, and the normal value of each endpoint."""

    median: float
    spread: float
    runs: int
    endpoints: dict[Endpoint, float] = field(default_factory=dict)
    pinned: bool = False

    def limit(self, unit: str, least_drop: float = LEAST_DROP) -> float:
        """Return the limit beyond which a value is worse than normal."""
        distance = max(SIGMAS * self.spread, least_drop * self.median)
        return self.median + distance if unit == MICROSECONDS else self.median - distance


@dataclass(frozen=True)
class Regression:
    """A group, or one ``endpoint`` of it, that is worse than before. ``now`` is None if all of its measurements failed."""

    group: Group
    endpoint: Endpoint | None
    reason: str
    before: float
    now: float | None
    limit: float
    runs: int

    @property
    def drop_percent(self) -> float:
        """Return how much worse the value is in percent (positive for a lower bandwidth or a higher latency); 100 if there is no value."""
        if self.now is None:
            return 100.0
        change = self.now / self.before - 1 if self.before else 0.0
        return round(100 * (change if self.group.unit == MICROSECONDS else -change), 1)

    def as_dict(self) -> dict[str, Any]:
        found = {**as_fields(self.group), "reason": self.reason, "before": rounded(self.before), "now": None if self.now is None else rounded(self.now),
                 "limit": rounded(self.limit), "drop_percent": self.drop_percent, "runs": self.runs, "message": self.sentence()}
        return {**found, "host": self.endpoint.host, "device": self.endpoint.device} if self.endpoint else found

    def sentence(self) -> str:
        subject = str(self.endpoint) if self.endpoint else "the fabric" if self.group.kind != "collective" else "the collective"
        if self.now is None:
            return (f"{subject} has no value because every measurement failed: normal is {self.before:.4g} {self.group.unit} over {self.runs} runs "
                    f"({describe(self.group)})")
        relation = "is worse than" if self.reason == LEVEL else "has drifted from"
        return (f"{subject} {relation} its baseline: {self.now:.4g} {self.group.unit}, normal is {self.before:.4g} over {self.runs} runs "
                f"({self.drop_percent:.1f} % worse; {describe(self.group)})")


def describe(group: Group) -> str:
    """Return the description of a group: ``rdma write bandwidth at 65536 bytes, same rail``."""
    size = f"at {group.size_bytes} bytes" if group.size_bytes is not None else ""
    return ", ".join(filter(None, (" ".join(filter(None, (group.kind, group.operation, group.measure, size))), group.pair_class, group.product)))


def as_fields(group: Group) -> dict[str, Any]:
    """Return the fields of the group that are set."""
    return {key: value for key, value in group._asdict().items() if value not in ("", None)}


def compute_baselines(summaries: Iterable[Summary], window: int = WINDOW) -> dict[Group, Baseline]:
    """Return the baseline of every group that at least LEAST_RUNS complete runs contain. ``summaries``: newest first; ``window``: maximum number of runs."""
    found: dict[Group, list[GroupStatistics]] = {}
    for summary in summaries:
        for group, measured in summary.groups.items() if summary.complete else ():
            of_group = found.setdefault(group, [])
            if len(of_group) < window:
                of_group.append(measured)
    return {group: _baseline(of_runs) for group, of_runs in found.items() if len(of_runs) >= LEAST_RUNS}


def _baseline(of_runs: Sequence[GroupStatistics]) -> Baseline:
    median, spread = median_and_spread([one.median for one in of_runs])
    by_endpoint: dict[Endpoint, list[float]] = {}
    for one in of_runs:
        for endpoint, value in one.endpoints.items():
            by_endpoint.setdefault(endpoint, []).append(value)
    endpoints = {endpoint: statistics.median(values) for endpoint, values in by_endpoint.items() if len(values) >= LEAST_RUNS}
    return Baseline(median, spread, len(of_runs), endpoints)


def median_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the median and the spread (one sigma), which is at least LEAST_SPREAD of the median."""
    median = statistics.median(values)
    return median, max(1.4826 * statistics.median(abs(value - median) for value in values), LEAST_SPREAD * abs(median))


def find_regressions(current: Summary, earlier: Sequence[Summary], baselines: Mapping[Group, Baseline]) -> list[Regression]:
    """Return the regressions of ``current``, groups before endpoints, the worst first. ``earlier``: newest first, to detect drift."""
    found = [Regression(group, None, LOST, baselines[group].median, None, baselines[group].limit(group.unit), baselines[group].runs)
             for group in lost_groups(current, baselines) if group in baselines]
    for group, measured in current.groups.items():
        known = baselines.get(group)
        if known is None:
            continue
        whole = _of_group(group, measured, known, earlier)
        found += [whole] if whole else []
        found += _of_endpoints(group, measured, known, whole)
    return sorted(found, key=lambda one: (one.endpoint is not None, -one.drop_percent, one.group.sort_key(), str(one.endpoint)))


def lost_groups(current: Summary, baselines: Mapping[Group, Baseline]) -> dict[Group, int]:
    """Return the number of failures of groups without any value, by the groups with a baseline to which they may belong, else by the group without a size."""
    found: dict[Group, int] = {}
    for unsized, count in current.lost.items():
        for group in list(filter(unsized.may_belong_to, baselines)) or [unsized]:
            found[group] = found.get(group, 0) + count
    return found


def _of_group(group: Group, measured: GroupStatistics, known: Baseline, earlier: Sequence[Summary]) -> Regression | None:
    if _worse(measured.median, known.limit(group.unit), group.unit):
        return Regression(group, None, LEVEL, known.median, measured.median, known.limit(group.unit), known.runs)
    series = [summary.groups[group].median for summary in reversed(earlier) if summary.complete and group in summary.groups][-WINDOW:]
    start = drift([*series, measured.median], group.unit)
    return Regression(group, None, DRIFTING, start, measured.median, known.limit(group.unit), known.runs) if start is not None else None


def _of_endpoints(group: Group, measured: GroupStatistics, known: Baseline, whole: Regression | None) -> list[Regression]:
    """Return the endpoints that lost more than the group as a whole, so that a fabric that is slower everywhere is one regression."""
    share = measured.median / known.median if whole and known.median else 1.0
    found = []
    for endpoint, before in known.endpoints.items():
        value = measured.endpoints.get(endpoint)
        if value is None or not before:
            continue
        limit = Baseline(before * share, known.spread, known.runs).limit(group.unit, LEAST_DROP_OF_ENDPOINT)
        if _worse(value, limit, group.unit):
            found.append(Regression(group, endpoint, LEVEL, before, value, limit, known.runs))
    return found


def _worse(value: float, limit: float, unit: str) -> bool:
    return value > limit if unit == MICROSECONDS else value < limit


def drift(series: Sequence[float], unit: str) -> float | None:
    """Return the median of the earlier half if the later half has drifted for the worse, else None. ``series``: oldest first."""
    half = len(series) // 2
    if half < LEAST_RUNS:
        return None
    median, spread = median_and_spread(series[:half])
    # The spread of few runs is unreliable. The differences between successive runs are a second estimate, which a drift does not affect.
    steps = [abs(after - before) for before, after in zip(series, series[1:])]
    spread = max(spread, 1.4826 * statistics.median(steps) / sqrt(2) * 0.9)
    sign = 1 if unit == MICROSECONDS else -1
    total = 0.0
    for value in series[half:]:
        total = max(0.0, total + min(MOST_PER_RUN, sign * (value - median) / spread) - SLACK)
    return median if total > DRIFT else None


def rounded(value: float) -> float:
    """Return a value with five significant digits, as results and files have it."""
    return float(f"{value:.5g}")
