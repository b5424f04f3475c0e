# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The journal of a run on one host: STATE_DIR/RUN_ID/journal.jsonl, a line a pair, each on disk before the next pair starts.

Lines: ``{"type": "start", ...}``, ``{"type": "record", "record": {...}}``, ``{"type": "end", "state": ...}``, checked by ``parse_journal``. Readable
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
from math import isfinite
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from .._core.errors import HccnError, InputError
from .._core.record import STATUSES
from .._core.samples import worth
from .._device.host import MAX_DEVICE_ID
from .locks import identity, is_journal_locked, is_out_of_sight, lock_journal, namespace
from .plan import check_name

DEFAULT_STATE_DIR = "/var/lib/hccn.cluster"
KEPT_SECONDS = 7 * 24 * 3600
NAME = "journal.jsonl"
FABRIC = "fabric.json"
"""What a reporter has heard of all hosts, see progress.py; beside the journal."""
STARTED = "started"
"""Stands beside it as soon as the run was started on all hosts that could be reached, see progress.py."""

RUNNING, FINISHED, FAILED, UNKNOWN = "running", "finished", "failed", "unknown"
START, RECORD, END = "start", "record", "end"

LONGEST_TEXT = 4096
"""Characters of a name or path. A message may have what it likes, since it is only shown."""
LARGEST = 1 << 40
"""Of counts, process ids and seconds since the epoch."""

Line = Dict[str, Any]


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
            return cls(descriptor, lock_journal(descriptor))
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
        return is_journal_locked(self.path) if self.start.get("locked") else is_out_of_sight(self.start)

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
            return parse_journal(journal.read())
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


# -- the lines of a journal


class Lines(NamedTuple):
    """``odd``: how many lines were left out, as a whole or in part."""

    found: List[Line]
    odd: int


def parse_journal(text: bytes) -> Lines:
    """Of a whole journal. What follows the last newline is not written yet and does not count."""
    found: List[Line] = []
    odd = 0
    for raw in text.split(b"\n")[:-1]:
        line = _checked_line(raw)
        odd += line is None or bool(line.pop(_LESS, False))
        if line is not None:
            found.append(line)
    return Lines(found, odd)


def _checked_line(raw: bytes) -> Optional[Line]:
    """The line, None where it is not as rdma_perf writes it; a start with the key ``_LESS`` where it lost fields."""
    try:
        line = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict):
        return None
    if line.get("type") == START:
        kept = _start(line)
        return kept if kept == line else {**kept, _LESS: True}
    good = {RECORD: lambda: _is_record(line.get("record")), END: lambda: _is_end(line)}.get(str(line.get("type")))
    return line if good is not None and good() else None


_LESS = " less"
"""No field of a line has a blank."""


def _start(line: Line) -> Line:
    kept = {name: value for name, value in line.items() if name not in _START or _START[name](value)}
    devices = line.get("devices")
    if isinstance(devices, list):
        kept["devices"] = [device for device in devices if _is_device(device)]
    return kept


def _is_text(value: Any) -> bool:
    """A name or path fit to be compared, shown, and given to the kernel."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT and value.isprintable()


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


def _is_pid(value: Any) -> bool:
    return _is_count(value) and value > 1


def _is_device(value: Any) -> bool:
    return _is_count(value) and value <= MAX_DEVICE_ID


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST and isfinite(value)


_START: Mapping[str, Callable[[Any], bool]] = {
    "pid": _is_pid, "identity": lambda value: value is None or _is_text(value), "pid_namespace": lambda value: value is None or _is_text(value),
    "locked": lambda value: isinstance(value, bool), "started_at": _is_number, "mark": _is_text, "guard": _is_pid,
    "guard_identity": lambda value: value is None or _is_text(value), "devices": lambda value: isinstance(value, list) and all(map(_is_device, value)),
    "pairs_total": _is_count, "plan_hash": _is_text, "hccn_tool": _is_text, "npu_smi": _is_text,
}
"""What the readers of a start use; other fields are kept as they are."""


def _is_end(line: Line) -> bool:
    error = line.get("error")
    return line.get("state") in (FINISHED, FAILED) and _is_number(line.get("ended_at")) and (error is None or _is_error(error)) and isinstance(
        line.get("lingers", False), bool)


def _is_error(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("code")) and isinstance(value.get("message"), str) and isinstance(value.get("hint", ""), str)


def _is_record(value: Any) -> bool:
    """What is sorted, counted and compared of a record; ``_diagnose/records.py`` on the controller judges the rest."""
    if not isinstance(value, dict) or not _is_text(value.get("id")) or not all(value["id"].split("/")[:2]) or "/" not in value["id"]:
        return False
    if value.get("status") not in STATUSES or not all(_is_endpoint(value.get(side)) for side in ("source", "target")):
        return False
    settled = value.get("error") is None if value["status"] == "ok" else _is_error(value.get("error"))
    return settled and _is_context(value.get("context")) and _are_samples(value.get("samples"))


def _is_endpoint(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("host")) and _is_device(value.get("device"))


def _is_context(value: Any) -> bool:
    if not isinstance(value, dict) or not _is_count(value.get("round")):
        return False
    rate = value.get("line_rate_gbit_s")
    return rate is None or (_is_number(rate) and rate > 0)


def _are_samples(value: Any) -> bool:
    if not isinstance(value, list) or not all(isinstance(sample, dict) for sample in value):
        return False
    if not all(sample.get("size_bytes") is None or _is_count(sample["size_bytes"]) for sample in value):
        return False
    if not all(isinstance(sample.get("latency_us") or {}, dict) for sample in value):
        return False
    try:
        found = worth(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return found is None or _is_number(found.value)
