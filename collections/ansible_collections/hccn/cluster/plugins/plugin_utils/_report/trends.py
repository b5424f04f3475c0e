# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The trends of a run: the median of each group over earlier runs, with its baseline and limit."""

from __future__ import annotations

from dataclasses import dataclass

from .._history.baseline import LEAST_DROP_OF_END, Baseline, Regression
from .._history.cells import End
from .._history.query import Past
from .._history.summary import Group, Stand, Summary

SHOWN = 6
SHOWN_ENDS = 4


@dataclass(frozen=True)
class TrendPoint:
    """A run; ``value`` is None if all failed, ``least`` the lowest value, None if there is only one."""

    run_id: str
    started: str
    value: float | None
    least: float | None


@dataclass(frozen=True)
class Trend:
    """``points`` are oldest first, the last one is this run; ``end`` is empty for the trend of a whole group."""

    group: Group
    end: str
    points: list[TrendPoint]
    baseline: Baseline | None
    limit: float | None
    worse: bool


def build(past: Past | None) -> list[Trend]:
    """Return the trends of groups with earlier runs or a baseline, regressions and large groups first, then those of the worst ends."""
    if past is None:
        return []
    worse = {found.group for found in past.regressions if found.end is None}
    counts = {**dict.fromkeys(worse, 0), **{group: stand.count for group, stand in past.now.groups.items()}}
    groups = [group for group in counts if group in past.baselines or any(group in summary.groups for summary in past.earlier)]
    groups.sort(key=lambda group: (group not in worse, group.kind == "collective", -counts[group], -(group.size_bytes or 0), group.sort_key()))
    ends = [found for found in past.regressions if found.end is not None][:SHOWN_ENDS]
    return [_whole(past, group, group in worse) for group in groups[:SHOWN]] + [_end(past, found) for found in ends]


def _line(past: Past) -> list[Summary]:
    return [*reversed([summary for summary in past.earlier if summary.complete]), past.now]


def _whole(past: Past, group: Group, worse: bool) -> Trend:
    stands = [(summary, summary.groups[group]) for summary in _line(past) if group in summary.groups]
    known = past.baselines.get(group)
    points = [_point(summary, stand) for summary, stand in stands]
    if group not in past.now.groups:
        points.append(TrendPoint(past.now.run_id, past.now.started, None, None))
    return Trend(group, "", points, known, known.limit(group.unit) if known else None, worse)


def _point(summary: Summary, stand: Stand) -> TrendPoint:
    return TrendPoint(summary.run_id, summary.started, stand.median, stand.least if stand.count > 1 else None)


def _end(past: Past, found: Regression) -> Trend:
    end = found.end or End("", None)
    points = [TrendPoint(summary.run_id, summary.started, summary.groups[found.group].ends[end], None)
              for summary in _line(past) if found.group in summary.groups and end in summary.groups[found.group].ends]
    known = past.baselines[found.group]
    own = Baseline(found.before, known.spread, known.runs, pinned=known.pinned)
    return Trend(found.group, str(end), points, own, own.limit(found.group.unit, LEAST_DROP_OF_END), True)
