# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The journal of a run on one host: STATE_DIR/RUN_ID/journal.jsonl, a line a pair, each on disk before the next pair starts.

Lines: ``{"type": "start", ...}``, ``{"type": "record", "record": {...}}``, ``{"type": "end", "state": ...}``, checked by journal_lines.py. Readable
while the run goes on and after it; a line without its newline is not written yet. The run's key is never in it.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
import time
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional

from .._core.errors import HccnError, InputError
from .journal_lines import END, FAILED, FINISHED, RECORD, RUNNING, START, UNKNOWN, Lines, parse
from .plan import check_name
from .run_lock import identity, is_locked, is_out_of_sight, lock, namespace

DEFAULT_STATE_DIR = "/var/lib/hccn.cluster"
KEPT_SECONDS = 7 * 24 * 3600
NAME = "journal.jsonl"
FABRIC = "fabric.json"
"""What a reporter has heard of all hosts, see progress_aggregator.py; beside the journal."""
STARTED = "started"
"""Stands beside it as soon as the run was started on all hosts that could be reached, see progress_reporter.py."""

__all__ = ["FAILED", "FINISHED", "RUNNING", "UNKNOWN"]


def path_of(state_dir: str, run_id: str) -> str:
    """Raises InputError for a run id that is no plain name."""
    return os.path.join(state_dir, check_name("run_id", run_id), NAME)


def check_folder(state_dir: str) -> None:
    """What stands in a journal is acted upon: tools are called, processes ended. Raises HccnError ``state_dir_unsafe`` where another user may have
    written it."""
    try:
        found = os.stat(state_dir)
    except OSError:
        return  # it is not there yet, or making a run in it tells why not
    if found.st_uid not in (0, os.getuid()):
        raise HccnError("state_dir_unsafe", "%s belongs to the user %d, not to the one who measures (%d)" % (state_dir, found.st_uid, os.getuid()),
                        "take a state_dir of this user's own")
    if found.st_mode & stat.S_IWOTH:
        raise HccnError("state_dir_unsafe", "%s can be written by everybody" % state_dir, "chmod o-w it, or take a folder in it")


