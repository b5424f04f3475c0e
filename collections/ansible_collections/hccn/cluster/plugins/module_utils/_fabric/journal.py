# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The journal of a run on one host: STATE_DIR/RUN_ID/journal.jsonl, one line for each pair, on disk before the next pair starts.

Lines: ``{"type": "start", ...}``, ``{"type": "record", "record": {...}}``, ``{"type": "end", "state": ...}``. A journal can be read during and after the run;
a line without its newline is not complete yet. The journal never contains the key of the run.

A journal is kept for seven days, may be read by other releases, and every call on the host reads all journals. A malformed line must therefore not make such
a call fail, nor hide the other lines. A record or an end with a malformed field is dropped as a whole. A start only loses its malformed fields, since the
repair of a dead run needs the others.
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
from .._core.numbers import is_integer, is_number
from .._core.record import STATUSES
from .._core.samples import worth
from .._core.untrusted_text import json_object
from .._device.host import MAX_DEVICE_ID
from .plan import check_name
from .run_locks import identity, is_journal_locked, is_out_of_sight, lock_journal, namespace

DEFAULT_STATE_DIR = "/var/lib/hccn.cluster"
KEPT_SECONDS = 7 * 24 * 3600
NAME = "journal.jsonl"
FABRIC = "fabric.json"
"""The progress of all hosts, written by a reporter beside the journal, see progress.py."""
CONFIRMATION_SUFFIX = "-confirmation"
"""Suffix of the run ids of confirmation runs of the role check_fabric. They have only a few pairs, so they are never the last run."""
STARTED = "started"
"""A file beside the journal that exists as soon as every runner has started, see progress.py."""

RUNNING, FINISHED, FAILED, UNKNOWN = "running", "finished", "failed", "unknown"
START, RECORD, END = "start", "record", "end"

LONGEST_TEXT = 4096
"""Characters of a name or path. A message can be longer, since it is only shown."""
_LONGEST_START = 1 << 20
"""Bytes of the first line, which lists devices."""
LARGEST = 1 << 40
"""Of counts, process ids and seconds since the epoch."""

Line = Dict[str, Any]


def path_of(state_dir: str, run_id: str) -> str:
    """Return the path of a journal. Raises InputError for a run id that is not a plain name."""
    return os.path.join(state_dir, check_name("run_id", run_id), NAME)


def check_folder(state_dir: str) -> None:
    """Raise HccnError ``state_dir_unsafe`` if another user can write journals: by their content, tools are called and processes ended."""
    try:
        found = os.stat(state_dir)
    except OSError:
        return  # it does not exist yet, or creating the journal reports the reason
    if found.st_uid not in (0, os.getuid()):
        raise HccnError("state_dir_unsafe", "%s belongs to user %d, not to the user who measures (%d)" % (state_dir, found.st_uid, os.getuid()),
                        "use a state_dir that belongs to this user")
    if found.st_mode & stat.S_IWOTH:
        raise HccnError("state_dir_unsafe", "every user can write to %s" % state_dir, "remove that permission (chmod o-w), or use a directory in it")


