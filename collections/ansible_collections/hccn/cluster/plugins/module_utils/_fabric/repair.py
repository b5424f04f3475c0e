# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Repair after a run whose runner and guard were both killed: the next call on the host ends its tools and its tests on NPUs, and restores the CPU governor."""

from __future__ import annotations

import os
import signal
import time
from typing import Callable, Dict, FrozenSet, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from .._core.guard import kill_marked
from .._device import host
from .._device.busy import processes_by_device
from .._device.hccn_tool import HccnTool
from .._device.npu_smi import NpuSmi
from .._perf import governor
from .._perf.roce_test_tool import Options, RoceTest
from . import journal as journals
from . import progress
from .journal import Snapshot
from .run_locks import identity

RESET_SECONDS = 30.0
GUARD_SECONDS = 60.0
DISMISS_SECONDS = 5.0
STALE_SECONDS = 60.0
"""A reporter writes its summary every second, see progress.py."""


def saved_governor(state_dir: str, run_id: str) -> str:
    """Return the path of the file with the CPU governor from before the run."""
    return os.path.join(os.path.dirname(journals.path_of(state_dir, run_id)), governor.SAVED)


def dead_runs(state_dir: str) -> List[str]:
    """Return the runs of this user that died, or left the governor changed."""
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
    """End the reporters that have nothing to wait for, since they hold the control port and the host lock. Return their runs. With ``run_id``, end the
    reporter of that run in any case."""
    names = [run_id] if run_id else [name for name in journals.listed(state_dir) if is_over_everywhere(state_dir, name)]
    found = {name: snapshot for name, snapshot in ((name, journals.readable(state_dir, name)) for name in names)
             if snapshot is not None and snapshot.end.get("lingers") and snapshot.here}
    kill(list(found.values()))
    return sorted(found)


def is_over_everywhere(state_dir: str, run_id: str) -> bool:
    """Return whether this host was a reporter of the run, and every host that started is over or lost. Until then the others need the reporter: it announces
    which hosts are over, and when all runners have started. Hosts that never started, as when the controller was killed, are ignored. A reporter that has not
    written its summary for STALE_SECONDS hangs, and is over as well."""
    if not os.path.exists(os.path.join(state_dir, run_id, journals.FABRIC)):
        return False
    summary = progress.read(state_dir, run_id)
    if summary is None or summary["over"] or summary["age"] > STALE_SECONDS:
        return True
    started, over = summary.get("hosts_heard"), summary.get("hosts_over")
    return isinstance(started, int) and isinstance(over, int) and over >= started > 0


def kill(runs: Sequence[Snapshot]) -> None:
    """Kill the runners of these runs, which are alive in this PID namespace, and wait until they are gone."""
    for snapshot in runs:
        try:
            os.kill(snapshot.start["pid"], signal.SIGKILL)
        except OSError:
            continue  # it belongs to another user, or has just ended
    end = time.monotonic() + DISMISS_SECONDS
    while any(snapshot.here for snapshot in runs) and time.monotonic() < end:
        time.sleep(0.02)


def await_guard(snapshot: Snapshot) -> None:
    """Wait until the guard of a dead runner has finished its work."""
    end = time.monotonic() + GUARD_SECONDS
    pid, known = snapshot.start.get("guard"), snapshot.start.get("guard_identity")
    while pid and known and identity(pid) == known and time.monotonic() < end:
        time.sleep(0.05)


def repair_all(state_dir: str, root: str = "/") -> List[str]:
    """Repair after all dead runs, and return their ids. An NPU that cannot be reset is reported by its own pairs later."""
    dead = dead_runs(state_dir)
    for run_id in dead:
        _repair(state_dir, run_id, journals.read(state_dir, run_id), root)
    return dead


def _repair(state_dir: str, run_id: str, snapshot: Snapshot, root: str) -> None:
    if snapshot.end:
        _restore(state_dir, run_id, root)
        return
    clean_up(state_dir, run_id, snapshot, lambda device: _reset(snapshot.start, device), root)
    journals.end_dead(state_dir, run_id, snapshot.died(
        "the next call on this host has ended its tools and reset its NPUs; see the host's log for what killed it"))


def clean_up(state_dir: str, run_id: str, snapshot: Snapshot, reset: Callable[[int], object], root: str) -> Dict[int, HccnError]:
    """Wait for the guard of a dead runner, if it is alive. Then end the tools of the run, reset its NPUs by ``reset``, and restore the governor.

    A failed step does not stop the others. Return the NPUs that could not be reset. NPUs that have a process by now are not reset, since a job uses them.
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
    """Return the NPUs that have a process, none if the run was allowed to use busy ones. Queue pairs do not count, since a leftover test may have them.

    Raises HccnError if npu-smi cannot determine the processes.
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
        pass  # the next call tries again


def _reset(start: Mapping[str, object], device: int) -> None:
    """End a test that the run may have left on a device. ``start``: first line of its journal. Raises HccnError."""
    path = start.get("hccn_tool")
    if isinstance(path, str):
        RoceTest(HccnTool(path, RESET_SECONDS), Options()).reset(device)
