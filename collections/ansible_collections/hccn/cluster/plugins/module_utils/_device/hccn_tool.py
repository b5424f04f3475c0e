# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Run hccn_tool: find its path, retry while the tool is busy, and turn failures into errors."""

from __future__ import annotations

import os
import shutil
import time
from typing import Any, Callable, Optional, Sequence, Tuple

from .._core import process
from .._core.errors import HccnError, InputError, ParseError
from .._core.numbers import is_integer
from .failures import BUSY, failure_of, set_failure_of
from .parse_network import parse_ping

DRIVER_TOOLS = "/usr/local/Ascend/driver/tools"
"""Where the driver installs hccn_tool (hicann/driver host_servers_setup.sh links it into /usr/bin)."""

BUSY_TRIES = 5
BUSY_PAUSE = 1.0

Runner = Callable[[Sequence[str], float], process.Result]


def find_program(name: str, folders: Sequence[str]) -> str:
    """Return the path of a program. A bare name is searched in PATH and then in ``folders``. Raises HccnError ``tool_missing``."""
    if os.sep in name:
        return name
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath)] + list(folders)))
    if found is None:
        raise HccnError("tool_missing", "%s is neither in PATH nor in %s" % (name, " or ".join(folders)), "install the driver, or give its path")
    return found


class HccnTool:
    """The hccn_tool of a host (dialect of 910, A2 and A3). Tests replace ``run``."""

    def __init__(self, path: str, timeout: float, run: Runner = process.run, sleep: Callable[[float], None] = time.sleep) -> None:
        self.path = path
        self.timeout = timeout
        self._run = run
        self._sleep = sleep

    def argv(self, device: int, *arguments: str) -> Tuple[str, ...]:
        """Return the command ``hccn_tool -i DEVICE ...``. Raises InputError unless ``device`` is an int, since the tool reads an empty or invalid id as 0."""
        if not is_integer(device) or device < 0:
            raise InputError("device id %r is not a whole number" % (device,))
        return (self.path, "-i", "%d" % device) + arguments

    def with_timeout(self, timeout: float) -> "HccnTool":
        """Return the same tool with at least ``timeout`` seconds for a call."""
        return type(self)(self.path, max(self.timeout, timeout), self._run, self._sleep)

    def help(self) -> str:
        """Return the output of ``hccn_tool -h``, which both dialects support. Raises HccnError ``timeout``."""
        result = self._run((self.path, "-h"), self.timeout)
        if result.timed_out:
            raise HccnError("timeout", "no answer within %.0f s: %s -h" % (result.duration_s, self.path))
        return result.stdout

    def run(self, device: int, *arguments: str, before_retry: Optional[Callable[[], None]] = None) -> process.Result:
        """Return the result of a run, which may be a failure. While the tool is busy, it is tried up to BUSY_TRIES times.

        ``before_retry`` is called after each wait for the tool, and may raise HccnError.
        """
        argv = self.argv(device, *arguments)
        for _attempt in range(BUSY_TRIES - 1):
            result = self._run(argv, self.timeout)
            error = failure_of(result)
            if error is None or error.code != BUSY:
                return result
            self._sleep(BUSY_PAUSE)
            if before_retry is not None:
                before_retry()
        return self._run(argv, self.timeout)

    def query(self, device: int, *arguments: str) -> process.Result:
        """Run a command that only reads. Raises HccnError if it fails."""
        result = self.run(device, *arguments)
        error = failure_of(result)
        if error is not None:
            raise error
        return result

    def set(self, device: int, *arguments: str, before_retry: Optional[Callable[[], None]] = None) -> process.Result:
        """Run a command that changes the device. Raises HccnError unless the tool reports success. ``before_retry``: see ``run``."""
        result = self.run(device, *arguments, before_retry=before_retry)
        error = set_failure_of(result)
        if error is not None:
            raise error
        return result


class HccnTool950(HccnTool):
    """The hccn_tool of the 950: ``hccn_tool -g -COMMAND -i NPU [-u UDIE -p PORT]``. Only its queries are used."""

    def argv(self, device: int, *arguments: str) -> Tuple[str, ...]:
        """Return the command. ``arguments``: mode, command, and the arguments after the NPU. Raises InputError."""
        _path, *chosen = super().argv(device)
        return (self.path,) + arguments[:2] + tuple(chosen) + arguments[2:]


def ping_result(result: process.Result, parse: Callable[[str], Any] = parse_ping) -> Any:
    """Parse the result of ``-ping -g``, or of another command with its ``parse``. Raises HccnError.

    Lost packets are a measurement, although hccn_tool reports them as a failure.
    """
    try:
        return parse(result.stdout)
    except ParseError:
        error = failure_of(result)
        if error is not None:
            raise error from None
        raise
