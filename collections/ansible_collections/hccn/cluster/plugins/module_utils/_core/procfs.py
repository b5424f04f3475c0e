# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read processes from /proc (proc(5))."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import List

from .errors import ParseError
from .numbers import is_count
from .words import beginning

_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD (include/linux/sched.h), a bit in the field ``flags`` of /proc/PID/stat."""


@dataclass(frozen=True)
class Stat:
    """The used fields of /proc/PID/stat. ``start_ticks`` is the start time of the process in clock ticks since boot."""

    state: str
    parent: int
    group: int
    kernel_thread: bool
    threads: int
    start_ticks: int

    @property
    def ended(self) -> bool:
        """True for a process that has ended, even if it has not been reaped."""
        return self.state in ("Z", "X")

    @property
    def main_thread_ended(self) -> bool:
        """True if only the main thread has ended. Then /proc/PID shows neither the files nor the root of the process."""
        return self.state == "Z" and self.threads > 1


def parse_stat(text: str) -> Stat:
    """Parse /proc/PID/stat. The command name, in parentheses, may contain blanks and parentheses. Raises ParseError."""
    fields = text.rpartition(")")[2].split()
    try:
        return Stat(state=fields[0], parent=int(fields[1]), group=int(fields[2]), kernel_thread=bool(int(fields[6]) & _KERNEL_THREAD),
                    threads=int(fields[17]), start_ticks=int(fields[19]))
    except (IndexError, ValueError) as error:
        raise format_error("stat", text) from error


def stat_of(pid: int, proc: str = "/proc") -> Stat:
    """Read the state of a process. Raises OSError if the process does not exist or this user may not read it, and ParseError."""
    return parse_stat(read_text("%s/%d/stat" % (proc, pid)))


def pids(proc: str = "/proc") -> List[int]:
    """Return the pids in /proc, in ascending order. Raises OSError."""
    return sorted(int(name) for name in os.listdir(proc) if is_count(name))


def read_text(path: str) -> str:
    """Return the content of a file in /proc, with bytes replaced that are not UTF-8. Raises OSError."""
    with open(path, "rb") as stream:
        return stream.read().decode("utf-8", "replace")


def format_error(name: str, content: str) -> ParseError:
    """Return the error for a file of /proc/PID without the format of proc(5)."""
    return ParseError("/proc/PID/%s does not have the format of proc(5): %r" % (name, beginning(content, 120)))
