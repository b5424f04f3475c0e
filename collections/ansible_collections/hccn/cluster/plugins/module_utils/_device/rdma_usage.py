# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find out whether other programs use the RDMA devices of this host. Busy devices are not tested unless the user allows it.

A device is busy if a process has its device file open, as ``/proc/PID/fd`` shows, or if it has connected queue pairs of a process, as ``rdma resource`` of
iproute2 shows, also for processes of other containers. Queue pairs of the kernel, such as those of storage, do not count.
"""

from __future__ import annotations

import json
import os
import re
import time
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

from .._core import process, procfs
from .._core.errors import HccnError
from .._core.numbers import is_integer
from .._core.process import MARK
from .._core.words import printable
from .busy import BUSY_HINT, BusyProbe, Cached
from .rdma_sysfs import RdmaPort

RDMA = ("rdma", "-j", "resource", "show", "qp")
RDMA_TIMEOUT_S = 10.0
CONNECTED = frozenset({"RC", "UC", "XRC_INI", "XRC_TGT", "DRIVER"})
"""Types of queue pairs as rdma prints them (iproute2, rdma/res.c). Types of the subnet management and datagrams carry no bulk data."""
DAEMONS = frozenset({"ibacm"})
"""Services of rdma-core that keep all devices open without using them for data."""
MOST_NAMED = 8

_VERBS_FILE = re.compile(r"/infiniband/(uverbs\d+)$")
Runner = Callable[[Sequence[str], float], process.Result]


class User(NamedTuple):
    """A process that uses a device. ``pid`` is None if it is in another pid namespace."""

    pid: Optional[int]
    name: str

    def __str__(self) -> str:
        return "a process of another container" if self.pid is None else "pid %d (%s)" % (self.pid, self.name)


def parse_queue_pairs(text: str) -> Optional[Dict[str, Set[User]]]:
    """Return the processes with connected queue pairs by RDMA device, from the output of ``rdma -j resource show qp``; None for other output."""
    try:
        entries = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return None
    found: Dict[str, Set[User]] = {}
    for entry in entries:
        name, pid = str(entry.get("comm", "")), entry.get("pid")
        if entry.get("type") in CONNECTED and not name.startswith("["):
            found.setdefault(str(entry.get("ifname")), set()).add(User(pid if is_integer(pid) else None, printable(name)))
    return found


def open_files(proc: str) -> Tuple[Dict[str, Set[User]], bool]:
    """Return the processes that have each device file of libibverbs open, by its name, and whether the files of all processes could be read."""
    found: Dict[str, Set[User]] = {}
    complete = True
    try:
        pids = procfs.pids(proc)
    except OSError:
        return found, False
    for pid in pids:
        folder = "%s/%d/fd" % (proc, pid)
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            complete = False
            continue
        for name in names:
            verbs = _verbs_file(os.path.join(folder, name))
            if verbs:
                found.setdefault(verbs, set()).add(User(pid, _name(proc, pid)))
    return found, complete


def _verbs_file(link: str) -> Optional[str]:
    try:
        match = _VERBS_FILE.search(os.readlink(link))
    except OSError:
        return None
    return match.group(1) if match else None


def _name(proc: str, pid: int) -> str:
    try:
        return printable(procfs.read_text("%s/%d/comm" % (proc, pid)).rstrip("\n"))
    except OSError:
        return "ended"


class RdmaBusyProbe:
    """Checks before and during a run whether other processes use the RDMA devices. It is thread-safe. ``ports``: by the number of the device in the plan."""

    def __init__(self, ports: Mapping[int, RdmaPort], root: str = "/", run: Runner = process.run, now: Callable[[], float] = time.monotonic) -> None:
        self._ports = ports
        self._proc = os.path.join(root, "proc")
        self._run = run
        self._files = Cached(lambda: open_files(self._proc), now)
        self._queue_pairs = Cached(self._read_queue_pairs, now)

    def refusals(self, devices: Sequence[int]) -> Dict[int, Dict[str, Any]]:
        """Return the error of each of ``devices`` that is busy now."""
        found = {}
        for device in devices:
            try:
                self.require_idle(device)
            except HccnError as error:
                found[device] = error.as_dict()
        return found

    def require_idle(self, device: int, own_test: bool = False) -> None:
        """Raise HccnError ``device_busy`` or ``busy_unknown`` unless the device was idle a moment ago. Processes of this run are ignored."""
        port = self._ports.get(device)
        if port is None:
            return
        files, complete = self._files.get()
        by_queue_pairs = self._queue_pairs.get()
        if by_queue_pairs is None and not complete:
            raise HccnError("busy_unknown", "cannot find out whether %s is busy: this user cannot see the files of all processes, and rdma resource shows "
                            "no queue pairs" % port.device, "become root, install iproute2, or set allow_busy: true if you know that the device is idle")
        verbs = os.path.basename(port.verbs or "")
        users = sorted((user for user in files.get(verbs, set()) | (by_queue_pairs or {}).get(port.device, set()) if not self._is_ignored(user)), key=str)
        if users:
            more = " and %d more" % (len(users) - MOST_NAMED) if len(users) > MOST_NAMED else ""
            raise HccnError("device_busy", "%s is busy: %s%s" % (port.device, ", ".join(map(str, users[:MOST_NAMED])), more), BUSY_HINT)

    def _is_ignored(self, user: User) -> bool:
        return user.name in DAEMONS or (user.pid is not None and self._is_own(user.pid))

    def _is_own(self, pid: int) -> bool:
        mark = os.environ.get(MARK)
        try:
            return mark is not None and "%s=%s" % (MARK, mark) in procfs.read_text("%s/%d/environ" % (self._proc, pid)).split("\0")
        except OSError:
            return False

    def _read_queue_pairs(self) -> Optional[Dict[str, Set[User]]]:
        try:
            result = self._run(RDMA, RDMA_TIMEOUT_S)
        except HccnError:
            return None
        return None if result.rc != 0 or result.timed_out else parse_queue_pairs(result.stdout)


DeviceProbe = Union[BusyProbe, RdmaBusyProbe]
"""What finds busy devices of a host: NPUs, or RDMA devices."""


def ports_with(ports: Sequence[RdmaPort], addresses: Mapping[int, str]) -> Dict[int, RdmaPort]:
    """Return the RDMA ports that share a network device with these addresses, by the same keys. Devices without RDMA are left out."""
    owners: Dict[str, RdmaPort] = {gid.address: port for port in ports for gid in port.gids if gid.address}
    return {device: owners[address] for device, address in addresses.items() if address in owners}
