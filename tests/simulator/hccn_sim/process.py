"""Processes that outlive the call that started them, identified by pid and start time."""

from __future__ import annotations

import os

from .clock import Clock

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

STEP_SECONDS = 0.005


def start_time(pid: int) -> str:
    """Return the kernel's start time of a process, empty if it has exited."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if fields[0] in ("Z", "X") else fields[19]


def alive(record: Mapping[str, Any]) -> bool:
    """``record`` contains pid and start time, or no pid."""
    return bool(record.get("pid")) and start_time(record["pid"]) == record["started"]


def wait(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = Clock.now() + seconds
    while not condition():
        if Clock.now() > deadline:
            return False
        Clock.sleep(STEP_SECONDS)
    return True


def spawn(argv: list[str]) -> None:
    """Start a process that shares nothing with this one: parent, session, environment, folder, files."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            os.closerange(3, 1024)
            os.execve(argv[0], argv, {})
    finally:
        os._exit(0)