class Journal:
    """An open journal. Several threads may write lines."""

    def __init__(self, descriptor: int, locked: bool = False) -> None:
        self._descriptor = descriptor
        self._locked = locked
        self._lock = threading.Lock()

    @classmethod
    def create(cls, state_dir: str, run_id: str) -> "Journal":
        """Create the journal of a new run. Raises InputError if the run already has one, HccnError ``state_dir_unusable`` if it cannot be created."""
        path = path_of(state_dir, run_id)
        try:
            os.makedirs(state_dir, mode=0o700, exist_ok=True)
            os.mkdir(os.path.dirname(path), 0o700)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
            return cls(descriptor, lock_journal(descriptor))
        except FileExistsError:
            known = read(state_dir, run_id)
            raise InputError("run %s is in %s already (%s)" % (run_id, state_dir, known.state),
                             "use another run_id; rdma_perf_info shows that run, rdma_perf with state: absent ends it") from None
        except OSError as error:
            raise HccnError("state_dir_unusable", "%s: %s" % (error.filename or path, error.strerror),
                            "state_dir must be a directory that this user can write to") from None

    @classmethod
    def append_to(cls, state_dir: str, run_id: str) -> "Journal":
        """Open the journal of a dead runner to append a line. Raises OSError.

        An incomplete last line, as after a power loss or SIGKILL, is removed: the new line would otherwise become part of it.
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
        """Write the first line; called by the process of the runner."""
        self._write({"type": START, "pid": os.getpid(), "identity": identity(os.getpid()), "pid_namespace": namespace(), "locked": self._locked,
                     "started_at": time.time(), **fields})

    def record(self, record: Mapping[str, Any]) -> None:
        self._write({"type": RECORD, "record": record})

    def end(self, state: str, **fields: Any) -> None:
        self._write({"type": END, "state": state, "ended_at": time.time(), **fields})

    def _write(self, fields: Mapping[str, Any]) -> None:
        """Write a whole line or nothing: a partial line, as on a full disk, would also spoil the next one. Raises OSError."""
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
    """The content of a journal. ``start`` and ``end`` are those lines, empty if they are not written yet; any field of ``start`` may be missing.
    ``odd_lines``: the number of malformed lines, which were dropped, a start in part."""

    state: str
    start: Mapping[str, Any]
    records: List[Dict[str, Any]]
    end: Mapping[str, Any]
    path: str
    odd_lines: int = 0

    @property
    def alive(self) -> bool:
        """Return whether the runner of this run is alive, or cannot be proven dead. Journals of older versions contain only its id."""
        if not self.start or self.here:
            return bool(self.start)
        return is_journal_locked(self.path) if self.start.get("locked") else is_out_of_sight(self.start)

    @property
    def here(self) -> bool:
        """Return whether it is alive in this PID namespace, with the process id from the journal."""
        if not self.start or self.start.get("pid_namespace") not in (None, namespace()):
            return False
        pid, known = self.start.get("pid"), self.start.get("identity")
        return pid is not None and known is not None and identity(pid) == known

    def progress(self) -> Dict[str, Any]:
        """Return the counts of the pairs that this host measures, and the seconds since the start."""
        failed = sum(1 for record in self.records if record["status"] != "ok")
        now = self.end.get("ended_at", time.time())
        return {
            "pairs_total": self.start.get("pairs_total", 0), "pairs_done": len(self.records), "pairs_failed": failed,
            "seconds": round(max(0.0, now - self.start.get("started_at", now)), 1),
        }

    def error(self) -> Optional[Dict[str, Any]]:
        """Return the error of a run that failed as a whole, otherwise None."""
        if self.state != FAILED:
            return None
        if self.end.get("error"):
            return dict(self.end["error"])
        return self.died("its guard has reset the devices; see the host's log for what killed it").as_dict()

    def died(self, hint: str) -> HccnError:
        """Return the error of a run whose runner is dead."""
        return HccnError("runner_died", "the runner died during the run: %d of %d pairs are in the journal%s" % (
            len(self.records), self.start.get("pairs_total", 0), " (%s)" % self.left_out if self.odd_lines else ""), hint)

    @property
    def left_out(self) -> str:
        """Return the number of malformed lines as a part of a sentence."""
        return "1 line is malformed" if self.odd_lines == 1 else "%d lines are malformed" % self.odd_lines


def read(state_dir: str, run_id: str) -> Snapshot:
    """Read the journal of a run; the state is ``unknown`` if it does not exist or is empty. Raises InputError, HccnError ``journal_unreadable``."""
    snapshot = _snapshot(state_dir, run_id)
    if snapshot.state == RUNNING and not snapshot.alive:
        # The process may have written more lines, such as its last one, before it ended. Now the journal is complete.
        snapshot = _snapshot(state_dir, run_id)
        return snapshot if snapshot.end else replace(snapshot, state=FAILED)
    return snapshot


def _snapshot(state_dir: str, run_id: str) -> Snapshot:
    """Read the journal without checking the process: the state is ``running`` until the journal has an end."""
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
    """Write the end of a run whose runner is dead. Raises HccnError ``state_dir_unusable``."""
    try:
        journal = Journal.append_to(state_dir, run_id)
        try:
            journal.end(FAILED, error=error.as_dict())
        finally:
            journal.close()
    except OSError as problem:
        raise HccnError("state_dir_unusable", "%s: %s" % (path_of(state_dir, run_id), problem.strerror),
                        "free disk space, then call again: the end of that run could not be written") from None


def readable(state_dir: str, run_id: str) -> Optional[Snapshot]:
    """Read the journal of a run; return None if it cannot be read."""
    try:
        return read(state_dir, run_id)
    except HccnError:
        return None


def listed(state_dir: str) -> List[str]:
    """Return the names of the entries of ``state_dir``; none if it cannot be read."""
    try:
        return sorted(os.listdir(state_dir))
    except OSError:
        return []


class Started(NamedTuple):
    """A run and the time at which it started on this host, in seconds since the epoch."""

    at: float
    run_id: str


def last_started(state_dir: str, but: Optional[str] = None) -> Optional[Started]:
    """Return the run that started last on this host, except ``but`` and confirmation runs; None if there is none."""
    found = (_started(state_dir, name) for name in listed(state_dir) if name != but and not name.endswith(CONFIRMATION_SUFFIX))
    return max((run for run in found if run is not None), default=None)


def _started(state_dir: str, run_id: str) -> Optional[Started]:
    """Return the start of a run by the first line of its journal."""
    try:
        with open(path_of(state_dir, run_id), "rb") as journal:
            line = _checked_line(journal.readline(_LONGEST_START))
    except (OSError, HccnError):
        return None
    return Started(line["started_at"], run_id) if line is not None and "started_at" in line else None


def remove(state_dir: str, run_id: str) -> bool:
    """Remove the journal and directory of a run. Return False if there was none. Raises HccnError ``state_dir_unusable``."""
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
        raise HccnError("state_dir_unusable", "%s: %s" % (error.filename, error.strerror), "remove the directory by hand") from None


def prune(state_dir: str) -> List[str]:
    """Remove this user's journals that were not written to for KEPT_SECONDS, as far as possible. Return their run ids."""
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
    """The valid lines of a journal. ``odd``: the number of lines that were dropped, as a whole or in part."""

    found: List[Line]
    odd: int


