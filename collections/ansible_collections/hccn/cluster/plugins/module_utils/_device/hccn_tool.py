# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""hccn_tool as an object: the path is found once, a busy tool is asked again, failures become errors."""

from __future__ import annotations

import os
import shutil
import time
from typing import Any, Callable, Sequence, Tuple

from .._core import process
from .._core.errors import HccnError, InputError, ParseError
from .failures import BUSY, failure_of, set_failure_of
from .parse_network import parse_ping

DRIVER_TOOLS = "/usr/local/Ascend/driver/tools"
"""Where the driver installs hccn_tool (hicann/driver host_servers_setup.sh links it into /usr/bin)."""

BUSY_TRIES = 5
BUSY_PAUSE = 1.0

Runner = Callable[[Sequence[str], float], process.Result]


def find_program(name: str, folders: Sequence[str]) -> str:
    """The path of a program: a path as it stands, a bare name from PATH, then from ``folders``. Raises HccnError ``tool_missing``."""
    if os.sep in name:
        return name
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath)] + list(folders)))
    if found is None:
        raise HccnError("tool_missing", "%s is neither in PATH nor in %s" % (name, " or ".join(folders)), "install the driver, or give its path")
    return found


class HccnTool:
    """One host's hccn_tool (dialect of 910, A2 and A3). ``run`` is replaced in tests."""

    def __init__(self, path: str, timeout: float, run: Runner = process.run, sleep: Callable[[float], None] = time.sleep) -> None:
        self.path = path
        self.timeout = timeout
        self._run = run
        self._sleep = sleep

    def argv(self, device: int, *arguments: str) -> Tuple[str, ...]:
        """``hccn_tool -i DEVICE ...``. The tool takes an empty or odd id for device 0, so only an int passes. Raises InputError."""
        if not isinstance(device, int) or isinstance(device, bool) or device < 0:
            raise InputError("device id %r is not a whole number" % (device,))
        return (self.path, "-i", "%d" % device) + arguments

    def patient(self, timeout: float) -> "HccnTool":
        """The same tool, which may take at least ``timeout`` seconds a call."""
        return type(self)(self.path, max(self.timeout, timeout), self._run, self._sleep)

    def help(self) -> str:
        """What ``hccn_tool -h`` prints: both dialects know it. Raises HccnError ``timeout``."""
        result = self._run((self.path, "-h"), self.timeout)
        if result.timed_out:
            raise HccnError("timeout", "no answer within %.0f s: %s -h" % (result.duration_s, self.path))
        return result.stdout

    def run(self, device: int, *arguments: str) -> process.Result:
        """The finished run, whatever it says; a busy tool was asked BUSY_TRIES times."""
        argv = self.argv(device, *arguments)
        for _attempt in range(BUSY_TRIES - 1):
            result = self._run(argv, self.timeout)
            error = failure_of(result)
            if error is None or error.code != BUSY:
                return result
            self._sleep(BUSY_PAUSE)
        return self._run(argv, self.timeout)

    def query(self, device: int, *arguments: str) -> process.Result:
        """A run that only reads. Raises the HccnError that it tells of."""
        result = self.run(device, *arguments)
        error = failure_of(result)
        if error is not None:
            raise error
        return result

    def set(self, device: int, *arguments: str) -> process.Result:
        """A run that changes the device. Raises HccnError unless the tool says that it was successful."""
        result = self.run(device, *arguments)
        error = set_failure_of(result)
        if error is not None:
            raise error
        return result


class HccnTool950(HccnTool):
    """The hccn_tool of the 950: ``hccn_tool -g -COMMAND -i NPU [-u UDIE -p PORT]``. Only its queries are used."""

    def argv(self, device: int, *arguments: str) -> Tuple[str, ...]:
        """``arguments``: mode, command, then what goes behind the NPU. Raises InputError."""
        _path, *chosen = super().argv(device)
        return (self.path,) + arguments[:2] + tuple(chosen) + arguments[2:]


def ping_of(result: process.Result, parse: Callable[[str], Any] = parse_ping) -> Any:
    """A run of ``-ping -g``, or of what ``parse`` reads. Raises HccnError.

    Lost packets are a measurement, although the tool calls them a failure.
    """
    try:
        return parse(result.stdout)
    except ParseError:
        error = failure_of(result)
        if error is not None:
            raise error from None
        raise
