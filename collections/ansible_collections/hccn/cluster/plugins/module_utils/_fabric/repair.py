# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a run leaves when its runner and its guard were both killed is put right by the next call on the host: tools, tests on NPUs, the CPU's governor."""

from __future__ import annotations

import os
import signal
import time
from typing import Callable, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from .._core.guard import end_marked
from .._device.tool import HccnTool
from .._perf import governor
from .._perf.roce_test import Options, RoceTest
from . import journal as journals
from .journal import Snapshot
from .witness import identity

RESET_SECONDS = 30.0
GUARD_SECONDS = 60.0
DISMISS_SECONDS = 5.0


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
    """Ends the reporters that only wait for others, of one run or of all, since they hold the port; returns their runs."""
    names = [name for name in ([run_id] if run_id else journals.listed(state_dir)) if _reported(state_dir, name)]
    found = {name: snapshot for name, snapshot in ((name, journals.readable(state_dir, name)) for name in names)
             if snapshot is not None and snapshot.end.get("lingers") and snapshot.here}
    kill(list(found.values()))
    return sorted(found)


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


def _reported(state_dir: str, run_id: str) -> bool:
    """Was this host a reporter of the run?"""
    return os.path.exists(os.path.join(state_dir, run_id, journals.FABRIC))


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
    journals.end_dead(state_dir, run_id, HccnError(
        "runner_died", "the runner ended in mid-run: %d of %d pairs are in the journal" % (len(snapshot.records), snapshot.start.get("pairs_total", 0)),
        "the next call on this host has ended its tools and reset its NPUs; see the host's log for what killed it"))


def put_right(state_dir: str, run_id: str, snapshot: Snapshot, reset: Callable[[int], object], root: str) -> Dict[int, HccnError]:
    """What a dead runner left, after its guard, should that live: its tools, the tests on its NPUs by ``reset``, the governor.

    One that fails stops none of the others. Returns the NPUs that could not be reset.
    """
    await_guard(snapshot)
    end_marked(snapshot.start["mark"])
    failed = {}
    for device in snapshot.start["devices"]:
        try:
            reset(device)
        except HccnError as error:
            failed[device] = error
    _restore(state_dir, run_id, root)
    return failed


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
