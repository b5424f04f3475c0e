# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The trends of a run: the median of each group over earlier runs, with its baseline and limit."""

from __future__ import annotations

from dataclasses import dataclass

from ...module_utils._core.samples import MICROSECONDS
from .._history.baseline import LEAST_DROP_OF_ENDPOINT, Baseline, Regression
from .._history.pair_results import Endpoint
from .._history.query import BaselineComparison
from .._history.summary import Group, GroupStatistics, Summary

SHOWN = 6
SHOWN_ENDPOINTS = 4


@dataclass(frozen=True)
class TrendPoint:
    """A run; ``value`` is None if all failed, ``least`` the lowest value, None if there is only one."""

    run_id: str
    started: str
    value: float | None
    least: float | None


@dataclass(frozen=True)
class Trend:
    """``points`` are oldest first, the last one is this run. ``endpoint`` is empty for the trend of a whole group."""

    group: Group
    endpoint: str
    points: list[TrendPoint]
    baseline: Baseline | None
    limit: float | None
    worse: bool


def build(comparison: BaselineComparison | None) -> list[Trend]:
    """Return the trends of groups with earlier runs or a baseline, regressions and large groups first, then the trends of the worst endpoints."""
    if comparison is None:
        return []
    worse = {found.group for found in comparison.regressions if found.endpoint is None}
    counts = {**dict.fromkeys(worse, 0), **{group: measured.count for group, measured in comparison.current.groups.items()}}
    groups = [group for group in counts if group in comparison.baselines or any(group in summary.groups for summary in comparison.earlier)]
    groups.sort(key=lambda group: (group not in worse, group.kind == "collective", -counts[group], -(group.size_bytes or 0), group.sort_key()))
    endpoints = [found for found in comparison.regressions if found.endpoint is not None][:SHOWN_ENDPOINTS]
    return [_of_group(comparison, group, group in worse) for group in groups[:SHOWN]] + [_of_endpoint(comparison, found) for found in endpoints]


def of_endpoints(comparison: BaselineComparison | None, ends: list[Endpoint], most: int) -> list[Trend]:
    """Return the trends of NPUs that earlier runs measured, too, in the group with the most values."""
    found: list[Trend] = []
    for end in ends if comparison else ():
        groups = [(measured.count, group) for group, measured in comparison.current.groups.items() if end in measured.endpoints] if comparison else []
        if len(found) < most and comparison and groups:
            one = _of_end(comparison, max(groups, key=lambda pair: pair[0])[1], end)
            found += [one] if len(one.points) > 1 else []
    return found


def _of_end(comparison: BaselineComparison, group: Group, end: Endpoint) -> Trend:
    points = [TrendPoint(summary.run_id, summary.started, summary.groups[group].endpoints[end], None)
              for summary in _runs(comparison) if group in summary.groups and end in summary.groups[group].endpoints]
    known = comparison.baselines.get(group)
    own = Baseline(known.endpoints[end], known.spread, known.runs, pinned=known.pinned) if known and end in known.endpoints else None
    limit = own.limit(group.unit, LEAST_DROP_OF_ENDPOINT) if own else None
    now = points[-1].value if points else None
    return Trend(group, str(end), points, own, limit, limit is not None and now is not None and (now > limit if group.unit == MICROSECONDS else now < limit))


def _runs(comparison: BaselineComparison) -> list[Summary]:
    return [*reversed([summary for summary in comparison.earlier if summary.complete]), comparison.current]


def _of_group(comparison: BaselineComparison, group: Group, worse: bool) -> Trend:
    measured = [(summary, summary.groups[group]) for summary in _runs(comparison) if group in summary.groups]
    known = comparison.baselines.get(group)
    points = [_point(summary, statistics) for summary, statistics in measured]
    if group not in comparison.current.groups:
        points.append(TrendPoint(comparison.current.run_id, comparison.current.started, None, None))
    return Trend(group, "", points, known, known.limit(group.unit) if known else None, worse)


def _point(summary: Summary, statistics: GroupStatistics) -> TrendPoint:
    return TrendPoint(summary.run_id, summary.started, statistics.median, statistics.least if statistics.count > 1 else None)


def _of_endpoint(comparison: BaselineComparison, found: Regression) -> Trend:
    endpoint = found.endpoint or Endpoint("", None)
    points = [TrendPoint(summary.run_id, summary.started, summary.groups[found.group].endpoints[endpoint], None)
              for summary in _runs(comparison) if found.group in summary.groups and endpoint in summary.groups[found.group].endpoints]
    known = comparison.baselines[found.group]
    own = Baseline(found.before, known.spread, known.runs, pinned=known.pinned)
    return Trend(found.group, str(endpoint), points, own, own.limit(found.group.unit, LEAST_DROP_OF_ENDPOINT), True)
