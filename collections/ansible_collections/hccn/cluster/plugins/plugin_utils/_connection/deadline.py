# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A deadline for code that waits for a connection: its child processes are killed and the code is interrupted wherever it waits."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from types import FrameType

from ...module_utils._core import procfs
from ...module_utils._core.errors import ParseError

AGAIN_S = 1.0
"""Interval at which the signal is repeated, since an exception raised in a destructor or a callback of the garbage collector is lost."""


class NoAnswer(BaseException):
    """The deadline has passed. It does not derive from Exception, so that no connection plugin handles it as an error to retry."""


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """After ``seconds``, kill all descendants of this process and raise NoAnswer in the body.

    A timer that is already set, such as that of the keyword ``timeout``, continues; if it expires first, no deadline is added.
    """
    left, _interval = signal.getitimer(signal.ITIMER_REAL)
    if 0 < left <= seconds:
        yield
        return

    def expired(_number: int, _frame: FrameType | None) -> None:
        end_children(os.getpid())
        raise NoAnswer

    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left > 0:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left - (time.monotonic() - began)))


def end_children(pid: int) -> None:
    """Kill all descendants of a process that /proc lists. A shared ssh connection is not a descendant, since it runs in a separate session."""
    children: dict[int, list[int]] = {}
    for child in procfs.pids():
        with contextlib.suppress(OSError, ParseError):
            children.setdefault(procfs.stat_of(child).parent, []).append(child)
    found = list(children.get(pid, ()))
    for one in found:
        found += children.get(one, ())
    for one in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)
