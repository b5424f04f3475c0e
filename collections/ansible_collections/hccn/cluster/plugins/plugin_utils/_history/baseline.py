# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Baselines of earlier runs, and the regressions of a run against them: a step (this run alone) or a drift (a little in every run).

A baseline is the median of the medians of earlier runs, with 1.4826 times their median absolute deviation as its spread, so that a single bad run changes
neither. Drift is detected by CUSUM over the later half of the runs against the earlier half.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from ...module_utils._core.samples import MICROSECONDS
from .cells import End
from .summary import Group, Stand, Summary

WINDOW = 30
"""The number of newest runs that a baseline is computed from."""
LEAST_RUNS = 5
LEAST_SPREAD = 0.005
"""The smallest spread, as a share of the median, since runs on the same day vary too little."""
SIGMAS = 5.0
LEAST_DROP, LEAST_DROP_OF_END = 0.03, 0.05
SLACK, DRIFT, MOST_OF_ONE = 0.5, 8.0, 2.0
"""CUSUM's k and h in spreads, and the most that one run may add, so that a single bad run is no drift. Less than 1 % of stable series of 30 runs raise an
alarm, and 85 % of those that gradually lose three spreads."""

LEVEL, DRIFTING, LOST = "level", "drift", "failed"


@dataclass
class Baseline:
    """The normal value of a group, its spread (one sigma), the number of runs it is computed from, and the normal value of each end."""

    median: float
    spread: float
    runs: int
    ends: dict[End, float] = field(default_factory=dict)
    pinned: bool = False

    def limit(self, unit: str, least_drop: float = LEAST_DROP) -> float:
        """Return the limit beyond which a value is worse than normal."""
        away = max(SIGMAS * self.spread, least_drop * self.median)
        return self.median + away if unit == MICROSECONDS else self.median - away


@dataclass(frozen=True)
class Regression:
    """A group or, with ``end``, one end of it that is worse than before; ``now`` is None if all of its measurements failed."""

    group: Group
    end: End | None
    reason: str
    before: float
    now: float | None
    limit: float
    runs: int

    @property
    def drop_percent(self) -> float:
        """Return how much worse the value is, for bandwidth and latency alike; 100 if there is no value."""
        if self.now is None:
            return 100.0
        change = self.now / self.before - 1 if self.before else 0.0
        return round(100 * (change if self.group.unit == MICROSECONDS else -change), 1)

    def as_dict(self) -> dict[str, Any]:
        found = {**as_fields(self.group), "reason": self.reason, "before": rounded(self.before), "now": None if self.now is None else rounded(self.now),
                 "limit": rounded(self.limit), "drop_percent": self.drop_percent, "runs": self.runs, "message": self.sentence()}
        return {**found, "host": self.end.host, "device": self.end.device} if self.end else found

    def sentence(self) -> str:
        where = str(self.end) if self.end else "the fabric" if self.group.kind != "collective" else "the collective"
        if self.now is None:
            return (f"{where} has no value because every measurement failed: normal is {self.before:.4g} {self.group.unit} over {self.runs} runs "
                    f"({named(self.group)})")
        how = "is worse than" if self.reason == LEVEL else "has drifted from"
        return (f"{where} {how} its baseline: {self.now:.4g} {self.group.unit}, normal is {self.before:.4g} over {self.runs} runs "
                f"({self.drop_percent:.1f} % worse; {named(self.group)})")


def named(group: Group) -> str:
    """Return the description of a group: ``rdma write bandwidth at 65536 bytes, same rail``."""
    size = f"at {group.size_bytes} bytes" if group.size_bytes is not None else ""
    return ", ".join(filter(None, (" ".join(filter(None, (group.kind, group.operation, group.measure, size))), group.pair_class, group.product)))


def as_fields(group: Group) -> dict[str, Any]:
    """Return the group as keys of a result."""
    return {key: value for key, value in group._asdict().items() if value not in ("", None)}


def normals(summaries: Iterable[Summary], window: int = WINDOW) -> dict[Group, Baseline]:
    """Return the baseline of every group that enough complete runs contain. ``summaries``: newest first."""
    found: dict[Group, list[Stand]] = {}
    for summary in summaries:
        for group, stand in summary.groups.items() if summary.complete else ():
            mine = found.setdefault(group, [])
            if len(mine) < window:
                mine.append(stand)
    return {group: _baseline(stands) for group, stands in found.items() if len(stands) >= LEAST_RUNS}


