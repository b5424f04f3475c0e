# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Wait for the flock of a file, and find the process that holds it.

/proc/locks does not list locks of processes outside this PID namespace, or lists them with pid 0.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from typing import Iterable, List, NamedTuple, Sequence, Tuple

from .procfs import read_text
from .words import printable

UNKNOWN_HOLDER = "an unknown process, which runs in another PID namespace (a container) or on another host, or has ended"

# "2: FLOCK  ADVISORY  WRITE 3172 fe:01:2270407 0 EOF"; a waiting process has "->" before the kind (fs/locks.c, lock_get_status).
_FLOCK = re.compile(r"^\d+: FLOCK +\S+ +\S+ +(\d{1,10}) ([0-9a-f]{1,7}):([0-9a-f]{1,7}):(\d{1,20}) ", re.ASCII)
_MOUNT_ID = re.compile(r"^mnt_id:\s*(\d+)$", re.MULTILINE | re.ASCII)
_MOUNT = re.compile(r"^(\d+) \d+ (\d{1,7}):(\d{1,7}) ", re.MULTILINE | re.ASCII)

_PAUSE_SECONDS = 0.05


class Lock(NamedTuple):
    """A flock that is held. ``pid`` is 0 for a process that is not visible in this PID namespace."""

    pid: int
    device: int
    inode: int


def take(descriptor: int, seconds: float) -> bool:
    """Acquire the exclusive flock of an open file. Return False after ``seconds``. Raises OSError if the file cannot be locked at all."""
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                raise
        if time.monotonic() >= end:
            return False
        time.sleep(_PAUSE_SECONDS)


def parse_locks(text: str) -> Tuple[Lock, ...]:
    """Return the held flocks of /proc/locks, without other kinds of locks and without waiting processes."""
    found = filter(None, map(_FLOCK.match, text.splitlines()))
    return tuple(Lock(int(one.group(1)), os.makedev(int(one.group(2), 16), int(one.group(3), 16)), int(one.group(4))) for one in found)


def holders_in(text: str, devices: Sequence[int], inode: int) -> List[int]:
    """Return the pids that hold a flock of a file, from the text of /proc/locks."""
    return [lock.pid for lock in parse_locks(text) if lock.inode == inode and lock.device in devices]


def process_name(pid: int, proc: str = "/proc") -> str:
    """Return ``pid 4711 (hccn_tool)``, without the name if the process has ended."""
    name = printable(_text("%s/%d/comm" % (proc, pid)).rstrip("\n"))
    return "pid %d (%s)" % (pid, name) if name else "pid %d" % pid


def holder_of(descriptor: int, proc: str = "/proc") -> str:
    """Return the holders of the flock of an open file, as text for a message."""
    pids = holders_in(_text(proc + "/locks"), list(_devices(descriptor, proc)), os.fstat(descriptor).st_ino)
    return ", ".join(process_name(pid, proc) for pid in pids if pid) or UNKNOWN_HOLDER


def _devices(descriptor: int, proc: str) -> Iterable[int]:
    """Yield the device numbers that /proc/locks may use for the file: that of stat, and that of its mount, which differs for example on btrfs."""
    yield os.fstat(descriptor).st_dev
    mount = _MOUNT_ID.search(_text("%s/self/fdinfo/%d" % (proc, descriptor)))
    for found in _MOUNT.finditer(_text(proc + "/self/mountinfo")):
        if mount and found.group(1) == mount.group(1):
            yield os.makedev(int(found.group(2)), int(found.group(3)))


def _text(path: str) -> str:
    try:
        return read_text(path)
    except OSError:
        return ""
