# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Identify the ansible-playbook process of a run by boot, PID namespace, PID and start time, so that later runs can tell whether it still runs."""

from __future__ import annotations

import os
from pathlib import Path

from ...module_utils._core import procfs
from ...module_utils._core.numbers import is_count

PROC = Path("/proc")


def here(proc: Path = PROC) -> str:
    """Return an id of this boot and this PID namespace, in which a PID is unique; ``unknown`` without /proc."""
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_text().split("-")[0]
        return f"{boot}.{os.stat(proc / 'self/ns/pid').st_ino}"
    except OSError:
        return "unknown"


def started(pid: int, proc: Path = PROC) -> str | None:
    """Return when a running process started, in clock ticks; None if it does not run."""
    try:
        found = procfs.stat_of(pid, str(proc))
    except OSError:
        return None
    return None if found.ended else str(found.start_ticks)


def of_this_run() -> str:
    """Return the id of this run. Must be called in a worker of Ansible, whose parent is ansible-playbook."""
    pid = os.getppid()
    return f"{here()}.{pid}.{started(pid) or 0}"


def is_gone(owner: str) -> bool:
    """Return True only if it is certain that the process has ended: the owner is on this machine and the process does not run."""
    place, _dot, rest = owner.rpartition(".")
    place, _dot, pid = place.rpartition(".")
    return place == here() != "unknown" and is_count(pid) and started(int(pid)) != rest
