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
from .compare import Comparison, snapshot
from .compare import compare as compare_runs
from .pair_results import Endpoint
from .format import HistoryError
from .reader import Run, RunFile
from .summary import Group, Summary, summarise

NEWEST, LAST_GOOD = "newest", "last_good"
"""Words for runs to compare."""
EXAMINED_PER_RUN = 40
"""Files that are examined per requested run, so that nightly checks are found among hourly device readings."""


@dataclass(frozen=True)
class KnownRun:
    """The overview and the summary of a run that was read."""

    file: RunFile
    overview: dict[str, Any]
    summary: Summary


@dataclass
class BaselineComparison:
    """A run compared with baselines: its summary, the summaries of earlier runs (newest first), the baselines and the regressions."""

    current: Summary
    earlier: list[Summary]
    baselines: dict[Group, Baseline]
    regressions: list[Regression]


class History:
    """A folder of runs.

    ``limit``: maximum number of listed runs and of comparable runs. ``unreadable``: messages about files that were skipped.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.unreadable: list[str] = []
        self._known: dict[str, KnownRun | None] = {}

    def newest(self) -> Iterator[KnownRun]:
        """Yield the newest runs that are not empty, at most ``limit``."""
        return itertools.islice(filter(None, map(self._read, reader.runs(self.folder))), self.limit)

    def _read(self, entry: RunFile, search_terms: Sequence[Sequence[bytes]] = ((),)) -> KnownRun | None:
        """Return a run. None if it is empty or unreadable, or if it contains no element of ``search_terms`` completely."""
        name = entry.path.name
        if name not in self._known:
            try:
                run = reader.read_if(entry, lambda content: any(all(term in content for term in terms) for terms in search_terms))
            except HistoryError as error:
                self._note_unreadable(error)
                self._known[name] = None
                return None
            if run is None:
                return None
            self._known[name] = None if run.empty else KnownRun(run.file, runs.overview(run), summarise(run))
        return self._known[name]

    def _comparable(self, run: Run, current: Summary) -> Iterator[Summary]:
        """Yield the summaries of earlier runs that are comparable with ``run``, newest first, at most ``limit``."""
        older = (entry for entry in reader.runs(self.folder) if entry.order < run.file.order)
        search_terms = current.search_terms()
        examined = (self._read(entry, search_terms) for entry in itertools.islice(older, self.limit * EXAMINED_PER_RUN))
        return itertools.islice((known.summary for known in examined if known and current.is_comparable(known.summary)), self.limit)

    def _note_unreadable(self, error: HistoryError) -> None:
        if error.message not in self.unreadable:
            self.unreadable.append(error.message)

    def compare(self, run: Run, pinned_path: Path | None) -> BaselineComparison:
        """Compare ``run`` with the baselines of earlier runs, or with those pinned in a file. Raise HistoryError."""
        current = summarise(run)
        earlier = list(self._comparable(run, current))
        known = pinned.load(pinned_path) if pinned_path else baselines.compute_baselines(earlier)
        return BaselineComparison(current, earlier, known, baselines.find_regressions(current, earlier, known))

    def trends(self, queries: list[series.TrendQuery]) -> list[dict[str, Any]]:
        """Return the requested trends, one entry for each query and group."""
        entries = itertools.islice(reader.runs(self.folder), self.limit * EXAMINED_PER_RUN)
        return [entry for found in series.trends(entries, queries, self.limit, self._note_unreadable) for entry in _entries(found)]

    def changes(self, before: str, after: str, this_run: Path | None) -> Comparison:
        """Compare two runs, each an id or a word: ``newest``, or ``last_good`` for the newest good run before ``after``. Raise HistoryError.

        The noise of a group is also taken from the runs before ``after``.
        """
        last = reader.choose(self.folder, None, this_run) if after == NEWEST else reader.read(reader.find(self.folder, after))
        first = self._last_good(last) if before == LAST_GOOD else reader.read(reader.find(self.folder, before))
        known = baselines.compute_baselines(list(self._comparable(last, summarise(last))))
        spreads = {group: one.spread / one.median for group, one in known.items() if one.median}
        return compare_runs(snapshot(first), snapshot(last), spreads)

    def _last_good(self, run: Run) -> Run:
        older = (entry for entry in reader.runs(self.folder) if entry.order < run.file.order)
        for known in map(self._read, itertools.islice(older, self.limit * EXAMINED_PER_RUN)):
            if known is not None and known.overview["good"]:
                return reader.read(known.file)
        raise HistoryError("no_good_run", f"{self.folder} has no good run before {run.file.run_id}.", "Name the run to compare with.")


def _entries(found: series.Series) -> Iterator[dict[str, Any]]:
    name: dict[str, Any] = {"of": found.query.kind, **_endpoints(found.query)}
    for group, points in sorted(found.points.items(), key=lambda item: item[0].sort_key()):
        values = [point.value for point in points[:-1] if point.value is not None]
        entry = {**name, **baselines.as_fields(group), "points": [
            {"run_id": point.run_id, "started_at": point.started, "value": point.value, "count": point.count, "failed": point.failed} for point in points]}
        yield {**entry, **_baseline(values, group)}


def _baseline(values: Sequence[float], group: Group) -> dict[str, Any]:
    if len(values) < baselines.LEAST_RUNS:
        return {}
    median, spread = baselines.median_and_spread(values[-baselines.WINDOW:])
    limit = Baseline(median, spread, len(values)).limit(group.unit, baselines.LEAST_DROP_OF_ENDPOINT)
    return {"baseline": {"median": median, "spread": spread, "limit": limit, "runs": min(len(values), baselines.WINDOW)}}


def _endpoints(query: series.TrendQuery) -> dict[str, Any]:
    return {key: endpoint._asdict() for key, endpoint in (("source", query.source), ("target", query.target)) if endpoint}


def trend_queries(
    endpoints: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[str, Any]], collectives: Sequence[Mapping[str, Any]]
) -> list[series.TrendQuery]:
    """Return the queries for the options of history_info."""
    return [
        *(series.TrendQuery("endpoint", _endpoint(one["host"], one.get("device")), **_selection(one)) for one in endpoints),
        *(series.TrendQuery("pair", _endpoint(one["source"], one.get("source_device")), _endpoint(one["target"], one.get("target_device")),
                            **_selection(one)) for one in pairs),
        *(series.TrendQuery("collective", **_selection(one)) for one in collectives),
    ]


def _endpoint(host: str, device: str | None) -> Endpoint:
    return Endpoint(host, int(device) if device is not None and is_count(device) else device)


def _selection(option: Mapping[str, Any]) -> dict[str, Any]:
    return {"operation": option.get("operation") or "", "size_bytes": option.get("size_bytes")}


def verdicts(comparison: BaselineComparison) -> list[dict[str, Any]]:
    """Return the values, the baseline and the state (ok, regression or no_baseline) of each group of the run. Values of failed groups are None."""
    worse = {found.group for found in comparison.regressions}
    lost = baselines.lost_groups(comparison.current, comparison.baselines)
    found = []
    for group in sorted({*comparison.current.groups, *lost}, key=Group.sort_key):
        measured, known = comparison.current.groups.get(group), comparison.baselines.get(group)
        values = ({"now": measured.median, "least": measured.least, "greatest": measured.greatest, "count": measured.count, "failed": measured.failed}
                  if measured else {"now": None, "least": None, "greatest": None, "count": 0, "failed": lost[group]})
        entry = {**baselines.as_fields(group), **values, "state": "no_baseline" if known is None else "regression" if group in worse else "ok"}
        if known:
            entry["baseline"] = {"median": known.median, "spread": known.spread, "limit": known.limit(group.unit), "runs": known.runs,
                                 "pinned": known.pinned}
        found.append(entry)
    return found
