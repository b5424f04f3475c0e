# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Compress old runs and delete even older ones. The content of a run never changes.

Several controllers may do this concurrently: the compressed file is complete before the original is removed.
"""

from __future__ import annotations

import contextlib
import datetime
import gzip
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import files, logs
from .format import GZIP, PAGE_FORMATS, STAMP, page_path
from .reader import RunFile, run_file

AT_ONCE = 64
"""Maximum number of files that are compressed after a run, so that the end of a play does not wait for a backlog of years."""


@dataclass(frozen=True)
class Outcome:
    """The names of compressed and deleted files, and messages about files for which that failed."""

    compressed: list[str]
    deleted: list[str]
    errors: list[str] = field(default_factory=list)


def apply(folder: Path, now: datetime.datetime, compress_days: int, keep_days: int) -> Outcome:
    """Compress runs that started more than ``compress_days`` days before ``now``, and delete those older than ``keep_days``; 0 disables either.

    The pages and logs of a run are deleted with it unless they belong to a newer run with the same id. A .part is never compressed, since its run may be
    alive. A file that cannot be handled is skipped. Raise OSError if the folder cannot be read.
    """
    outcome = Outcome([], [])
    runs = _runs(folder) if keep_days > 0 else []
    expired = list(_older(runs, now, keep_days))
    kept = {entry.run_id for entry in runs[len(expired):]}
    for entry in expired:
        with _collect_errors(outcome, entry):
            outcome.deleted.append(_delete(folder, entry, entry.run_id not in kept))
    old = (entry for entry in _older(_runs(folder) if compress_days > 0 else [], now, compress_days) if not entry.part and entry.path.suffix != GZIP)
    for entry in itertools.islice(old, AT_ONCE):
        with _collect_errors(outcome, entry):
            outcome.compressed.append(compress(entry.path).name)
    return outcome


@contextlib.contextmanager
def _collect_errors(outcome: Outcome, entry: RunFile) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        outcome.errors.append(f"{entry.path.name}: {error.strerror or error}")


def compress(path: Path) -> Path:
    """Replace a file by its .gz with the same modification time. Raise OSError."""
    target = path.with_name(path.name + GZIP)
    content, stamp = files.read(path), path.lstat()
    with files.draft(target, stamp.st_mode & 0o7777) as stream:
        # Without a name and with a fixed time, equal runs give equal files on all controllers.
        stream.write(gzip.compress(content, mtime=0))
        stream.flush()
        os.utime(stream.fileno(), ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    path.unlink(missing_ok=True)
    return target


def _runs(folder: Path) -> list[RunFile]:
    """Return the runs by their names, oldest first, since the modification time may be that of a copy."""
    return sorted(filter(None, map(run_file, folder.glob("[0-9][0-9][0-9][0-9]/[0-9][0-9]/[0-9][0-9]/*.jsonl*"))), key=lambda entry: entry.order)


def _older(runs: list[RunFile], now: datetime.datetime, days: int) -> Iterator[RunFile]:
    limit = (now - datetime.timedelta(days=days)).strftime(STAMP)
    return itertools.takewhile(lambda entry: entry.started < limit, runs)


def _delete(folder: Path, entry: RunFile, pages: bool) -> str:
    entry.path.unlink(missing_ok=True)
    for page_format in PAGE_FORMATS if pages else ():
        page_path(folder, entry.run_id, page_format).unlink(missing_ok=True)
    if pages:
        logs.delete(folder, entry.run_id)
    for empty in list(entry.path.parents)[:3]:
        with contextlib.suppress(OSError):
            empty.rmdir()
    return entry.path.name
