# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Trends of endpoints, pairs and collectives over runs. Only lines that may match are parsed, so searching a million results takes about a second."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from . import shape
from .pair_results import FAILED, OK, Endpoint, PairResult, Record, endpoint_of, pair_results
from .format import SCHEMA, HistoryError, major, encoded
from .reader import RunFile, content_of
from .summary import Group, RunContext, collective_values


@dataclass(frozen=True)
class Point:
    """The median of ``count`` values of a run, None if all measurements failed, and the number of failures."""

    run_id: str
    started: str
    value: float | None
    count: int
    failed: int


@dataclass(frozen=True)
class TrendQuery:
    """A requested trend. ``kind`` is endpoint, pair or collective; the other fields select its records."""

    kind: str
    source: Endpoint | None = None
    target: Endpoint | None = None
    operation: str = ""
    size_bytes: int | None = None

    def search_terms(self) -> list[bytes]:
        """Return the encoded texts that every matching line contains."""
        if self.kind == "collective":
            return [b'"collective"', *([encoded(self.operation)] if self.operation else [])]
        return [encoded(end.host) for end in (self.source, self.target) if end]

    def matches(self, record: Record) -> Iterator[tuple[Any, Endpoint | None, Endpoint | None, float | None, str]]:
        """Yield each matching result of a record: its metric or group, source, target, value and state."""
        if self.kind == "collective":
            if record.get("kind") == "collective" and self.operation in ("", record.get("operation")):
                yield from ((group, None, None, value, FAILED if value is None else OK) for group, value in collective_values(record)
                            if value is None or self.size_bytes in (None, group.size_bytes))
            return
        for result in self._candidates(record):
            # A failure has no size and counts for all sizes.
            if (self._is_selected(result.source, result.target) and self.operation in ("", result.metric.operation)
                    and (result.value is None or self.size_bytes in (None, result.metric.size_bytes))):
                yield result.metric, result.source, result.target, result.value, result.state

    def _candidates(self, record: Record) -> Iterator[PairResult]:
        """Return the results of a record; of a matrix row only those that can match."""
        if record.get("kind") != "matrix" or self.source is None:
            return pair_results(record)
        is_source = _matches(self.source, endpoint_of(record.get("source")))
        if self.kind == "pair":
            return pair_results(record, self.target.host if self.target else None) if is_source else iter(())
        return pair_results(record, None if is_source else self.source.host)

    def _is_selected(self, source: Endpoint, target: Endpoint) -> bool:
        if self.kind == "pair":
            return _matches(self.source, source) and _matches(self.target, target)
        return _matches(self.source, source) or _matches(self.source, target)


def _matches(selected: Endpoint | None, endpoint: Endpoint | None) -> bool:
    return selected is not None and endpoint is not None and selected.host == endpoint.host and selected.device in (None, endpoint.device)


@dataclass(frozen=True)
class RunValues:
    """The results of a run for a trend: values by group, and number of failures by group without size."""

    entry: RunFile
    values: dict[Group, list[float]]
    failed: dict[Group, int]


@dataclass
class Series:
    """A trend over runs, newest first. It has one group for each set of comparable values."""

    query: TrendQuery
    runs: list[RunValues] = field(default_factory=list)

    @property
    def points(self) -> dict[Group, list[Point]]:
        """Return the points by group, oldest first. A failure counts for every size for which this run, else any run, has values."""
        known = dict.fromkeys(group for run in self.runs for group in run.values)
        found: dict[Group, list[Point]] = {}
        for run in reversed(self.runs):
            failed: dict[Group, int] = {}
            for unsized, count in run.failed.items():
                for group in list(filter(unsized.may_belong_to, run.values)) or list(filter(unsized.may_belong_to, known)) or [unsized]:
                    failed[group] = failed.get(group, 0) + count
            for group in {**run.values, **failed}:
                values = run.values.get(group, [])
                median = statistics.median(values) if values else None
                found.setdefault(group, []).append(Point(run.entry.run_id, run.entry.started, median, len(values), failed.get(group, 0)))
        return found


def trends(entries: Iterable[RunFile], queries: list[TrendQuery], most: int, on_error: Callable[[HistoryError], None]) -> list[Series]:
    """Return a series for each query over the newest ``most`` of ``entries`` (newest first) that have matching results.

    Files that cannot be read are reported to ``on_error`` and skipped.
    """
    found = [Series(query) for query in queries]
    for entry in entries:
        unfinished = [series for series in found if len(series.runs) < most]
        if not unfinished:
            break
        try:
            content = _content(entry)
        except HistoryError as error:
            on_error(error)
            continue
        for series in unfinished:
            _add(series, entry, content)
    return found


def _add(series: Series, entry: RunFile, content: bytes) -> None:
    terms = series.query.search_terms()
    if not all(term in content for term in terms):
        return
    records = list(_records(content, terms))
    context = RunContext([])
    values: dict[Group, list[float]] = {}
    failed: dict[Group, int] = {}
    has_context = False
    for record in records:
        for metric, source, target, value, state in series.query.matches(record):
            if source is not None and not has_context:
                # Products, firmware and leaves are in the records of devices and plans, which are parsed only if a result matches.
                context, has_context = RunContext([*_records(content, [b'"kind":"device"']), *_records(content, [b'"kind":"plan"']), *records]), True
            group = metric if source is None or target is None else context.group(metric, source, target)
            if value is not None:
                values.setdefault(group, []).append(value)
            elif state == FAILED:
                failed[group.unsized()] = failed.get(group.unsized(), 0) + 1
    if values or failed:
        series.runs.append(RunValues(entry, values, failed))


def _records(content: bytes, terms: list[bytes]) -> Iterator[Record]:
    """Yield the records of lines that contain all ``terms``. Only lines with the first term are examined."""
    first, others = terms[0], terms[1:]
    at = content.find(first)
    while at >= 0:
        start, end = content.rfind(b"\n", 0, at) + 1, content.find(b"\n", at)
        line = content[start:end if end >= 0 else len(content)]
        if all(term in line for term in others):
            record = shape.parse_line(line)
            if record is not None and "kind" in record and shape.is_well_formed(record):
                yield record
        at = content.find(first, end) if end >= 0 else -1


def _content(entry: RunFile) -> bytes:
    try:
        content = content_of(entry.path)
    except OSError as error:
        raise HistoryError("history_not_readable", f"{entry.path}: {error.strerror or error}") from error
    header = shape.parse_line(content.split(b"\n", 1)[0])
    if header is None or major(header.get("schema")) != SCHEMA:
        raise HistoryError("unknown_schema", f"{entry.path} is not a history file that this version can read.")
    return content
