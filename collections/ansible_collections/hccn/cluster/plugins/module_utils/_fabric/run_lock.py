# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Does the process that works a run live? Its number tells only where its PID namespace is ours: a pod of the same host has its own.

Its lock of the journal tells everywhere on the host, and goes with the process, however that ends. Children and guard close what they inherit.
"""

from __future__ import annotations

import fcntl
import os
from typing import Any, Mapping, Optional

from .._core import procfs
from .._core.errors import ParseError


def identity(pid: int) -> Optional[str]:
    """What tells a process from a later one with its number: boot and start time; None where it is gone or only waits to be reaped."""
    try:
        found = procfs.stat_of(pid)
    except (OSError, ParseError):
        return None
    return None if found.ended else "%s/%d" % (_boot(), found.start_ticks)


def namespace() -> Optional[str]:
    """The PID namespace of this process, None where that is not told."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return None


def lock(descriptor: int) -> bool:
    """Locks a journal as long as this descriptor is open, here or in a process forked from this one. False where its file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_locked(path: str) -> bool:
    """Does somebody hold the lock of the journal, or can nobody tell?"""
    try:
        with open(path, "rb") as journal:
            fcntl.flock(journal, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def is_out_of_sight(start: Mapping[str, Any]) -> bool:
    """Was a run without a lock begun in another PID namespace, since the host started? Then nobody here can say that it is dead."""
    return start.get("pid_namespace") not in (None, namespace()) and str(start.get("identity")).startswith(_boot() + "/")


def _boot() -> str:
    try:
        return procfs.read_text("/proc/sys/kernel/random/boot_id").strip()
    except OSError:
        return ""
