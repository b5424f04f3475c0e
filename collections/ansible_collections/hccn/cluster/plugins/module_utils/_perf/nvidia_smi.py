# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find out with nvidia-smi whether GPUs of this host are busy."""

from __future__ import annotations

from typing import List, NamedTuple

from .._core import process
from .._core.errors import HccnError
from .._core.numbers import is_count
from .._core.words import printable
from .._device.busy import BUSY_HINT

SECONDS = 30
_QUERY = ["--query-compute-apps=pid,process_name", "--format=csv,noheader"]


class GpuProcess(NamedTuple):
    """A compute process on a GPU."""

    pid: int
    name: str

    def __str__(self) -> str:
        return "pid %d (%s)" % (self.pid, self.name)


def refuse_if_busy(nvidia_smi: str) -> None:
    """Raise HccnError ``device_busy`` if a process computes on a GPU of this host, ``busy_unknown`` if nvidia-smi does not report it."""
    running = compute_processes(nvidia_smi)
    if running:
        raise HccnError("device_busy", "the GPUs are busy: %s" % ", ".join(map(str, running)), BUSY_HINT)


def compute_processes(nvidia_smi: str) -> List[GpuProcess]:
    """Return the processes that compute on the GPUs of this host. Without nvidia-smi the host has no GPU, and there are none.

    Raises HccnError ``busy_unknown`` if nvidia-smi does not report them.
    """
    try:
        result = process.run([nvidia_smi] + _QUERY, SECONDS)
    except HccnError as error:
        if error.code == "tool_missing":
            return []
        raise
    if result.rc != 0 or result.timed_out:
        lines = (result.stdout + result.stderr).strip().splitlines()
        raise HccnError("busy_unknown", "nvidia-smi does not report whether the GPUs are busy: %s" % (lines[0] if lines else "it does not answer"),
                        "give the path of nvidia-smi, or set allow_busy: true if you know that the GPUs are idle")
    return parse(result.stdout)


def parse(stdout: str) -> List[GpuProcess]:
    """Return the processes in the output of nvidia-smi, none for idle GPUs."""
    found = []
    for line in stdout.splitlines():
        pid, comma, name = line.partition(",")
        if comma and is_count(pid.strip()):
            found.append(GpuProcess(int(pid.strip()), printable(name.strip())))
    return found
