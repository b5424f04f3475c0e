# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The lock of a state file: a file beside it that names the run which switches jobs.

A run lasts over many tasks, each in a process of its own, so no process could hold a flock for it. The lock names the ansible-playbook process instead, and a
lock whose process has ended is replaced. A flock protects only the reading and writing of the lock file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from typing import Any

from ...module_utils._core.errors import HccnError
from ...module_utils._core.words import printable
from .._jobs import owner

LIMIT = 4096
"""Bytes of a lock file."""


def path_of(state_file: str) -> str:
    return f"{state_file}.lock"


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    """Yield a descriptor of the lock file with its flock. The file is created, also where another run removes it meanwhile."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.stat(path).st_ino == os.fstat(descriptor).st_ino:
                    yield descriptor
                    return
        finally:
            os.close(descriptor)


def _holder(descriptor: int) -> dict[str, Any] | None:
    """Return the run that the lock names, None for a new file. A file with other content names a run that is never gone."""
    text = os.pread(descriptor, LIMIT, 0)
    if not text:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _described(holder: dict[str, Any]) -> str:
    host, pid, since = (printable(holder.get(key, "unknown")) for key in ("host", "pid", "since"))
    return f"pid {pid} on {host} since {since}"


def acquire(state_file: str, run: str, **described: str) -> None:
    """Lock the state file for a run, as ``owner.of_this_run`` names it. Raises HccnError ``locked`` while another run holds it."""
    path = path_of(state_file)
    with _opened(path) as descriptor:
        holder = _holder(descriptor)
        if holder is not None and holder.get("owner") != run and not owner.is_gone(str(holder.get("owner", ""))):
            raise HccnError("locked", f"{path} is held by another run of switch_upgrade ({_described(holder)}), which may be switching the same jobs",
                            "wait until that run has ended. If it has ended without removing the file, for example with its container, remove the file")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"owner": run, **described}).encode(), 0)


def release(state_file: str, run: str) -> None:
    """Remove the lock, unless another run holds it."""
    path = path_of(state_file)
    if not os.path.lexists(path):
        return
    with _opened(path) as descriptor:
        if (_holder(descriptor) or {"owner": run}).get("owner") == run:
            os.unlink(path)
