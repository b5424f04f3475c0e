# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Run npu-smi: find its path once, limit the time of every call, and turn failures into errors."""

from __future__ import annotations

from typing import Callable, Optional, Sequence, Tuple

from .._core import process
from .._core.errors import HccnError
from .hccn_tool import Runner, find_program
from .parse_npu_smi import Board, Chip, Chips, Process, SuperPod, parse_board, parse_chips, parse_processes, parse_super_pod

FOLDERS = ("/usr/local/sbin", "/usr/local/bin")
"""Where the driver installs npu-smi. They are searched after PATH."""

TIMEOUT = 60.0


class NpuSmi:
    """The npu-smi of a host. Every method raises HccnError ``tool_missing``, ``timeout`` or ``unexpected_output``. Tests replace ``run``."""

    def __init__(self, name: str, run: Runner = process.run, find: Callable[[str, Sequence[str]], str] = find_program, timeout: float = TIMEOUT) -> None:
        self._name = name
        self._run = run
        self._find = find
        self._timeout = timeout
        self._path: Optional[str] = None

    def with_timeout(self, timeout: float) -> "NpuSmi":
        """Return the same npu-smi with ``timeout`` seconds for a call."""
        return type(self)(self._name, self._run, self._find, timeout)

    @property
    def path(self) -> str:
        """The path of npu-smi. Raises HccnError ``tool_missing``."""
        if self._path is None:
            self._path = self._find(self._name, FOLDERS)
        return self._path

    def _output(self, *arguments: str) -> str:
        argv = (self.path,) + arguments
        result = self._run(argv, self._timeout)
        if result.timed_out:
            raise HccnError("timeout", "no answer within %.0f s: %s" % (self._timeout, " ".join(argv)), "check dmesg and /var/log/npu")
        return result.stdout

    def chips(self) -> Chips:
        return parse_chips(self._output("info", "-m"))

    def processes(self) -> Tuple[Process, ...]:
        return parse_processes(self._output("info"))

    def board(self, chip: Chip) -> Board:
        return parse_board(self._output("info", "-t", "board", "-i", "%d" % chip.npu))

    def super_pod(self, chip: Chip) -> SuperPod:
        return parse_super_pod(self._output("info", "-t", "spod-info", "-i", "%d" % chip.npu, "-c", "%d" % chip.chip))
