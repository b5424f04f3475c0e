# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What rdma_perf and rdma_perf_info return of a run on this host, from its journal."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import host_lock, repair, reports, rows
from . import journal as journals
from .journal import Snapshot

LOOK_SECONDS = 0.2
IDLE_LOOK_SECONDS = 1.0
LOOK_SHARE = 10
"""A look waits so many times as long as the last one took: journals of large runs have megabytes."""

IDLE = "idle"
"""No run is at work on this host."""


def look(state_dir: str, run_id: str) -> Dict[str, Any]:
    """The run as it is: ``run_id``, ``state``, ``progress``, ``measurements``, ``not_returned`` where some did not fit, ``error`` where it failed,
    ``odd_lines`` with ``warnings`` where the journal holds lines that were not understood."""
    return looked(journals.read(state_dir, run_id), run_id)


def looked(snapshot: Snapshot, run_id: str) -> Dict[str, Any]:
    found = rows.returned(snapshot.records, run_id)
    result: Dict[str, Any] = {"run_id": run_id, "state": snapshot.state, "progress": snapshot.progress(), "measurements": found.measurements}
    error = snapshot.error()
    if snapshot.odd_lines:
        result.update(odd_lines=snapshot.odd_lines, warnings=["%s: %s" % (snapshot.path, snapshot.left_out)])
    return {**result, **({"not_returned": dict(found.left)} if found.left else {}), **({"error": error} if error else {})}


def look_until_over(state_dir: str, run_id: str, wait_s: float) -> Dict[str, Any]:
    """``look`` as soon as the run is not running any more, at the latest after ``wait_s`` seconds."""
    end = time.monotonic() + wait_s
    while True:
        began = time.monotonic()
        snapshot = journals.read(state_dir, run_id)
        if snapshot.state != journals.RUNNING or began >= end:
            return looked(snapshot, run_id)
        time.sleep(min(max(LOOK_SECONDS, LOOK_SHARE * (time.monotonic() - began)), max(0.0, end - time.monotonic())))


def look_at_host(state_dir: str, wait_s: float) -> Dict[str, Any]:
    """Which run is at work on this host, whoever began it: ``state`` idle, or running with ``holder`` and its ``run_id``. Returns as soon as none is, at
    the latest after ``wait_s`` seconds. Nothing is held meanwhile, so that runs that wait for each other's hosts cannot keep each other waiting."""
    end = time.monotonic() + wait_s
    while True:
        holder = host_lock.holder(state_dir)
        if holder is None or _only_listens(state_dir, holder):
            return {"state": IDLE, "measurements": []}
        if time.monotonic() >= end:
            known = {"run_id": holder.run_id} if holder.run_id else {}
            return {**known, "state": journals.RUNNING, "holder": holder.as_dict(), "measurements": []}
        time.sleep(max(0.0, min(IDLE_LOOK_SECONDS, end - time.monotonic())))


def _only_listens(state_dir: str, holder: host_lock.Holder) -> bool:
    """Is it a reporter of a run that is over on all hosts? The next run ends it."""
    snapshot = journals.readable(state_dir, holder.run_id) if holder.run_id else None
    return snapshot is not None and bool(snapshot.end.get("lingers")) and snapshot.here and repair.is_over_everywhere(state_dir, str(holder.run_id))


def look_at_all(state_dir: str, run_id: str, wait_s: float, all_started: bool) -> Dict[str, Any]:
    """How far all hosts are, as this one has heard: ``fabric``, None where it is no reporter. Waits until all are over, ``wait_s`` seconds at the most.
    ``all_started``: tells it that nobody will be started any more."""
    end = time.monotonic() + wait_s
    if all_started:
        reports.mark_started(state_dir, run_id)
    while True:
        snapshot = journals.read(state_dir, run_id)
        fabric: Optional[Dict[str, Any]] = reports.read(state_dir, run_id)
        over = fabric["over"] if fabric else snapshot.state != journals.RUNNING
        if over or time.monotonic() >= end or (snapshot.state != journals.RUNNING and not snapshot.alive):
            error = snapshot.error()
            return {"run_id": run_id, "state": snapshot.state, "alive": snapshot.alive, "progress": snapshot.progress(), "measurements": [],
                    "fabric": fabric, **({"error": error} if error else {})}
        time.sleep(max(0.0, min(1.0, end - time.monotonic())))


def failed_devices(records: Sequence[Mapping[str, Any]]) -> Dict[int, List[str]]:
    """The devices of this host whose pairs were measured, each with what failed."""
    devices: Dict[int, List[str]] = {}
    for entry in records:
        found = devices.setdefault(entry["source"]["device"], [])
        if entry["status"] != "ok":
            found.append("%s npu %d: %s" % (entry["target"]["host"], entry["target"]["device"], entry["error"]["message"]))
    return devices


def judged(result: Dict[str, Any], records: Sequence[Mapping[str, Any]], fail_on: str) -> Dict[str, Any]:
    """The result with ``failed`` and ``msg`` where the run failed as a whole, or its devices did, by ``fail_on: any|all|none``."""
    if "error" in result:
        return {**result, "failed": True, "msg": result["error"]["message"]}
    devices = failed_devices(records)
    bad = {device: errors for device, errors in devices.items() if errors}
    if not bad or fail_on == "none" or (fail_on == "all" and len(bad) < len(devices)):
        return result
    first = sorted(bad)[0]
    return {**result, "failed": True, "msg": "pairs of %d of %d devices failed: npu %d with %s%s" % (
        len(bad), len(devices), first, bad[first][0], "" if sum(map(len, bad.values())) == 1 else "; see measurements for the others")}
