# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The results of a run on this host that rdma_perf and rdma_perf_info return, read from its journal.

The records of a large run are returned as rows of kind ``matrix``, which plugin_utils/_diagnose/records.py reads, and records that are not ok are returned in
full. A row contains the measurements of one NPU as source with the NPUs of one id, as arrays by ``hosts``. Pairs without a record are in the row with their
reason: ``failed`` and ``not_run`` contain indexes in ``hosts`` by the code of the error. The journal on the host keeps all records.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.record import record
from .._core.samples import GBIT, worth
from . import progress, repair, run_locks
from . import journal as journals
from .journal import Snapshot

POLL_SECONDS = 0.2
IDLE_POLL_SECONDS = 1.0
POLL_FACTOR = 10
"""The pause between two reads of a journal is at least this many times the duration of a read: journals of large runs have megabytes."""

IDLE = "idle"
"""State of a host without a run."""


def run_result(state_dir: str, run_id: str) -> Dict[str, Any]:
    """Return the result of a run so far: ``run_id``, ``state``, ``progress``, ``measurements``, ``not_returned`` if some did not fit, ``error`` if it failed,
    and ``odd_lines`` with ``warnings`` if the journal contains malformed lines."""
    return snapshot_result(journals.read(state_dir, run_id), run_id)


def snapshot_result(snapshot: Snapshot, run_id: str) -> Dict[str, Any]:
    found = returned(snapshot.records, run_id)
    result: Dict[str, Any] = {"run_id": run_id, "state": snapshot.state, "progress": snapshot.progress(), "measurements": found.measurements}
    error = snapshot.error()
    if snapshot.odd_lines:
        result.update(odd_lines=snapshot.odd_lines, warnings=["%s: %s" % (snapshot.path, snapshot.left_out)])
    return {**result, **({"not_returned": dict(found.left)} if found.left else {}), **({"error": error} if error else {})}


def wait_for_run(state_dir: str, run_id: str, wait_s: float) -> Dict[str, Any]:
    """Wait until the run has ended, at most ``wait_s`` seconds, and return its result as ``run_result`` does."""
    end = time.monotonic() + wait_s
    while True:
        began = time.monotonic()
        snapshot = journals.read(state_dir, run_id)
        if snapshot.state != journals.RUNNING or began >= end:
            return snapshot_result(snapshot, run_id)
        time.sleep(min(max(POLL_SECONDS, POLL_FACTOR * (time.monotonic() - began)), max(0.0, end - time.monotonic())))


def wait_for_host(state_dir: str, wait_s: float) -> Dict[str, Any]:
    """Wait until no run is at work on this host, at most ``wait_s`` seconds. Return ``state`` idle with the ``last_run``, or running with ``holder`` and its
    ``run_id``.

    No lock is held meanwhile, so that runs that wait for each other's hosts cannot deadlock."""
    end = time.monotonic() + wait_s
    while True:
        holder = run_locks.holder(state_dir)
        if holder is None or _only_listens(state_dir, holder):
            last = journals.last_started(state_dir)
            return {"state": IDLE, "measurements": [], **({"last_run": {"run_id": last.run_id, "started_at": last.at}} if last else {})}
        if time.monotonic() >= end:
            known = {"run_id": holder.run_id} if holder.run_id else {}
            return {**known, "state": journals.RUNNING, "holder": holder.as_dict(), "measurements": []}
        time.sleep(max(0.0, min(IDLE_POLL_SECONDS, end - time.monotonic())))


def _only_listens(state_dir: str, holder: run_locks.Holder) -> bool:
    """Return whether the holder is a reporter of a run that is over on all hosts. The next run ends it."""
    snapshot = journals.readable(state_dir, holder.run_id) if holder.run_id else None
    return snapshot is not None and bool(snapshot.end.get("lingers")) and snapshot.here and repair.is_over_everywhere(state_dir, str(holder.run_id))


