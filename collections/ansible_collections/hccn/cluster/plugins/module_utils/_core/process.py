# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Child processes: argv lists only, the C locale, a deadline, a process group of their own.

A child that outlives this process is the guard's business (``_core.guard``): every child carries ``MARK`` in its environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import IO, Dict, Mapping, Optional, Sequence, Tuple

from .errors import HccnError

MARK = "HCCN_CLUSTER_GUARD"
"""Environment variable by which the guard finds the children of one run, also those that left their group."""

OUTPUT_LIMIT = 10 * 1024 * 1024
"""Bytes of each stream that are kept; roce_test's report buffer is 90 kB, the largest table of hccl_test far below 1 MB."""


@dataclass(frozen=True)
class Result:
    """What a finished child left. ``rc`` is negative for a signal, as in subprocess; ``timed_out``: it was killed at its deadline."""

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


class Child:
    """A started child. Its output goes to unlinked files, so a child that prints without end cannot block or fill memory."""

    def __init__(self, argv: Sequence[str], timeout: float, env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None) -> None:
        """Starts ``argv`` with nothing on standard input; it is killed ``timeout`` seconds from now.

        Raises HccnError ``tool_missing`` or ``tool_not_executable``.
        """
        self.argv = tuple(argv)
        self.started_at = time.time()
        self._started = time.monotonic()
        self._deadline = self._started + timeout
        self._timed_out = False
        self._stdout = tempfile.TemporaryFile()
        self._stderr = tempfile.TemporaryFile()
        try:
            self._popen = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=self._stdout, stderr=self._stderr,
                env=_environment(env), cwd=cwd, close_fds=True, start_new_session=True,
            )
        except FileNotFoundError:
            raise HccnError("tool_missing", "%s: no such program" % argv[0], "install it or give its path") from None
        except OSError as error:
            raise HccnError("tool_not_executable", "%s: %s" % (argv[0], error.strerror), "check its mode and its interpreter") from None

    @property
    def pid(self) -> int:
        return self._popen.pid

    def poll(self) -> bool:
        """Has it ended? A child past its deadline is killed first."""
        if self._popen.poll() is not None:
            return True
        if time.monotonic() >= self._deadline:
            self._timed_out = True
            self.kill()
            return True
        return False

    def kill(self) -> None:
        """SIGKILL to its whole group, then reaped. Nothing where it has ended: its number may be another's by now."""
        if self._popen.poll() is not None:
            return
        try:
            os.killpg(self._popen.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._popen.wait()

    def wait(self) -> Result:
        """Its result, at the latest at its deadline. Once only: the output is closed then."""
        try:
            self._popen.wait(max(0.0, self._deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._timed_out = True
            self.kill()
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
    """Runs ``argv`` to its end or its deadline. An interrupt of this process takes the child along."""
    child = Child(argv, timeout, env, cwd)
    try:
        return child.wait()
    except BaseException:
        child.kill()
        raise
