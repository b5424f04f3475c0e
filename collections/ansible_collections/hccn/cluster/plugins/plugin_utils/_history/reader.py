# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find and read runs, finished or not."""

from __future__ import annotations

import datetime
import gzip
import io
import itertools
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from collections.abc import Callable, Iterator

from ...module_utils._core.words import natural
from . import files, shape
from .format import GZIP, RECORD_SCHEMA, SCHEMA, STAMP, HistoryError, final_path, major, split_name


@dataclass(frozen=True)
class RunFile:
    """A file of a history folder. ``started`` is compact UTC (20261120T101500Z); ``part`` is True if the file has the suffix of an unfinished run."""

    path: Path
    run_id: str
    started: str
    part: bool

    @property
    def order(self) -> tuple[str, list[tuple[int, int, str]]]:
        """Return a key that sorts runs by time. The natural order is needed because the writer appends -2 to the id of a second run in the same second."""
        return self.started, natural(self.run_id)


@dataclass(frozen=True)
class Run:
    """The readable content of a run. ``bad_lines`` counts malformed lines and records, ``unknown_lines`` lines of an unknown schema."""

    file: RunFile
    header: dict[str, Any]
    records: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    end: dict[str, Any] | None = None
    bad_lines: int = 0
    unknown_lines: int = 0

    @property
    def complete(self) -> bool:
        """Return True if the file shows that the run has ended."""
        return self.end is not None and not self.file.part

    @property
    def empty(self) -> bool:
        """Return True if nothing was measured and nothing failed."""
        return not self.records and not self.events


def run_file(path: Path) -> RunFile | None:
    """Return the run of a file by its name, None if the name is not that of a run."""
    parts = split_name(path.name)
    return RunFile(path, run_id=parts[1], started=parts[0], part=parts[2]) if parts else None


def runs(folder: Path) -> Iterator[RunFile]:
    """Yield the runs of a history folder, newest first, without opening them; none if the folder does not exist."""
    for year in _newest(folder, "[0-9][0-9][0-9][0-9]"):
        for month in _newest(year, "[0-9][0-9]"):
            for day in _newest(month, "[0-9][0-9]"):
                yield from _runs_of_day(day)


def since(folder: Path, oldest: datetime.datetime) -> Iterator[RunFile]:
    """Yield the runs that started at this time of UTC or later, newest first."""
    limit = oldest.strftime(STAMP)
    return itertools.takewhile(lambda entry: entry.started >= limit, runs(folder))


def _runs_of_day(day: Path) -> Iterator[RunFile]:
    # While a run is being compressed, it has two files with the same content.
    found = {(entry.started, entry.run_id, entry.part): entry for entry in filter(None, map(run_file, _newest(day, "*.jsonl*")))}
    yield from sorted(found.values(), key=lambda entry: entry.order, reverse=True)


def find(folder: Path, run_id: str) -> RunFile:
    """Return the newest run with this id. Raise HistoryError (run_not_found)."""
    for entry in runs(folder):
        if entry.run_id == run_id:
            return entry
    raise HistoryError("run_not_found", f"{folder} has no run {run_id}.", "The name of the file contains the run id: <utc>-<run id>.jsonl.")


def newest(folder: Path) -> Run:
    """Return the newest run that is not empty; unreadable files are skipped. Raise HistoryError (run_not_found)."""
    for entry in runs(folder):
        try:
            run = read(entry)
        except HistoryError:
            continue
        if not run.empty:
            return run
    raise HistoryError(
        "run_not_found",
        f"{folder} has no run with results.",
        "Enable the callback hccn.cluster.results (callbacks_enabled in ansible.cfg) for the playbook that measures.",
    )


def choose(folder: Path, run_id: str | None, this_run: Path | None, lost: str = "") -> Run:
    """Return the run with this id; without an id ``this_run``, if its file is in ``folder`` and not empty, else the newest run.

    ``lost``: why ``this_run`` is no longer kept. Raise HistoryError, also if the file of ``this_run`` is missing, or is empty because the run was lost: the
    newest run would then be another one.
    """
    if run_id:
        return read(find(folder, run_id))
    entry = run_file(this_run) if this_run and folder.resolve() in this_run.resolve().parents else None
    if entry is None:
        return newest(folder)
    try:
        current = read(entry)
    except HistoryError:
        if not lost:
            raise
    else:
        if not current.empty:
            return current
        if not lost:
            return newest(folder)
    raise HistoryError("history_lost", f"Nothing of this run is in the history: {lost}")


def read(entry: RunFile) -> Run:
    """Read a run, finished or not.

    Raise HistoryError: history_not_readable, no_header (no history file, or one without a complete header), unknown_schema.
    """
    entry, content = _read_content(entry)
    return _parse_lines(entry, *_split_header(entry, content))


def read_if(entry: RunFile, matches: Callable[[bytes], bool]) -> Run | None:
    """Read a run if its content ``matches``, else return None without parsing its lines."""
    entry, content = _read_content(entry)
    header, lines = _split_header(entry, content)
    return _parse_lines(entry, header, lines) if matches(content) else None


def _split_header(entry: RunFile, content: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return the header and the lines after it."""
    lines = [text for text in content.split(b"\n") if text]
    header = shape.parse_line(lines[0]) if lines else None
    if header is None or "schema" not in header:
        raise HistoryError("no_header", f"{entry.path} does not begin with the header of a history.")
    if major(header["schema"]) != SCHEMA:
        raise HistoryError(
            "unknown_schema",
            f"{entry.path} has the schema {header['schema']}; this version of hccn.cluster reads {SCHEMA}.",
            "Read it with the version of the collection that wrote it, or a later one.",
        )
    return header, lines[1:]


def _parse_lines(entry: RunFile, header: dict[str, Any], lines: list[bytes]) -> Run:
    records, events = [], []
    end = None
    bad = unknown = 0
    for text in lines:
        content = shape.parse_line(text)
        if content is None:
            bad += 1
        elif major(content.get("schema")) == RECORD_SCHEMA:
            if shape.is_well_formed(content):
                records.append(content)
            else:
                bad += 1
        elif content.get("end") is True:
            end = content
        elif "event" in content:
            events.append(content)
        else:
            unknown += 1
    return Run(entry, header, records, events, end, bad, unknown)


def _read_content(entry: RunFile) -> tuple[RunFile, bytes]:
    try:
        return entry, content_of(entry.path)
    except OSError as error:
        moved = _moved(entry)
        if moved and not entry.path.exists():
            # The run ended or was compressed in the meantime.
            return _read_content(moved)
        raise HistoryError("history_not_readable", f"{entry.path}: {error.strerror or error}") from error


def content_of(path: Path) -> bytes:
    """Return the content of a run, decompressed if necessary. Raise OSError."""
    content = files.read(path)
    if path.suffix != GZIP:
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            return files.limited(stream)
    except (EOFError, zlib.error) as error:
        raise OSError(f"the compressed file is damaged: {error}") from error


def _moved(entry: RunFile) -> RunFile | None:
    final = final_path(entry.path) if entry.part else entry.path
    candidates = [final] if entry.part else []
    if final.suffix != GZIP:
        candidates.append(final.with_name(final.name + GZIP))
    return next((RunFile(path, entry.run_id, entry.started, part=False) for path in candidates if path.exists()), None)


def _newest(folder: Path, pattern: str) -> list[Path]:
    # Listed folder by folder, so that reading the newest day does not walk a history of years.
    return sorted(folder.glob(pattern), key=lambda path: path.name, reverse=True)
