# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Who a run is of: the process of ansible-playbook, by boot, namespace of pids, pid and start, so that a later run can see whether it still lives."""

from __future__ import annotations

import os
from pathlib import Path

from ...module_utils._core import procfs
from ...module_utils._core.numbers import is_count

PROC = Path("/proc")


def here(proc: Path = PROC) -> str:
    """This machine since its boot, and this container; a pid means something in it alone. ``unknown`` where there is no /proc."""
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_text().split("-")[0]
        return f"{boot}.{os.stat(proc / 'self/ns/pid').st_ino}"
    except OSError:
        return "unknown"


def started(pid: int, proc: Path = PROC) -> str | None:
    """Return when the process started, in clock ticks since the boot; None where it is gone."""
    try:
        found = procfs.stat_of(pid, str(proc))
    except OSError:
        return None
    return None if found.ended else str(found.start_ticks)


def of_this_run() -> str:
    """In a worker of Ansible, whose parent is ansible-playbook."""
    pid = os.getppid()
    return f"{here()}.{pid}.{started(pid) or 0}"


def is_gone(owner: str) -> bool:
    """True only where it is certain: an owner on this machine whose process is no more."""
    place, _dot, rest = owner.rpartition(".")
    place, _dot, pid = place.rpartition(".")
    return place == here() != "unknown" and is_count(pid) and started(int(pid)) != rest