def parse_journal(text: bytes) -> Lines:
    """Return the valid lines of a journal. Text after the last newline is not complete yet and is ignored."""
    found: List[Line] = []
    odd = 0
    for raw in text.split(b"\n")[:-1]:
        line = _checked_line(raw)
        odd += line is None or bool(line.pop(_LESS, False))
        if line is not None:
            found.append(line)
    return Lines(found, odd)


def _checked_line(raw: bytes) -> Optional[Line]:
    """Return the line, None if it is malformed. A start that lost malformed fields has the key ``_LESS``."""
    line = json_object(raw)
    if line is None:
        return None
    if line.get("type") == START:
        kept = _start(line)
        return kept if kept == line else {**kept, _LESS: True}
    good = {RECORD: lambda: _is_record(line.get("record")), END: lambda: _is_end(line)}.get(str(line.get("type")))
    return line if good is not None and good() else None


_LESS = " less"
"""No field of a line contains a blank."""


def _start(line: Line) -> Line:
    kept = {name: value for name, value in line.items() if name not in _START or _START[name](value)}
    devices = line.get("devices")
    if isinstance(devices, list):
        kept["devices"] = [device for device in devices if _is_device(device)]
    return kept


def _is_text(value: Any) -> bool:
    """Return whether the value is a name or path that can be compared, shown, and passed to the kernel."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT and value.isprintable()


def _is_count(value: Any) -> bool:
    return is_integer(value) and 0 <= value < LARGEST


def _is_pid(value: Any) -> bool:
    return _is_count(value) and value > 1


def _is_device(value: Any) -> bool:
    return _is_count(value) and value <= MAX_DEVICE_ID


def _is_number(value: Any) -> bool:
    return is_number(value) and abs(value) < LARGEST and isfinite(value)


_START: Mapping[str, Callable[[Any], bool]] = {
    "pid": _is_pid, "identity": lambda value: value is None or _is_text(value), "pid_namespace": lambda value: value is None or _is_text(value),
    "locked": lambda value: isinstance(value, bool), "started_at": _is_number, "mark": _is_text, "guard": _is_pid,
    "guard_identity": lambda value: value is None or _is_text(value), "devices": lambda value: isinstance(value, list) and all(map(_is_device, value)),
    "pairs_total": _is_count, "conditions_hash": _is_text, "hccn_tool": _is_text, "npu_smi": _is_text,
}
"""The fields of a start that its readers use. Other fields are kept unchecked."""


def _is_end(line: Line) -> bool:
    error = line.get("error")
    return line.get("state") in (FINISHED, FAILED) and _is_number(line.get("ended_at")) and (error is None or _is_error(error)) and isinstance(
        line.get("lingers", False), bool)


def _is_error(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("code")) and isinstance(value.get("message"), str) and isinstance(value.get("hint", ""), str)


def _is_record(value: Any) -> bool:
    """Check the fields of a record that are sorted, counted and compared; ``_diagnose/records.py`` on the controller checks the others."""
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