def wait_for_all_hosts(state_dir: str, run_id: str, wait_s: float, all_started: bool) -> Dict[str, Any]:
    """Wait until the run is over on all hosts, at most ``wait_s`` seconds. Return the progress of all hosts that were reported to this one as ``fabric``, None
    if it is not a reporter. ``all_started``: announce to the reporter that every runner has started."""
    end = time.monotonic() + wait_s
    if all_started:
        progress.mark_started(state_dir, run_id)
    while True:
        snapshot = journals.read(state_dir, run_id)
        fabric: Optional[Dict[str, Any]] = progress.read(state_dir, run_id)
        over = fabric["over"] if fabric else snapshot.state != journals.RUNNING
        if over or time.monotonic() >= end or (snapshot.state != journals.RUNNING and not snapshot.alive):
            error = snapshot.error()
            return {"run_id": run_id, "state": snapshot.state, "alive": snapshot.alive, "progress": snapshot.progress(), "measurements": [],
                    "fabric": fabric, **({"error": error} if error else {})}
        time.sleep(max(0.0, min(1.0, end - time.monotonic())))


def failed_devices(records: Sequence[Mapping[str, Any]]) -> Dict[int, List[str]]:
    """Return the devices of this host whose pairs were measured, each with the failures of its pairs."""
    devices: Dict[int, List[str]] = {}
    for entry in records:
        found = devices.setdefault(entry["source"]["device"], [])
        if entry["status"] != "ok":
            found.append("%s NPU %d: %s" % (entry["target"]["host"], entry["target"]["device"], entry["error"]["message"]))
    return devices


def judged(result: Dict[str, Any], records: Sequence[Mapping[str, Any]], fail_on: str) -> Dict[str, Any]:
    """Return the result, with ``failed`` and ``msg`` if the run failed as a whole or its devices failed according to ``fail_on: any|all|none``."""
    if "error" in result:
        return {**result, "failed": True, "msg": result["error"]["message"]}
    devices = failed_devices(records)
    bad = {device: errors for device, errors in devices.items() if errors}
    if not bad or fail_on == "none" or (fail_on == "all" and len(bad) < len(devices)):
        return result
    first = sorted(bad)[0]
    return {**result, "failed": True, "msg": "pairs of %d of %d devices failed: NPU %d with %s%s" % (
        len(bad), len(devices), first, bad[first][0], "" if sum(map(len, bad.values())) == 1 else "; see measurements for the others")}


MOST_PAIRS = 200
"""A host with more pairs returns rows."""
MOST_FULL = 100
MOST_OUTPUTS = 8
"""Failures whose output is returned. The journal has that of all."""
SIZE_LIMIT = 240 * 1000
"""Bytes of JSON, below the limit of 256 kB for a task result."""
DIGITS = 3

Record = Dict[str, Any]


class Returned(NamedTuple):
    """The records to return. ``left``: numbers by status of the pairs that did not fit and are only in the journal."""

    measurements: List[Record]
    left: Mapping[str, int]


