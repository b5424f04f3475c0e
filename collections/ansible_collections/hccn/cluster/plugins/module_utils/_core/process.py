# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Run child processes from argv lists, with the C locale, a deadline and a separate process group.

Every child has ``MARK`` in its environment, by which the guard (``_core.guard``) kills children that outlive this process.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import IO, Dict, Mapping, Optional, Sequence, Tuple

from .errors import HccnError

MARK = "HCCN_CLUSTER_GUARD"
"""Environment variable by which the guard finds the children of a run, even if they have left their process group."""

OUTPUT_LIMIT = 10 * 1024 * 1024
"""Number of bytes of each stream that are kept. The report buffer of roce_test is 90 kB, and the largest table of hccl_test is far below 1 MB."""


@dataclass(frozen=True)
class Result:
    """The result of a finished child. ``rc`` is negative for a signal, as in subprocess. ``timed_out``: the child was killed at its deadline."""

    argv: Tuple[str, ...]
    rc: int
    stdout: str
    stderr: str
    timed_out: bool
    started_at: float
    duration_s: float


def _environment(extra: Optional[Mapping[str, str]]) -> Dict[str, str]:
    whole = dict(os.environ)
    whole.update({"LC_ALL": "C", "LANGUAGE": "C"})
    whole.update(extra or {})
    return whole


_EXHAUSTED = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""Errors of fork and pipe when a limit of the host is reached."""

_LEAST_PAUSE, _MOST_PAUSE = 0.01, 0.05
"""Seconds after which to look again for the end of a child that has closed inherited descriptors, doubled each time."""

_REAP_SECONDS = 0.05
"""Time to wait until a process can be reaped after its files were closed."""


class Child:
    """A started child. Its output goes to unlinked files, so that a child with unlimited output can neither block nor exhaust the memory.

    The child also holds a pipe, which is closed when it ends, so that ``listen`` need not poll.
    """

    def __init__(self, argv: Sequence[str], timeout: float, env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None) -> None:
        """Start ``argv`` with an empty standard input and kill it after ``timeout`` seconds.

        Raises HccnError ``tool_missing``, ``tool_not_executable``, or ``cannot_start`` if a limit of the host is reached.
        """
        self.argv = tuple(argv)
        self.started_at = time.time()
        self._started = time.monotonic()
        self._deadline = self._started + timeout
        self._timed_out = False
        try:
            self._stdout = tempfile.TemporaryFile()
            self._stderr = tempfile.TemporaryFile()
            reading, writing = os.pipe()
        except OSError as error:
            raise self._cannot_start(error) from None
        self._end: Optional[int] = reading
        try:
            self._popen = self._start(writing, env, cwd)
        except BaseException:
            self._close_end_pipe()
            raise
        finally:
            os.close(writing)

    def _start(self, end: int, env: Optional[Mapping[str, str]], cwd: Optional[str]) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=self._stdout, stderr=self._stderr,
                env=_environment(env), cwd=cwd, close_fds=True, pass_fds=(end,), start_new_session=True,
            )
        except FileNotFoundError:
            raise HccnError("tool_missing", "%s: no such program" % self.argv[0], "install it or give its path") from None
        except OSError as error:
            if error.errno in _EXHAUSTED:
                raise self._cannot_start(error) from None
            raise HccnError("tool_not_executable", "%s: %s" % (self.argv[0], error.strerror), "check its mode and its interpreter") from None

    def _cannot_start(self, error: OSError) -> HccnError:
        return HccnError("cannot_start", "%s cannot be started: %s" % (self.argv[0], error.strerror),
                         "check that the folder of temporary files (TMPDIR) exists and has free space, and the limits of processes and open files of this user")

    @property
    def pid(self) -> int:
        return self._popen.pid

    def poll(self) -> bool:
        """Return True if the child has ended. A child past its deadline is killed first."""
        if self._popen.poll() is not None:
            return True
        if time.monotonic() >= self._deadline:
            self._timed_out = True
            self.kill()
            return True
        return False

    def listen(self, seconds: float, other: Optional[int] = None) -> bool:
        """Wait until the descriptor ``other`` can be read (True), the child has ended, or ``seconds`` are over."""
        waiting = select.poll()
        for descriptor in (other, self._end):
            if descriptor is not None:
                waiting.register(descriptor, select.POLLIN)
        ready = [descriptor for descriptor, _event in waiting.poll(1000 * max(0.0, seconds))]
        if self._end in ready:
            self._close_end_pipe()
            try:
                self._popen.wait(_REAP_SECONDS)
            except subprocess.TimeoutExpired:
                pass  # the child has closed inherited descriptors but still runs, so it must be polled from now on
        return other is not None and other in ready

    def _close_end_pipe(self) -> None:
        if self._end is not None:
            os.close(self._end)
            self._end = None

    def kill(self) -> None:
        """Send SIGKILL to the process group and reap the child. Do nothing if it has ended, since another process may already have its pid."""
        self._close_end_pipe()
        if self._popen.poll() is not None:
            return
        try:
            os.killpg(self._popen.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._popen.wait()

    def wait(self) -> Result:
        """Wait for the child, at most until its deadline, and return the result. It must only be called once, since it closes the output."""
        pause = _LEAST_PAUSE
        while not self.poll():
            # Popen.wait() may notice the end 50 ms late, which is as long as a read of hccn_tool takes.
            self.listen(min(pause, self._deadline - time.monotonic()))
            pause = min(2 * pause, _MOST_PAUSE)
        self._close_end_pipe()
        return Result(
            self.argv, self._popen.returncode, _text(self._stdout), _text(self._stderr),
            self._timed_out, self.started_at, time.monotonic() - self._started,
        )


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    kept = stream.read(OUTPUT_LIMIT)
    stream.close()
    return kept.decode("utf-8", "replace")


def run(argv: Sequence[str], timeout: float, env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None) -> Result:
    """Run ``argv`` until it ends or its timeout expires. An exception in this process, such as an interrupt, kills the child."""
    child = Child(argv, timeout, env, cwd)
    try:
        return child.wait()
    except BaseException:
        child.kill()
        raise
