# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find out with nvidia-smi whether GPUs of this host are busy."""

from __future__ import annotations

from typing import List

from .._core import process
from .._core.errors import HccnError
from .._core.numbers import is_count
from .._device.busy import BUSY_HINT

SECONDS = 30
_QUERY = ["--query-compute-apps=pid,process_name", "--format=csv,noheader"]


def refuse_if_busy(nvidia_smi: str) -> None:
    """Raise HccnError ``device_busy`` if a process computes on a GPU of this host, ``busy_unknown`` if nvidia-smi does not report it.

    Without nvidia-smi the host has no GPU, and nothing is raised.
    """
    try:
        result = process.run([nvidia_smi] + _QUERY, SECONDS)
    except HccnError as error:
        if error.code == "tool_missing":
            return
        raise
    if result.rc != 0 or result.timed_out:
        lines = (result.stdout + result.stderr).strip().splitlines()
        raise HccnError("busy_unknown", "nvidia-smi does not report whether the GPUs are busy: %s" % (lines[0] if lines else "it does not answer"),
                        "give the path of nvidia-smi, or set allow_busy: true if you know that the GPUs are idle")
    running = parse(result.stdout)
    if running:
        raise HccnError("device_busy", "the GPUs are busy: %s" % ", ".join(running), BUSY_HINT)


def parse(stdout: str) -> List[str]:
    """Return ``pid 4711 (python3)`` for every process; the list is empty for idle GPUs."""
    found = []
    for line in stdout.splitlines():
        pid, comma, name = line.partition(",")
        if comma and is_count(pid.strip()):
            found.append("pid %s (%s)" % (pid.strip(), name.strip()))
    return found
