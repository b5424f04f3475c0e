# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find out whether devices are busy. Busy devices are neither changed nor tested unless the user allows it.

A device is busy if the process table of npu-smi shows a process, or if it has queue pairs (``-qp_info -g``), since npu-smi does not see processes of
every container.
"""

from __future__ import annotations

import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .._core.errors import HccnError
from .._core.guard import belongs_to_run
from .._core.numbers import count_of
from .containers import container_of
from .hccn_tool import HccnTool
from .host import Host, has_device_files
from .host import probe as probe_host
from .npu_smi import NpuSmi
from .parse_npu_smi import Process
from .read import MAX_PARALLEL

BUSY_HINT = "wait for the job to end, or set allow_busy: true"

NOT_IDLE = frozenset({"device_busy", "busy_unknown"})
"""Error codes of devices that are refused."""

MAX_AGE_S = 1.0
"""Maximum age of a result of BusyProbe. The devices of a host share the calls of npu-smi, so a run of thousands of pairs makes at most one each second."""

PROBE_TIMEOUT_S = 10.0
"""Timeout of npu-smi between two tests. It is shorter than elsewhere, since the other host of the pair waits."""

SETTLE_S = 2.0
"""Maximum time to wait until a device has released the queue pairs of the previous test."""

_SETTLE_PAUSE_S = 0.2

_QP_COUNT = re.compile(r"^total_qp_count:\s*(\d+)", re.MULTILINE)


def _describe_process(process: Process) -> str:
    """Return the pid of a process, and its name and its pod or container if they are known."""
    found = container_of(process.pid)
    where = None
    if found is not None:
        where = "pod %s" % found.pod_uid if found.pod_uid else "%s container %s" % (found.runtime, found.container[:12])
    known = ", ".join(part for part in (process.name, where) if part)
    return "pid %d (%s)" % (process.pid, known) if known else "pid %d" % process.pid


@dataclass(frozen=True)
class Usage:
    """The use of a device: its processes, and the number of its queue pairs (None if hccn_tool does not report it)."""

    processes: Tuple[Process, ...]
    queue_pairs: Optional[int]

    @property
    def sentence(self) -> str:
        """Describe the use. The text is empty for an idle device."""
        parts = [_describe_process(process) for process in self.processes]
        if not parts and self.queue_pairs:
            parts = ["%d queue pairs" % self.queue_pairs]
        return ", ".join(parts)


def processes_by_device(host: Host, processes: Sequence[Process]) -> Dict[int, List[Process]]:
    """Return the processes by physical device id. Raises HccnError ``busy_unknown`` for a process on an unknown chip."""
    devices = {(chip.npu, chip.chip): chip.device for chip in host.chips}
    found: Dict[int, List[Process]] = {}
    for process in processes:
        chip_ids = (process.npu, process.chip)
        if chip_ids not in devices:
            raise HccnError("busy_unknown", "npu-smi shows pid %d on NPU %d chip %d, which npu-smi info -m does not list"
                            % (process.pid, process.npu, process.chip))
        found.setdefault(devices[chip_ids], []).append(process)
    return found


def require_idle_host(smi: NpuSmi, devices: int, dev: str = "/dev") -> None:
    """Raise HccnError ``device_busy`` if one of the first ``devices`` NPUs of this host has a process, ``busy_unknown`` if npu-smi fails.

    For tools that use NPUs by number and without hccn_tool. A host without NPUs is idle, but a host with device files of NPUs has NPUs even if npu-smi
    does not report them.
    """
    try:
        seen = probe_host(smi)
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
    messages = ["device %d is busy: %s" % (device, Usage(tuple(found), None).sentence) for device, found in sorted(running.items()) if device < devices]
    if messages:
        raise HccnError("device_busy", "; ".join(messages), BUSY_HINT)


def _unknown(error: HccnError) -> HccnError:
    return HccnError("busy_unknown", "cannot find out whether the NPUs are busy: %s" % error.message,
                     "set the path of npu-smi, or set allow_busy: true if you know that the NPUs are idle")


def _queue_pairs(tool: HccnTool, device: int) -> Optional[int]:
    try:
        found = _QP_COUNT.search(tool.query(device, "-qp_info", "-g").stdout)
        return count_of(found.group(1)) if found else None
    except HccnError:
        return None


def probe(tool: HccnTool, smi: NpuSmi, host: Host, devices: Sequence[int]) -> Dict[int, Usage]:
    """Return the use of each device. Raises HccnError ``busy_unknown`` if npu-smi fails, since an unknown device may be busy.

    The queries of queue pairs come first, since they may wait for hccn_tool, and the processes must be recent when the caller uses a device.
    """
    if not devices:
        return {}
    with ThreadPoolExecutor(min(MAX_PARALLEL, len(devices))) as pool:
        pairs = list(pool.map(lambda device: _queue_pairs(tool, device), devices))
    try:
        running = processes_by_device(host, smi.processes())
    except HccnError as error:
        raise _unknown(error) from None
    return {device: Usage(tuple(running.get(device, ())), count) for device, count in zip(devices, pairs)}


def refusals(tool: HccnTool, smi: NpuSmi, host: Host, devices: Sequence[int], allow_busy: bool) -> Dict[int, Dict[str, Any]]:
    """Return the error of each busy device. With ``allow_busy`` nothing is probed and the result is empty."""
    if allow_busy:
        return {}
    try:
        usages = probe(tool, smi, host, devices)
    except HccnError as error:
        return {device: error.as_dict() for device in devices}
    return {
        device: HccnError("device_busy", "device %d is busy: %s" % (device, usage.sentence), BUSY_HINT).as_dict()
        for device, usage in usages.items() if usage.sentence
    }


class Cached:
    """Caches the result of a call, or its error, for MAX_AGE_S. Threads that call ``get`` during the call wait for its result and share it."""

    def __init__(self, call: Callable[[], Any], now: Callable[[], float]) -> None:
        self._call = call
        self._now = now
        self._lock = threading.Lock()
        self._updated: Optional[float] = None
        self._result: Any = None
        self._error: Optional[HccnError] = None

    def get(self) -> Any:
        requested = self._now()
        with self._lock:
            if self._updated is None or self._updated < requested - MAX_AGE_S:
                self._result = self._error = None
                try:
                    self._result = self._call()
                except HccnError as error:
                    self._error = error
                self._updated = self._now()
            if self._error is not None:
                raise HccnError(self._error.code, self._error.message, self._error.hint)
            return self._result


class BusyProbe:
    """Checks during a run whether other processes use the devices. It is thread-safe. Tests replace ``now`` and ``sleep``."""

    def __init__(self, tool: HccnTool, smi: NpuSmi, host: Host, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
        self._tool = tool
        self._smi = smi
        self._host = host
        self._now = now
        self._sleep = sleep
        short_timeout = smi.with_timeout(PROBE_TIMEOUT_S)
        self._running = Cached(lambda: processes_by_device(host, short_timeout.processes()), now)
        self._pairs: Dict[int, Cached] = {}

    @property
    def npu_smi(self) -> str:
        """The path of npu-smi. Raises HccnError ``tool_missing``."""
        return self._smi.path

    def refusals(self, devices: Sequence[int]) -> Dict[int, Dict[str, Any]]:
        """Return the error of each of ``devices`` that is busy now."""
        return refusals(self._tool, self._smi, self._host, devices, False)

    def require_idle(self, device: int, own_test: bool = False) -> None:
        """Raise HccnError ``device_busy`` or ``busy_unknown`` unless the device was idle at most MAX_AGE_S ago.

        Processes of this run are ignored. With ``own_test`` queue pairs are ignored as well, since a test of this run may have created them.
        """
        others, pairs = self._others(device), None
        if not others and not own_test:
            pairs = self._queue_pairs(device)
            others = self._others(device)  # the query may have waited for the device or the tool
        usage = Usage(others, pairs)
        if usage.sentence:
            raise HccnError("device_busy", "device %d is busy: %s" % (device, usage.sentence), BUSY_HINT)

    def _others(self, device: int) -> Tuple[Process, ...]:
        """Return the processes on a device that are not of this run, at most MAX_AGE_S old. Raises HccnError ``busy_unknown``."""
        try:
            running = self._running.get()
        except HccnError as error:
            raise _unknown(error) from None
        return tuple(process for process in running.get(device, ()) if not belongs_to_run(process.pid))

    def _queue_pairs(self, device: int) -> Optional[int]:
        """Return the number of queue pairs, after waiting for up to SETTLE_S: the device may release those of the previous test with a delay."""
        recent = self._pairs.setdefault(device, Cached(lambda: _queue_pairs(self._tool, device), self._now))
        found: Optional[int] = recent.get()
        end = self._now() + SETTLE_S
        while found and self._now() < end:
            self._sleep(_SETTLE_PAUSE_S)
            found = _queue_pairs(self._tool, device)
        return found