def _baseline(stands: Sequence[Stand]) -> Baseline:
    middle, spread = robust([stand.median for stand in stands])
    by_end: dict[End, list[float]] = {}
    for stand in stands:
        for end, value in stand.ends.items():
            by_end.setdefault(end, []).append(value)
    ends = {end: statistics.median(values) for end, values in by_end.items() if len(values) >= LEAST_RUNS}
    return Baseline(middle, spread, len(stands), ends)


def robust(values: Sequence[float]) -> tuple[float, float]:
    """Return the median and the spread (one sigma), which is at least LEAST_SPREAD of the median."""
    middle = statistics.median(values)
    return middle, max(1.4826 * statistics.median(abs(value - middle) for value in values), LEAST_SPREAD * abs(middle))


def judge(now: Summary, earlier: Sequence[Summary], baselines: Mapping[Group, Baseline]) -> list[Regression]:
    """Return the regressions of ``now``, groups before ends, the worst first. ``earlier``: newest first, to detect drift."""
    found = [Regression(group, None, LOST, baselines[group].median, None, baselines[group].limit(group.unit), baselines[group].runs)
             for group in lost(now, baselines) if group in baselines]
    for group, stand in now.groups.items():
        known = baselines.get(group)
        if known is None:
            continue
        whole = _whole(group, stand, known, earlier)
        found += [whole] if whole else []
        found += _ends(group, stand, known, whole)
    return sorted(found, key=lambda one: (one.end is not None, -one.drop_percent, one.group.sort_key(), str(one.end)))


def lost(now: Summary, baselines: Mapping[Group, Baseline]) -> dict[Group, int]:
    """Count the failures of groups without any value, by the groups with a baseline that they may belong to, else without a size."""
    found: dict[Group, int] = {}
    for like, count in now.lost.items():
        for group in list(filter(like.may_be, baselines)) or [like]:
            found[group] = found.get(group, 0) + count
    return found


def _whole(group: Group, stand: Stand, known: Baseline, earlier: Sequence[Summary]) -> Regression | None:
    if _worse(stand.median, known.limit(group.unit), group.unit):
        return Regression(group, None, LEVEL, known.median, stand.median, known.limit(group.unit), known.runs)
    series = [summary.groups[group].median for summary in reversed(earlier) if summary.complete and group in summary.groups][-WINDOW:]
    start = drift([*series, stand.median], group.unit)
    return Regression(group, None, DRIFTING, start, stand.median, known.limit(group.unit), known.runs) if start is not None else None


def _ends(group: Group, stand: Stand, known: Baseline, whole: Regression | None) -> list[Regression]:
    """Return the ends that lost more than the group as a whole, so that a fabric that is slower everywhere is one regression."""
    share = stand.median / known.median if whole and known.median else 1.0
    found = []
    for end, before in known.ends.items():
        value = stand.ends.get(end)
        if value is None or not before:
            continue
        limit = Baseline(before * share, known.spread, known.runs).limit(group.unit, LEAST_DROP_OF_END)
        if _worse(value, limit, group.unit):
            found.append(Regression(group, end, LEVEL, before, value, limit, known.runs))
    return found


def _worse(value: float, limit: float, unit: str) -> bool:
    return value > limit if unit == MICROSECONDS else value < limit


def drift(series: Sequence[float], unit: str) -> float | None:
    """Return the normal value of the earlier half if the later half has drifted to the worse, else None. ``series``: oldest first."""
    half = len(series) // 2
    if half < LEAST_RUNS:
        return None
    middle, spread = robust(series[:half])
    # The spread of few runs is unreliable. The differences of neighbours are a second estimate, which a drift does not affect.
    steps = [abs(after - before) for before, after in zip(series, series[1:])]
    spread = max(spread, 1.4826 * statistics.median(steps) / sqrt(2) * 0.9)
    sign = 1 if unit == MICROSECONDS else -1
    total = 0.0
    for value in series[half:]:
        total = max(0.0, total + min(MOST_OF_ONE, sign * (value - middle) / spread) - SLACK)
    return middle if total > DRIFT else None


def rounded(value: float) -> float:
    """Return a value with the digits that results and files have."""
    return float(f"{value:.5g}")
