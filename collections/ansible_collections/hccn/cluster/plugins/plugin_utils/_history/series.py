# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The trend of an endpoint, pair or collective over runs. Only lines that can contain it are parsed, so a million results take a second."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from . import shape
from .cells import FAILED, OK, Cell, End, Record, cells, end_of
from .format import SCHEMA, HistoryError, major, written
from .reader import RunFile, content_of
from .summary import Group, Places, collective_values


@dataclass(frozen=True)
class Point:
    """A run: the median of ``count`` values, None if all failed, and the number of failures."""

    run_id: str
    started: str
    value: float | None
    count: int
    failed: int


@dataclass(frozen=True)
class Wanted:
    """A requested trend: ``kind`` is endpoint, pair or collective; the other fields select its records."""

    kind: str
    source: End | None = None
    target: End | None = None
    operation: str = ""
    size_bytes: int | None = None

    def needles(self) -> list[bytes]:
        """Return the texts that a matching line contains, as they are encoded there."""
        if self.kind == "collective":
            return [b'"collective"', *([written(self.operation)] if self.operation else [])]
        return [written(end.host) for end in (self.source, self.target) if end]

    def takes(self, record: Record) -> Iterator[tuple[Any, End | None, End | None, float | None, str]]:
        """Yield what a record contains of this trend: what was measured, both ends, value and state."""
        if self.kind == "collective":
            if record.get("kind") == "collective" and self.operation in ("", record.get("operation")):
                yield from ((group, None, None, value, FAILED if value is None else OK) for group, value in collective_values(record)
                            if value is None or self.size_bytes in (None, group.size_bytes))
            return
        for cell in self._cells(record):
            # A failure has no size and belongs to all of them.
            if (self._is_of(cell.source, cell.target) and self.operation in ("", cell.what.operation)
                    and (cell.value is None or self.size_bytes in (None, cell.what.size_bytes))):
                yield cell.what, cell.source, cell.target, cell.value, cell.state

    def _cells(self, record: Record) -> Iterator[Cell]:
        """Return the cells of a record, of a row of a matrix only those that can match."""
        if record.get("kind") != "matrix" or self.source is None:
            return cells(record)
        sends = _fits(self.source, end_of(record.get("source")))
        if self.kind == "pair":
            return cells(record, self.target.host if self.target else None) if sends else iter(())
        return cells(record, None if sends else self.source.host)

    def _is_of(self, source: End, target: End) -> bool:
        if self.kind == "pair":
            return _fits(self.source, source) and _fits(self.target, target)
        return _fits(self.source, source) or _fits(self.source, target)


def _fits(wanted: End | None, end: End | None) -> bool:
    return wanted is not None and end is not None and wanted.host == end.host and wanted.device in (None, end.device)


@dataclass(frozen=True)
class Taken:
    """What a run contains of a trend: the values by group, and the number of failures by group without sizes."""

    entry: RunFile
    values: dict[Group, list[float]]
    failed: dict[Group, int]


@dataclass
class Series:
    """A trend over runs, newest first. It has several groups if different things were measured."""

    wanted: Wanted
    taken: list[Taken] = field(default_factory=list)

    @property
    def points(self) -> dict[Group, list[Point]]:
        """Return the points by group, oldest first. A failure counts for every size that this run, else any run, has values of."""
        known = dict.fromkeys(group for one in self.taken for group in one.values)
        found: dict[Group, list[Point]] = {}
        for one in reversed(self.taken):
            failed: dict[Group, int] = {}
            for like, count in one.failed.items():
                for group in list(filter(like.may_be, one.values)) or list(filter(like.may_be, known)) or [like]:
                    failed[group] = failed.get(group, 0) + count
            for group in {**one.values, **failed}:
                mine = one.values.get(group, [])
                middle = statistics.median(mine) if mine else None
                found.setdefault(group, []).append(Point(one.entry.run_id, one.entry.started, middle, len(mine), failed.get(group, 0)))
        return found


def trends(entries: Iterable[RunFile], wanted: list[Wanted], most: int, on_error: Callable[[HistoryError], None]) -> list[Series]:
    """Return a series per requested trend over the newest ``most`` of ``entries`` (newest first) that contain it.

    Files that cannot be read are reported to ``on_error`` and skipped.
    """
    found = [Series(one) for one in wanted]
    for entry in entries:
        growing = [series for series in found if len(series.taken) < most]
        if not growing:
            break
        try:
            content = _content(entry)
        except HistoryError as error:
            on_error(error)
            continue
        for series in growing:
            _add(series, entry, content)
    return found


def _add(series: Series, entry: RunFile, content: bytes) -> None:
    needles = series.wanted.needles()
    if not all(needle in content for needle in needles):
        return
    records = list(_records(content, needles))
    places = Places([])
    values: dict[Group, list[float]] = {}
    failed: dict[Group, int] = {}
    described = False
    for record in records:
        for what, source, target, value, state in series.wanted.takes(record):
            if source is not None and not described:
                # Products, firmware and leaves are in the lines of devices and plans, which are parsed only if there is something to compare.
                places, described = Places([*_records(content, [b'"kind":"device"']), *_records(content, [b'"kind":"plan"']), *records]), True
            group = what if source is None or target is None else places.group(what, source, target)
            if value is not None:
                values.setdefault(group, []).append(value)
            elif state == FAILED:
                failed[group.unsized()] = failed.get(group.unsized(), 0) + 1
    if values or failed:
        series.taken.append(Taken(entry, values, failed))


def _records(content: bytes, needles: list[bytes]) -> Iterator[Record]:
    """Yield the records of lines that contain all of ``needles``. Only lines with the first of them are examined."""
    first, others = needles[0], needles[1:]
    at = content.find(first)
    while at >= 0:
        start, end = content.rfind(b"\n", 0, at) + 1, content.find(b"\n", at)
        line = content[start:end if end >= 0 else len(content)]
        if all(needle in line for needle in others):
            record = shape.parsed(line)
            if record is not None and "kind" in record and shape.is_sound(record):
                yield record
        at = content.find(first, end) if end >= 0 else -1


def _content(entry: RunFile) -> bytes:
    try:
        content = content_of(entry.path)
    except OSError as error:
        raise HistoryError("history_not_readable", f"{entry.path}: {error.strerror or error}") from error
    header = shape.parsed(content.split(b"\n", 1)[0])
    if header is None or major(header.get("schema")) != SCHEMA:
        raise HistoryError("unknown_schema", f"{entry.path} is not a history file that this version can read.")
    return content
