# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The timeline of a run: what each host did when. Records with a start and a duration are the only source, so it shows nothing that was not recorded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .._history.reader import Run
from .._history.runs import MEASURED
from .fields import Record, hosts_of, mapping, moment, number, text
from .verdicts import HostVerdict

COLUMNS = 120
MOST_HOSTS = 48
NOTHING, WAIT, PROBE, MEASURE, LOST = range(5)
NAMES = ("", "wait", "probe", "measure", "lost")


@dataclass(frozen=True)
class Span:
    """``columns`` columns from ``start`` on with the same state."""

    start: int
    columns: int
    state: int


@dataclass(frozen=True)
class TimelineHost:
    """A row of the timeline."""

    host: str
    spans: list[Span]


@dataclass(frozen=True)
class Timeline:
    """``seconds``: of a column; ``start``: seconds since the epoch; ``columns``: number of columns; ``count``: all hosts, of which ``hosts`` are shown."""

    start: float
    seconds: float
    columns: int
    hosts: list[TimelineHost]
    count: int


def build(run: Run, verdicts: Sequence[HostVerdict]) -> Timeline | None:
    """Return the timeline, None if fewer than two moments are known."""
    parts = [*_measured(run.records), *_lost(run)]
    if not parts:
        return None
    start, end = min(part[1] for part in parts), max((part[2] for part in parts if not math.isinf(part[2])), default=-math.inf)
    if end <= start:
        return None
    seconds = max((end - start) / COLUMNS, 0.1)
    columns = max(1, math.ceil(round((end - start) / seconds, 6)))
    rows: dict[str, bytearray] = {}
    for host, first, last, state in parts:
        line = rows.setdefault(host, bytearray(columns))
        one = min(columns - 1, int((first - start) / seconds))
        other = columns if math.isinf(last) else min(columns, max(one + 1, math.ceil(round((last - start) / seconds, 6))))
        line[one:other] = bytes(max(before, state) for before in line[one:other])
    order = [row.host for row in verdicts if row.host in rows]
    if not order:
        return None
    return Timeline(start, seconds, columns, [TimelineHost(host, _spans(rows[host])) for host in order[:MOST_HOSTS]], len(order))


def _measured(records: Iterable[Record]) -> Iterator[tuple[str, float, float, int]]:
    """Yield host, start, end and state of each record with a time. A row of a matrix lasts until the diagnosis, since it has no duration."""
    listed = list(records)
    diagnosed = min((at for at in (_at(record) for record in listed if record.get("kind") == "verdict") if at is not None), default=None)
    for record in listed:
        kind, at = record.get("kind"), _at(record)
        if at is None or kind not in ("device", *MEASURED):
            continue
        last = at + (number(record.get("duration_s")) or 0.0)
        if kind == "matrix":
            last = max(last, diagnosed or 0.0)
            yield text(mapping(record.get("source")).get("host")), at, last, MEASURE
            continue
        for host in set(hosts_of(record)):
            yield host, at, last, PROBE if kind == "device" else MEASURE


def _lost(run: Run) -> Iterator[tuple[str, float, float, int]]:
    for event in run.events:
        at = moment(event.get("at"))
        if event.get("event") == "unreachable" and at is not None:
            yield text(event.get("host")), at.timestamp(), math.inf, LOST


def _at(record: Record) -> float | None:
    found = moment(record.get("started_at"))
    return found.timestamp() if found else None


def _spans(line: bytearray) -> list[Span]:
    """Return the spans of a row. A gap between two states is a wait."""
    known = [place for place, state in enumerate(line) if state]
    for place in range(known[0], known[-1]):
        line[place] = line[place] or WAIT
    found: list[Span] = []
    for place in range(known[0], known[-1] + 1):
        if found and found[-1].state == line[place]:
            found[-1] = Span(found[-1].start, found[-1].columns + 1, line[place])
        else:
            found.append(Span(place, 1, line[place]))
    return found
