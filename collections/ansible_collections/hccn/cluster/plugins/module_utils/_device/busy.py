# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Is a device at work? Asked before every set and before test traffic: a busy device is left alone unless the user says otherwise.

Two witnesses: the process table of npu-smi, and the queue pairs on the device (``-qp_info -g``), since npu-smi does not see every container.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .._core.errors import HccnError
from .._core.numbers import count_of
from .containers import place_of
from .host import Host, has_device_files
from .host import look as look_at
from .parse_npu_smi import Process
from .read import MAX_PARALLEL
from .smi import NpuSmi
from .tool import HccnTool

BUSY_HINT = "wait for the job to end, or set allow_busy: true"

_QP_COUNT = re.compile(r"^total_qp_count:\s*(\d+)", re.MULTILINE)


def _told(one: Process) -> str:
    """A process by its pid, its name, and the pod or container that it belongs to, as far as they can be seen."""
    place = place_of(one.pid)
    where = None
    if place is not None:
        where = "pod %s" % place.pod_uid if place.pod_uid else "%s container %s" % (place.runtime, place.container[:12])
    known = ", ".join(part for part in (one.name, where) if part)
    return "pid %d (%s)" % (one.pid, known) if known else "pid %d" % one.pid


@dataclass(frozen=True)
class Work:
    """What a device does: its processes, and its queue pairs (None where the tool cannot tell)."""

    processes: Tuple[Process, ...]
    queue_pairs: Optional[int]

    @property
    def sentence(self) -> str:
        """Empty for an idle device."""
        parts = [_told(one) for one in self.processes]
        if not parts and self.queue_pairs:
            parts = ["%d queue pairs" % self.queue_pairs]
        return ", ".join(parts)


def processes_by_device(host: Host, processes: Sequence[Process]) -> Dict[int, List[Process]]:
    """npu-smi's (NPU, chip) as physical ids; a process on a chip that is not known is an error of its own, never dropped."""
    names = {(chip.npu, chip.chip): chip.device for chip in host.chips}
    found: Dict[int, List[Process]] = {}
    for one in processes:
        place = (one.npu, one.chip)
        if place not in names:
            raise HccnError("busy_unknown", "npu-smi shows pid %d on NPU %d chip %d, which npu-smi info -m does not list" % (one.pid, one.npu, one.chip))
        found.setdefault(names[place], []).append(one)
    return found


def refuse_work_here(smi: NpuSmi, devices: int, dev: str = "/dev") -> None:
    """Raises HccnError where one of the first ``devices`` NPUs of this host has a process (``device_busy``) or npu-smi cannot tell.

    For tools that take the NPUs by number without hccn_tool. A host without NPUs has nothing to disturb; one with their device files has, whatever
    npu-smi says.
    """
    try:
        seen = look_at(smi)
    except HccnError as error:
        if error.code != "no_device":
            raise
        if not has_device_files(os.listdir(dev)):
            return
        raise _unknown(error) from None
    try:
        running = processes_by_device(seen, smi.processes())
    except HccnError as error:
        raise _unknown(error) from None
    told = ["device %d is at work: %s" % (device, Work(tuple(work), None).sentence) for device, work in sorted(running.items()) if device < devices]
    if told:
        raise HccnError("device_busy", "; ".join(told), BUSY_HINT)


def _unknown(error: HccnError) -> HccnError:
    return HccnError("busy_unknown", "whether the NPUs are at work cannot be told: %s" % error.message,
                     "give the path of npu-smi, or set allow_busy: true if you know that they are idle")


def _queue_pairs(tool: HccnTool, device: int) -> Optional[int]:
    try:
        found = _QP_COUNT.search(tool.query(device, "-qp_info", "-g").stdout)
        return count_of(found.group(1)) if found else None
    except HccnError:
        return None


def look(tool: HccnTool, smi: NpuSmi, host: Host, devices: Sequence[int]) -> Dict[int, Work]:
    """The work of each device. Raises HccnError ``busy_unknown`` where npu-smi cannot tell: not knowing is not idle."""
    if not devices:
        return {}
    try:
        running = processes_by_device(host, smi.processes())
    except HccnError as error:
        raise _unknown(error) from None
    with ThreadPoolExecutor(min(MAX_PARALLEL, len(devices))) as pool:
        pairs = list(pool.map(lambda device: _queue_pairs(tool, device), devices))
    return {device: Work(tuple(running.get(device, ())), count) for device, count in zip(devices, pairs)}


def refusals(tool: HccnTool, smi: NpuSmi, host: Host, devices: Sequence[int], allow_busy: bool) -> Dict[int, Dict[str, Any]]:
    """The error of each device that must be left alone; empty with ``allow_busy``, and then nothing is asked."""
    if allow_busy:
        return {}
    try:
        work = look(tool, smi, host, devices)
    except HccnError as error:
        return {device: error.as_dict() for device in devices}
    return {
        device: HccnError("device_busy", "device %d is at work: %s" % (device, doing.sentence), BUSY_HINT).as_dict()
        for device, doing in work.items() if doing.sentence
    }
