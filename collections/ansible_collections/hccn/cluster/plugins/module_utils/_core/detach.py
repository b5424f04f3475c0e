# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Run a background process that outlives the module.

The process is forked without exec, since the archive of the module, with all code that is not imported yet, is deleted when the module returns.
Ansible waits until the streams of the module are closed, so the process keeps none of them open.
"""

from __future__ import annotations

import os
import select
from typing import Callable, Sequence

from .errors import HccnError

START_SECONDS = 30.0

Work = Callable[[Callable[[], None]], None]


def detach(work: Work, keep: Sequence[int]) -> None:
    """Run ``work(ready)`` in a process with a new session, and return once it has called ``ready``.

    All descriptors except ``keep`` are replaced by /dev/null. Raises HccnError ``not_started``.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _become_daemon(work, [writing, *keep], writing)
    os.close(writing)
    os.waitpid(child, 0)
    started = select.select([reading], [], [], START_SECONDS)[0] and os.read(reading, 1)
    os.close(reading)
    if not started:
        raise HccnError("not_started", "the background process ended before it was ready", "check the system log and the free memory of this host")


def _become_daemon(work: Work, keep: Sequence[int], writing: int) -> None:
    """Become the background process. Never returns to the caller."""
    def ready() -> None:
        os.write(writing, b"1")
        os.close(writing)

    try:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            _release_streams(keep)
            work(ready)
    finally:
        os._exit(0)


def _release_streams(keep: Sequence[int]) -> None:
    """Replace inherited descriptors by /dev/null instead of closing them, since Python objects may close these numbers later."""
    null = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number not in keep and number != null:
            try:
                os.fstat(number)
            except OSError:
                continue
            os.dup2(null, number, inheritable=number <= 2)
