# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The guard: a process that is forked before any side effect and cleans up if the worker dies, even by SIGKILL.

The guard holds the read end of a pipe. The worker writes "done" when everything is restored. An end of file without it means that the worker has
died. Then the guard kills, by pid, every process with the mark of this run in its environment, and runs the cleanup commands.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
import uuid
from types import TracebackType
from typing import Callable, List, Optional, Sequence, Type, Union

from . import locks, procfs
from .process import MARK

_DONE = b"done"
_SCAN_SECONDS = 5.0
_CLEANUP_TIMEOUT = 30.0
_LOCK_SECONDS = 3.0
_EXEC_READS = 20
_EXEC_SECONDS = 0.002

Cleanup = Union[Sequence[str], Callable[[], object]]


def _read(pid: int, name: str) -> bytes:
    with open("/proc/%d/%s" % (pid, name), "rb") as stream:
        return stream.read()


def _has_no_memory(pid: int) -> bool:
    """Return True for a kernel thread and for a process that has ended."""
    stat = procfs.stat_of(pid)
    return stat.ended or stat.kernel_thread


def _environment(pid: int) -> bytes:
    """Return the environment of a process. Retry while the kernel shows neither an environment nor a command line, as during an exec.

    Raises OSError if the process has ended or this user may not read it.
    """
    for _attempt in range(_EXEC_READS):
        seen = _read(pid, "environ")
        if seen:
            return seen
        if _has_no_memory(pid) or _read(pid, "cmdline"):
            break
        time.sleep(_EXEC_SECONDS)
    return _read(pid, "environ")


def marked_pids(mark: str) -> List[int]:
    """Return the pids of processes whose environment contains ``MARK=mark``, of those that this user may read."""
    needle = ("%s=%s" % (MARK, mark)).encode()
    found = []
    for pid in procfs.pids():
        if pid == os.getpid():
            continue
        try:
            if needle in _environment(pid).split(b"\0"):
                found.append(pid)
        except OSError:
            continue
    return found


def belongs_to_run(pid: int) -> bool:
    """Return True if a process belongs to the same run as this process, so that the same guard would kill it."""
    mark = os.environ.get(MARK)
    try:
        return mark is not None and ("%s=%s" % (MARK, mark)).encode() in _environment(pid).split(b"\0")
    except OSError:
        return False


def kill_marked(mark: str, written: Optional[str] = None) -> None:
    """Kill the processes with the mark, until two scans in a row find none, since a child may be between fork and exec during the first scan.

    ``written``: a file that the children rewrite in place while they hold its flock. The flock is acquired first, so that no child is killed between
    truncating and writing. A child that holds it for more than _LOCK_SECONDS is assumed to hang, and is killed as well.
    """
    held = _locked(written)
    try:
        _kill_until_none_is_left(mark)
    finally:
        if held is not None:
            os.close(held)


def _locked(path: Optional[str]) -> Optional[int]:
    """Return a descriptor that holds the flock of a file, None if the file could not be locked within _LOCK_SECONDS."""
    try:
        found = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK) if path else None
    except (OSError, ValueError):
        return None
    if found is None:
        return None
    try:
        if locks.take(found, _LOCK_SECONDS):
            return found
    except OSError:
        pass  # the file system has no locks
    os.close(found)
    return None


def _kill_until_none_is_left(mark: str) -> None:
    deadline = time.monotonic() + _SCAN_SECONDS
    quiet = 0
    while quiet < 2 and time.monotonic() < deadline:
        pids = marked_pids(mark)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        quiet = 0 if pids else quiet + 1
        if quiet < 2:
            time.sleep(0.1)


def run_quietly(argv: Sequence[str]) -> None:
    """Run a cleanup command with a timeout and without temporary files, and ignore failures."""
    try:
        subprocess.run(list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_CLEANUP_TIMEOUT, check=False)
    except (OSError, ValueError, subprocess.SubprocessError):
        pass


class Guard:
    """A context manager around all code that starts children or changes settings: ``with Guard(cleanup=[argv, ...], deadline=seconds):``.

    On exit, also by an exception, this process kills the marked children and runs the cleanup. If this process is killed or ``deadline`` seconds pass,
    the guard does so. ``cleanup``: argv lists, each with a separate timeout, or functions. Functions must not block and not import anything, since they
    run in the forked guard. ``written``: see kill_marked.
    """

    def __init__(self, cleanup: Sequence[Cleanup] = (), deadline: float = 3600.0, written: Optional[str] = None) -> None:
        self.mark = uuid.uuid4().hex
        self._cleanup = list(cleanup)
        self._deadline = deadline
        self._written = written
        self._pipe: Optional[int] = None
        self._before: Optional[str] = None
        self._pid = 0

    @property
    def pid(self) -> int:
        """The pid of the guard."""
        return self._pid

    def __enter__(self) -> "Guard":
        reading, writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            self._watch(reading, writing)
        os.close(reading)
        self._pipe = writing
        self._before = os.environ.get(MARK)
        os.environ[MARK] = self.mark
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if self._before is None:
            os.environ.pop(MARK, None)
        else:
            os.environ[MARK] = self._before
        if marked_pids(self.mark):
            kill_marked(self.mark, self._written)
        self._run_cleanup()
        if self._pipe is not None:
            try:
                os.write(self._pipe, _DONE)
            except BrokenPipeError:
                pass  # the guard has cleaned up after its deadline and ended
            os.close(self._pipe)
            os.waitpid(self._pid, 0)

    def _run_cleanup(self) -> None:
        for action in self._cleanup:
            if not callable(action):
                run_quietly(action)
                continue
            try:
                action()
            except (OSError, ValueError, subprocess.SubprocessError):
                continue

    def _watch(self, reading: int, writing: int) -> None:
        """Run the guard. Never returns to the caller."""
        try:
            os.close(writing)
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            self._release_streams(reading)
            if not self._done(reading):
                kill_marked(self.mark, self._written)
                self._run_cleanup()
        finally:
            os._exit(0)

    @staticmethod
    def _release_streams(keep: int) -> None:
        """Close the pipes of the caller, since Ansible waits until they are closed."""
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2 and int(name) != keep:
                try:
                    os.close(int(name))
                except OSError:
                    continue

    def _done(self, reading: int) -> bool:
        end = time.monotonic() + self._deadline
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([reading], [], [], left)[0]:
                return False
            return os.read(reading, len(_DONE)) == _DONE
