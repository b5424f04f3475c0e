# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Queries of a history: its newest runs, trends, comparisons and regressions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...module_utils._core.numbers import is_count
from . import baseline as baselines
from . import pinned, reader, runs, series
from .baseline import Baseline, Regression
from .cells import End
from .format import HistoryError
from .reader import Run, RunFile
from .summary import Group, Summary, summarise


OPENED = 40
"""Files that are examined per requested run, so that nightly checks are found among hourly readings of devices."""


@dataclass(frozen=True)
class Known:
    """What is remembered of a run that was read."""

    file: RunFile
    about: dict[str, Any]
    summary: Summary


@dataclass
class Past:
    """A run and the runs before it: summaries newest first, the baselines it is compared with, and its regressions."""

    now: Summary
    earlier: list[Summary]
    baselines: dict[Group, Baseline]
    regressions: list[Regression]


class History:
    """A folder of runs.

    ``limit``: the number of runs that are listed, and of comparable runs that are considered. ``unreadable``: messages about files that were skipped.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.unreadable: list[str] = []
        self._known: dict[str, Known | None] = {}

    def newest(self) -> Iterator[Known]:
        """Yield the newest runs that are not empty, at most ``limit``."""
        return itertools.islice(filter(None, map(self._read, reader.runs(self.folder))), self.limit)

    def _read(self, entry: RunFile, marks: Sequence[Sequence[bytes]] = ((),)) -> Known | None:
        """Return what a run contains, None if it is empty, unreadable or contains none of the ``marks``."""
        name = entry.path.name
        if name not in self._known:
            try:
                run = reader.read_if(entry, lambda content: any(all(mark in content for mark in some) for some in marks))
            except HistoryError as error:
                self._note_unreadable(error)
                self._known[name] = None
                return None
            if run is None:
                return None
            self._known[name] = None if run.empty else Known(run.file, runs.about(run), summarise(run))
        return self._known[name]

    def _alike(self, run: Run, now: Summary) -> Iterator[Summary]:
        """Yield the runs before ``run`` that can be compared with it, newest first, at most ``limit``."""
        older = (entry for entry in reader.runs(self.folder) if entry.order < run.file.order)
        marks = now.marks()
        examined = (self._read(entry, marks) for entry in itertools.islice(older, self.limit * OPENED))
        return itertools.islice((known.summary for known in examined if known and now.is_like(known.summary)), self.limit)

    def _note_unreadable(self, error: HistoryError) -> None:
        if error.message not in self.unreadable:
            self.unreadable.append(error.message)

    def past(self, run: Run, pin: Path | None) -> Past:
        """Compare ``run`` with the runs before it, or with a pinned baseline. Raise HistoryError."""
        now = summarise(run)
        earlier = list(self._alike(run, now))
        held_to = pinned.load(pin) if pin else baselines.normals(earlier)
        return Past(now, earlier, held_to, baselines.judge(now, earlier, held_to))

    def trends(self, wanted: list[series.Wanted]) -> list[dict[str, Any]]:
        """Return the requested series, one entry per series and group."""
        entries = itertools.islice(reader.runs(self.folder), self.limit * OPENED)
        return [shown for found in series.trends(entries, wanted, self.limit, self._note_unreadable) for shown in _shown(found)]

    def summary(self, run_id: str) -> Summary:
        """Return the summary of a run. Raise HistoryError."""
        return summarise(reader.read(reader.find(self.folder, run_id)))


def _shown(found: series.Series) -> Iterator[dict[str, Any]]:
    wanted = found.wanted
    name: dict[str, Any] = {"of": wanted.kind, **_ends(wanted)}
    for group, points in sorted(found.points.items(), key=lambda item: item[0].sort_key()):
        values = [point.value for point in points[:-1] if point.value is not None]
        entry = {**name, **baselines.as_fields(group), "points": [
            {"run_id": point.run_id, "started_at": point.started, "value": point.value, "count": point.count, "failed": point.failed} for point in points]}
        yield {**entry, **_normal(values, group)}


def _normal(values: Sequence[float], group: Group) -> dict[str, Any]:
    if len(values) < baselines.LEAST_RUNS:
        return {}
    middle, spread = baselines.robust(values[-baselines.WINDOW:])
    limit = Baseline(middle, spread, len(values)).limit(group.unit, baselines.LEAST_DROP_OF_END)
    return {"baseline": {"median": middle, "spread": spread, "limit": limit, "runs": min(len(values), baselines.WINDOW)}}


def _ends(wanted: series.Wanted) -> dict[str, Any]:
    return {key: end._asdict() for key, end in (("source", wanted.source), ("target", wanted.target)) if end}


def wishes(endpoints: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[str, Any]], collectives: Sequence[Mapping[str, Any]]) -> list[series.Wanted]:
    """Return the series that the options of history_info request."""
    found = [series.Wanted("endpoint", _end(one["host"], one.get("device")), **_more(one)) for one in endpoints]
    found += [series.Wanted("pair", _end(one["source"], one.get("source_device")), _end(one["target"], one.get("target_device")), **_more(one))
              for one in pairs]
    return found + [series.Wanted("collective", **_more(one)) for one in collectives]


def _end(host: str, device: str | None) -> End:
    return End(host, int(device) if device is not None and is_count(device) else device)


def _more(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"operation": one.get("operation") or "", "size_bytes": one.get("size_bytes")}


def verdicts(past: Past) -> list[dict[str, Any]]:
    """Return for each group of the run its values, its baseline and ``ok``, ``regression`` or ``no_baseline``. Values of failed groups are None."""
    worse = {found.group for found in past.regressions}
    lost = baselines.lost(past.now, past.baselines)
    found = []
    for group in sorted({*past.now.groups, *lost}, key=Group.sort_key):
        stand, known = past.now.groups.get(group), past.baselines.get(group)
        values = ({"now": stand.median, "least": stand.least, "greatest": stand.greatest, "count": stand.count, "failed": stand.failed} if stand
                  else {"now": None, "least": None, "greatest": None, "count": 0, "failed": lost[group]})
        entry = {**baselines.as_fields(group), **values, "state": "no_baseline" if known is None else "regression" if group in worse else "ok"}
        if known:
            entry["baseline"] = {"median": known.median, "spread": known.spread, "limit": known.limit(group.unit), "runs": known.runs,
                                 "pinned": known.pinned}
        found.append(entry)
    return found