class Journal:
    """An open journal; lines may come from several threads."""

    def __init__(self, descriptor: int, locked: bool = False) -> None:
        self._descriptor = descriptor
        self._locked = locked
        self._lock = threading.Lock()

    @classmethod
    def create(cls, state_dir: str, run_id: str) -> "Journal":
        """A new run's journal. Raises InputError where the run has been here before, HccnError ``state_dir_unusable``."""
        path = path_of(state_dir, run_id)
        try:
            os.makedirs(state_dir, mode=0o700, exist_ok=True)
            os.mkdir(os.path.dirname(path), 0o700)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
            return cls(descriptor, lock(descriptor))
        except FileExistsError:
            known = read(state_dir, run_id)
            raise InputError("run %s is in %s already (%s)" % (run_id, state_dir, known.state),
                             "take another run_id; rdma_perf_info shows that run, rdma_perf with state: absent ends it") from None
        except OSError as error:
            raise HccnError("state_dir_unusable", "%s: %s" % (error.filename or path, error.strerror),
                            "state_dir must be a folder that this user may write") from None

    @classmethod
    def append_to(cls, state_dir: str, run_id: str) -> "Journal":
        """The journal of a runner that is gone, to add a line. Raises OSError.

        A last line that was cut off, by a loss of power or by SIGKILL, is taken away: with the new one behind it the whole journal could not be read.
        """
        descriptor = os.open(path_of(state_dir, run_id), os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(os.dup(descriptor), "rb") as journal:
            text = journal.read()
        if not text.endswith(b"\n"):
            os.ftruncate(descriptor, text.rfind(b"\n") + 1)
        return cls(descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def start(self, **fields: Any) -> None:
        """The first line, by the process that works the run."""
        self._write({"type": START, "pid": os.getpid(), "identity": identity(os.getpid()), "pid_namespace": namespace(), "locked": self._locked,
                     "started_at": time.time(), **fields})

    def record(self, record: Mapping[str, Any]) -> None:
        self._write({"type": RECORD, "record": record})

    def end(self, state: str, **fields: Any) -> None:
        self._write({"type": END, "state": state, "ended_at": time.time(), **fields})

    def _write(self, fields: Mapping[str, Any]) -> None:
        """A line or nothing of it: what a full disk took only half of would spoil the next one too. Raises OSError."""
        line = json.dumps(fields).encode() + b"\n"
        with self._lock:
            before = os.fstat(self._descriptor).st_size
            if os.write(self._descriptor, line) < len(line):
                os.ftruncate(self._descriptor, before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


@dataclass(frozen=True)
class Snapshot:
    """A journal as it is now. ``start`` and ``end`` are those lines, empty where they are not written yet; any field of ``start`` may be missing.
    ``odd_lines``: how many lines are not as rdma_perf writes them; they were left out, a start in part."""

    state: str
    start: Mapping[str, Any]
    records: List[Dict[str, Any]]
    end: Mapping[str, Any]
    path: str
    odd_lines: int = 0

    @property
    def alive(self) -> bool:
        """Does the process that works this run live, or can that not be told? Journals of older versions tell its number only."""
        if not self.start or self.here:
            return bool(self.start)
        return is_locked(self.path) if self.start.get("locked") else is_out_of_sight(self.start)

    @property
    def here(self) -> bool:
        """Does it live, with the number that the journal tells?"""
        if not self.start or self.start.get("pid_namespace") not in (None, namespace()):
            return False
        pid, known = self.start.get("pid"), self.start.get("identity")
        return pid is not None and known is not None and identity(pid) == known

    def progress(self) -> Dict[str, Any]:
        """Counts of the pairs that this host measures, and seconds since the start."""
        failed = sum(1 for record in self.records if record["status"] != "ok")
        now = self.end.get("ended_at", time.time())
        return {
            "pairs_total": self.start.get("pairs_total", 0), "pairs_done": len(self.records), "pairs_failed": failed,
            "seconds": round(max(0.0, now - self.start.get("started_at", now)), 1),
        }

    def error(self) -> Optional[Dict[str, Any]]:
        """Why the run failed as a whole, None where it did not."""
        if self.state != FAILED:
            return None
        if self.end.get("error"):
            return dict(self.end["error"])
        return self.died("its guard has reset the devices; see the host's log for what killed it").as_dict()

    def died(self, hint: str) -> HccnError:
        """The error of a run whose runner is gone."""
        return HccnError("runner_died", "the runner ended in mid-run: %d of %d pairs are in the journal%s" % (
            len(self.records), self.start.get("pairs_total", 0), " (%s)" % self.left_out if self.odd_lines else ""), hint)

    @property
    def left_out(self) -> str:
        """How many lines were not understood, as a part of a sentence."""
        return "1 line is not as rdma_perf writes it" if self.odd_lines == 1 else "%d lines are not as rdma_perf writes them" % self.odd_lines


def read(state_dir: str, run_id: str) -> Snapshot:
    """The run as its journal tells; state ``unknown`` where there is none, or nothing in it. Raises InputError, HccnError ``journal_unreadable``."""
    snapshot = _snapshot(state_dir, run_id)
    if snapshot.state == RUNNING and not snapshot.alive:
        # What it wrote between the look at the journal and the one at the process, its last line above all, is there now, and nothing comes after it.
        snapshot = _snapshot(state_dir, run_id)
        return snapshot if snapshot.end else replace(snapshot, state=FAILED)
    return snapshot


def _snapshot(state_dir: str, run_id: str) -> Snapshot:
    """As far as the journal itself tells: ``running`` until it has an end."""
    path = path_of(state_dir, run_id)
    lines, odd = _lines(path)
    start = next((line for line in lines if line["type"] == START), {})
    end = next((line for line in lines if line["type"] == END), {})
    records = [line["record"] for line in lines if line["type"] == RECORD]
    return Snapshot(end.get("state", RUNNING if start else UNKNOWN), start, records, end, path, odd)


def _lines(path: str) -> Lines:
    try:
        with open(path, "rb") as journal:
            return parse(journal.read())
    except FileNotFoundError:
        return Lines([], 0)
    except OSError as error:
        raise HccnError("journal_unreadable", "%s: %s" % (path, error.strerror), "read it as the user who ran rdma_perf") from None


def end_dead(state_dir: str, run_id: str, error: HccnError) -> None:
    """The end of a run whose runner is gone, written by another process. Raises HccnError ``state_dir_unusable``."""
    try:
        journal = Journal.append_to(state_dir, run_id)
        try:
            journal.end(FAILED, error=error.as_dict())
        finally:
            journal.close()
    except OSError as problem:
        raise HccnError("state_dir_unusable", "%s: %s" % (path_of(state_dir, run_id), problem.strerror),
                        "make room, then call again: the end of that run could not be written") from None


def readable(state_dir: str, run_id: str) -> Optional[Snapshot]:
    """The same; None where it cannot be read."""
    try:
        return read(state_dir, run_id)
    except HccnError:
        return None


def listed(state_dir: str) -> List[str]:
    """The names of what lies in the folder of runs; none where it cannot be read."""
    try:
        return sorted(os.listdir(state_dir))
    except OSError:
        return []


def remove(state_dir: str, run_id: str) -> bool:
    """Removes a run's journal and folder; was there one? Raises HccnError ``state_dir_unusable``."""
    path = path_of(state_dir, run_id)
    try:
        os.unlink(path)
        for name in (FABRIC, STARTED):
            beside = os.path.join(os.path.dirname(path), name)
            if os.path.lexists(beside):
                os.unlink(beside)
        os.rmdir(os.path.dirname(path))
        return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise HccnError("state_dir_unusable", "%s: %s" % (error.filename, error.strerror), "remove the folder by hand") from None


def prune(state_dir: str) -> List[str]:
    """Removes this user's journals that nothing was written to for KEPT_SECONDS. What cannot be removed stays. Returns the run ids."""
    removed = []
    for name in listed(state_dir):
        try:
            if _is_old(os.path.join(state_dir, name, NAME)) and not read(state_dir, name).alive and remove(state_dir, name):
                removed.append(name)
        except (OSError, HccnError):
            continue
    return removed


def _is_old(path: str) -> bool:
    status = os.lstat(path)
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid() and time.time() - status.st_mtime > KEPT_SECONDS
