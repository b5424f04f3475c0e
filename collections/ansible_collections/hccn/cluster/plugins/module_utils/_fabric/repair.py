# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a run leaves when its runner and its guard were both killed is put right by the next call on the host: tools, tests on NPUs, the CPU's governor."""

from __future__ import annotations

import os
import signal
import time
from typing import Callable, Dict, FrozenSet, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from .._core.guard import kill_marked
from .._device import host
from .._device.busy import processes_by_device
from .._device.npu_smi import NpuSmi
from .._device.hccn_tool import HccnTool
from .._perf import governor
from .._perf.roce_test_tool import Options, RoceTest
from . import journal as journals
from . import progress_aggregator
from .journal import Snapshot
from .run_lock import identity

RESET_SECONDS = 30.0
GUARD_SECONDS = 60.0
DISMISS_SECONDS = 5.0
STALE_SECONDS = 60.0
"""A reporter writes every second; see progress_reporter.py."""


def saved_governor(state_dir: str, run_id: str) -> str:
    """The file that holds what the CPU's governor was before the run."""
    return os.path.join(os.path.dirname(journals.path_of(state_dir, run_id)), governor.SAVED)


def dead_runs(state_dir: str) -> List[str]:
    """Runs of this user that did not end and are not at work, or left the governor changed."""
    return [name for name in journals.listed(state_dir) if _is_dead(state_dir, name)]


def _is_dead(state_dir: str, run_id: str) -> bool:
    try:
        path = journals.path_of(state_dir, run_id)
        if os.lstat(path).st_uid != os.getuid():
            return False
        snapshot = journals.read(state_dir, run_id)
        if not snapshot.end:
            return snapshot.state == journals.FAILED
        return not snapshot.alive and os.path.exists(saved_governor(state_dir, run_id))
    except (OSError, HccnError):
        return False


def dismiss(state_dir: str, run_id: Optional[str] = None) -> List[str]:
    """Ends the reporters that wait for nothing any more, since they hold the port and the lock of the host; returns their runs. ``run_id``: that of this
    run, whatever it waits for."""
    names = [run_id] if run_id else [name for name in journals.listed(state_dir) if is_over_everywhere(state_dir, name)]
    found = {name: snapshot for name, snapshot in ((name, journals.readable(state_dir, name)) for name in names)
             if snapshot is not None and snapshot.end.get("lingers") and snapshot.here}
    kill(list(found.values()))
    return sorted(found)


def is_over_everywhere(state_dir: str, run_id: str) -> bool:
    """Was this host a reporter of the run, and is every host that has begun over or gone? Until then the others need it: it tells them who is over, and when
    all are started. Hosts that never began, as after a controller that was killed, are not waited for. A reporter that has written nothing for STALE_SECONDS
    hangs."""
    if not os.path.exists(os.path.join(state_dir, run_id, journals.FABRIC)):
        return False
    told = progress_aggregator.read(state_dir, run_id)
    if told is None or told["over"] or told["age"] > STALE_SECONDS:
        return True
    begun, over = told.get("hosts_heard"), told.get("hosts_over")
    return isinstance(begun, int) and isinstance(over, int) and over >= begun > 0


def kill(runs: Sequence[Snapshot]) -> None:
    """Ends the runners of these runs, which live here, and waits until they are gone."""
    for snapshot in runs:
        try:
            os.kill(snapshot.start["pid"], signal.SIGKILL)
        except OSError:
            continue  # another user's, or it has ended just now
    end = time.monotonic() + DISMISS_SECONDS
    while any(snapshot.here for snapshot in runs) and time.monotonic() < end:
        time.sleep(0.02)


def await_guard(snapshot: Snapshot) -> None:
    """Lets the guard of a dead runner finish its work first."""
    end = time.monotonic() + GUARD_SECONDS
    pid, known = snapshot.start.get("guard"), snapshot.start.get("guard_identity")
    while pid and known and identity(pid) == known and time.monotonic() < end:
        time.sleep(0.05)


def repair_all(state_dir: str, root: str = "/") -> List[str]:
    """Puts right what dead runs left; returns their ids. An NPU that cannot be reset is told by its own pairs."""
    dead = dead_runs(state_dir)
    for run_id in dead:
        _repair(state_dir, run_id, journals.read(state_dir, run_id), root)
    return dead


def _repair(state_dir: str, run_id: str, snapshot: Snapshot, root: str) -> None:
    if snapshot.end:
        _restore(state_dir, run_id, root)
        return
    put_right(state_dir, run_id, snapshot, lambda device: _reset(snapshot.start, device), root)
    journals.end_dead(state_dir, run_id, snapshot.died(
        "the next call on this host has ended its tools and reset its NPUs; see the host's log for what killed it"))


def put_right(state_dir: str, run_id: str, snapshot: Snapshot, reset: Callable[[int], object], root: str) -> Dict[int, HccnError]:
    """What a dead runner left, after its guard, should that live: its tools, the tests on its NPUs by ``reset``, the governor.

    One that fails stops none of the others. Returns the NPUs that could not be reset. Those with a process by now are not reset: a job has begun there.
    """
    await_guard(snapshot)
    if "mark" in snapshot.start:
        kill_marked(snapshot.start["mark"])
    failed = {}
    devices = snapshot.start.get("devices", ())
    try:
        at_work = _at_work(snapshot.start)
    except HccnError as error:
        failed, at_work = dict.fromkeys(devices, error), frozenset(devices)
    for device in devices:
        try:
            if device not in at_work:
                reset(device)
        except HccnError as error:
            failed[device] = error
    _restore(state_dir, run_id, root)
    return failed


def _at_work(start: Mapping[str, object]) -> FrozenSet[int]:
    """Return the NPUs that have a process, none where the run was allowed to use busy ones. Queue pairs may be those of the test that is left.

    Raises HccnError where npu-smi cannot tell.
    """
    path = start.get("npu_smi")
    if not isinstance(path, str):
        return frozenset()
    smi = NpuSmi(path)
    return frozenset(processes_by_device(host.probe(smi), smi.processes()))


def _restore(state_dir: str, run_id: str, root: str) -> None:
    try:
        governor.restore(saved_governor(state_dir, run_id), root)
    except OSError:
        pass  # it is tried again by the call after this one


def _reset(start: Mapping[str, object], device: int) -> None:
    """Ends a test on a device that the run of this journal's first line may have left. Raises HccnError."""
    path = start.get("hccn_tool")
    if isinstance(path, str):
        RoceTest(HccnTool(path, RESET_SECONDS), Options()).reset(device)