def returned(records: Sequence[Record], run_id: str) -> Returned:
    """Return the records in the order of the plan, or their rows if they are too many or too large."""
    ordered = _with_few_outputs(sorted(records, key=lambda entry: (entry["context"]["round"], len(entry["id"]), entry["id"])))
    if len(ordered) <= MOST_PAIRS and _size(ordered) <= SIZE_LIMIT:
        return Returned(ordered, {})
    usual = _usual(ordered)
    special = [entry for entry in ordered if entry["status"] == "failed" or (entry["status"] == "ok" and _kind(entry) != usual)]
    special += [entry for entry in ordered if entry["status"] == "not_run"]
    for share, all_sizes in ((2, True), (2, False), (8, False)):
        full = _fitting(special[:MOST_FULL], SIZE_LIMIT // share)
        own = {entry["id"] for entry in full}
        rows = [Row(run_id, key, entries) for key, entries in _by_row([entry for entry in ordered if entry["id"] not in own]).items()]
        made = [row.as_record(all_sizes) for row in rows]
        if _size(full) + _size(made) <= SIZE_LIMIT:
            return Returned(full + made, {})
    kept = _fitting(made, SIZE_LIMIT - _size(full))
    names = {entry["id"] for entry in kept}
    return Returned(full + kept, Counter(entry["status"] for row in rows if row.name not in names for entry in row.entries))


def _with_few_outputs(entries: Sequence[Record]) -> List[Record]:
    """Return the records, without the output of the tool in all but the first MOST_OUTPUTS failures, which usually have the same cause."""
    found = []
    left = MOST_OUTPUTS
    for entry in entries:
        error = entry.get("error") or {}
        if "output" in error:
            left -= 1
            entry = entry if left >= 0 else {**entry, "error": {key: value for key, value in error.items() if key != "output"}}
        found.append(entry)
    return found


def _size(entries: Sequence[Mapping[str, Any]]) -> int:
    return len(json.dumps(entries))


def _fitting(entries: Sequence[Record], limit: int) -> List[Record]:
    """Return the first records, as many as fit into ``limit`` bytes."""
    found: List[Record] = []
    for entry in entries:
        limit -= _size([entry])
        if limit < 0:
            break
        found.append(entry)
    return found


def _kind(entry: Mapping[str, Any]) -> str:
    """Return operation, measure and options of a record as a key."""
    return json.dumps([entry.get("operation"), entry.get("measure"), entry.get("options")], sort_keys=True)


def _usual(entries: Sequence[Mapping[str, Any]]) -> str:
    counted = Counter(_kind(entry) for entry in entries if entry["status"] == "ok")
    return counted.most_common(1)[0][0] if counted else ""


Key = Tuple[str, int, int, Optional[float]]


def _by_row(entries: Sequence[Record]) -> Dict[Key, List[Record]]:
    found: Dict[Key, List[Record]] = {}
    for entry in entries:
        key = (entry["source"]["host"], entry["source"]["device"], entry["target"]["device"], entry["context"].get("line_rate_gbit_s"))
        found.setdefault(key, []).append(entry)
    return found


class Row:
    """The pairs of one row. If a pair was measured twice, the last measurement counts."""

    def __init__(self, run_id: str, key: Key, entries: Sequence[Record]) -> None:
        self.entries = entries
        self._host, self._device, self._target, self._line_rate = key
        devices = "%d" % self._device if self._device == self._target else "%d-%d" % (self._device, self._target)
        rate = "" if self._line_rate is None else "/%g" % self._line_rate
        self.name = "%s/%s/%s%s/matrix" % (run_id, self._host, devices, rate)
        self._places = {host: place for place, host in enumerate(dict.fromkeys(entry["target"]["host"] for entry in entries))}

    def as_record(self, all_sizes: bool) -> Record:
        """Return the row as a record. ``all_sizes``: with all message sizes, otherwise only with the one that is classified."""
        good = [entry for entry in self.entries if entry["status"] == "ok"]
        like = (good or list(self.entries))[-1]
        context = {name: value for name, value in like["context"].items() if name not in ("round", "failed_end", "routers")}
        return record(
            "matrix", self.name, "ok" if good else str(like["status"]), tool=like.get("tool"), operation=like.get("operation"),
            measure=like.get("measure"), options=like.get("options"), source=like["source"], target={"device": self._target}, hosts=list(self._places),
            context=context, samples=self._samples(good, all_sizes), failed=self._reasons("failed"), not_run=self._reasons("not_run"),
            started_at=min(str(entry.get("started_at", "")) for entry in self.entries) or None)

    def _reasons(self, status: str) -> Optional[Dict[str, List[int]]]:
        found: Dict[str, List[int]] = {}
        for entry in self.entries:
            if entry["status"] == status:
                found.setdefault(str(entry["error"]["code"]), []).append(self._places[entry["target"]["host"]])
        return found or None

    def _samples(self, good: Sequence[Record], all_sizes: bool) -> List[Dict[str, Any]]:
        """Return the samples, that of the classified size first."""
        judged = next((found for found in (worth(entry["samples"]) for entry in good) if found), None)
        if judged is None:
            return []
        sizes = dict.fromkeys([judged.size, *(sample.get("size_bytes") for entry in good for sample in entry["samples"])] if all_sizes else [judged.size])
        return [self._column(good, size, judged.unit) for size in sizes]

    def _column(self, good: Sequence[Record], size: Optional[int], unit: str) -> Dict[str, Any]:
        values: List[Optional[float]] = [None] * len(self._places)
        for entry in good:
            found = worth([sample for sample in entry["samples"] if sample.get("size_bytes") == size])
            if found and found.unit == unit:
                values[self._places[entry["target"]["host"]]] = float("%.*g" % (DIGITS, found.value))
        made: Dict[str, Any] = {"bandwidth_gbit_s": values} if unit == GBIT else {"latency_us": {"typical": values}}
        return {**({} if size is None else {"size_bytes": size}), **made}
