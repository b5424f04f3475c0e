# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find the running containers that have NPUs, by reading /proc only and without a container engine."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import Dict, Iterable, List, Mapping, Optional, Set, Tuple

from .._core import procfs
from .._core.errors import HccnError, ParseError
from . import container_files

_ID = "([0-9a-f]{64})"
_RUNTIMES = {"docker": "docker", "cri-containerd": "containerd", "nerdctl": "containerd", "crio": "crio", "libpod": "podman",
             "libpod-payload": "podman", "isulad": "isulad"}
_PREFIX = "(%s)" % "|".join(_RUNTIMES)
# The last part of a container's cgroup: a scope of systemd, the same without systemd, and the name that containerd uses for an unknown slice.
_SCOPE = re.compile(r"^%s-%s(?:\.scope)?$" % (_PREFIX, _ID))
_SLICE = re.compile(r":%s:%s$" % (_PREFIX, _ID))
_BARE = re.compile("^%s$" % _ID)
_LXC = re.compile(r"^lxc\.payload\.(.+)$")
# Static pods have the hash of their manifest in place of a UUID. systemd does not allow "-" within a part of a name.
_POD = re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?:$|[:/])")

_GONE = (FileNotFoundError, ProcessLookupError)
_NPU_NAME = re.compile("^davinci[0-9]+$")
_NPU_FILE = re.compile(r"/dev/davinci[0-9]+(?: \(deleted\))?$")
_HOST_NAME = re.compile("^v?davinci([0-9]+)$")
"""vdavinci100 of the host is a virtual NPU, which the engine maps as davinci100."""


@dataclass(frozen=True)
class ContainerId:
    """The container of a cgroup path. ``container`` is the full id that the engine uses (for lxc, the name)."""

    runtime: str
    container: str
    pod_uid: Optional[str]


@dataclass(frozen=True)
class Container:
    """A container with NPUs. ``container`` is the id that the engine uses, or the mount namespace. ``pids``: processes that hold an NPU open come first."""

    container: str
    runtime: str
    pod_uid: Optional[str]
    namespace: str
    pids: Tuple[int, ...]
    devices: Tuple[int, ...]


@dataclass(frozen=True)
class Scan:
    """The containers of a host. ``uninspected``: processes that this user may not inspect. ``hidden``: /proc does not list processes of other users."""

    containers: Tuple[Container, ...]
    processes: int
    uninspected: Tuple[int, ...]
    hidden: bool


def _container_id(path: str) -> Optional[ContainerId]:
    runtime, found, before = "", "", ""
    for part in path.split("/"):
        named = _SCOPE.match(part) or _SLICE.search(part)
        bare = _BARE.match(part)
        lxc = _LXC.match(part)
        if named:
            runtime, found = _RUNTIMES[named.group(1)], named.group(2)
        elif bare:
            runtime, found = _RUNTIMES.get(before, ""), part
        elif lxc:
            runtime, found = "lxc", lxc.group(1)
        before = part
    if not found:
        return None
    pod = _POD.search(path)
    return ContainerId(runtime or ("kubernetes" if pod else "unknown"), found, pod.group(1).replace("_", "-") if pod else None)


def parse_cgroup(text: str) -> Optional[ContainerId]:
    """Parse /proc/PID/cgroup; return the innermost container of the first line that names one, or None."""
    for line in text.splitlines():
        container_id = _container_id(line.split(":", 2)[-1])
        if container_id is not None:
            return container_id
    return None


def container_of(pid: int, proc: str = "/proc") -> Optional[ContainerId]:
    """Return the container of a process, None outside containers or if the process has ended or cannot be read."""
    try:
        with open(os.path.join(proc, str(pid), "cgroup"), encoding="utf-8", errors="replace") as stream:
            return parse_cgroup(stream.read())
    except OSError:
        return None


def _number(entry: os.stat_result) -> int:
    return entry.st_rdev if stat.S_ISCHR(entry.st_mode) else 0


def _npus_in(directory: int) -> Set[int]:
    """Return the device numbers of character devices with the name of an NPU in ``directory``, an open descriptor of the /dev of a container."""
    names = filter(_NPU_NAME.match, os.listdir(directory))
    return {_number(os.stat(name, dir_fd=directory, follow_symlinks=False)) for name in names} - {0}


def ids(numbers: Iterable[int], host: Mapping[int, int]) -> Set[int]:
    """Return the NPU ids on the host for device numbers.

    Other numbers are ignored: in a user namespace, a process can create files of any name, but no device files.
    """
    return {host[number] for number in numbers if number in host}


def host_npus(dev: str) -> Dict[int, int]:
    """Return the ids of the host's NPUs by device number."""
    found = {}
    for name in os.listdir(dev) if os.path.isdir(dev) else ():
        named = _HOST_NAME.match(name)
        try:
            number = _number(os.stat(os.path.join(dev, name))) if named else 0
        except OSError:
            continue
        if named and number:
            found[number] = int(named.group(1))
    return found


def _open_npus(process: str) -> Set[int]:
    """Return the device numbers of the NPUs that a process holds open. Raises OSError."""
    found = set()
    for descriptor in os.listdir(process + "/fd"):
        path = "%s/fd/%s" % (process, descriptor)
        try:
            if _NPU_FILE.search(os.readlink(path)):
                found.add(_number(os.stat(path)))
        except _GONE:
            continue
    return found - {0}


def _visible_npus(process: str) -> Set[int]:
    """Return the device numbers of the NPUs in the /dev of a process. Raises OSError."""
    root = os.open(process + "/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        descriptor = container_files.open_below(root, "/dev")
    except (FileNotFoundError, NotADirectoryError):
        return set()
    finally:
        os.close(root)
    try:
        directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=descriptor)
    except NotADirectoryError:
        return set()
    finally:
        os.close(descriptor)
    try:
        return _npus_in(directory)
    finally:
        os.close(directory)


def _is_kernel_thread(pid: int, proc: str) -> bool:
    """Return True for a kernel thread, and False if the process cannot be read."""
    try:
        return procfs.stat_of(pid, proc).kernel_thread
    except (OSError, ParseError):
        return False


def _main_thread_ended(pid: int, proc: str) -> bool:
    """Return True if only the main thread of the process has ended, and False if the process cannot be read."""
    try:
        return procfs.stat_of(pid, proc).main_thread_ended
    except (OSError, ParseError):
        return False


def _same_root(proc: str, process: str) -> bool:
    mine, other = os.stat(proc + "/self/root"), os.stat(process + "/root")
    return (mine.st_dev, mine.st_ino) == (other.st_dev, other.st_ino)


class _Scanner:
    """One pass over /proc, process by process."""

    def __init__(self, proc: str, host: Mapping[int, int]) -> None:
        self._proc = proc
        self._host = host
        self._own = self._host_namespaces()
        self._pids: Dict[Tuple[str, Optional[ContainerId]], List[int]] = {}
        self._open: Dict[int, Set[int]] = {}
        self._visible: Dict[Tuple[str, Optional[ContainerId]], Set[int]] = {}
        self.uninspected: List[int] = []

    def _host_namespaces(self) -> Set[str]:
        try:
            own = {os.readlink(self._proc + "/self/ns/mnt")}
        except OSError as error:
            raise HccnError("proc_unreadable", "%s/self/ns/mnt: %s" % (self._proc, error.strerror), "is /proc mounted?") from None
        try:
            own.add(os.readlink(self._proc + "/1/ns/mnt"))
        except OSError:
            pass  # only processes in the namespace of this process count as those of the host
        return own

    def probe(self, pid: int) -> None:
        """Probe a process. It is ignored if it ends meanwhile."""
        process = "%s/%d" % (self._proc, pid)
        try:
            self._probe(pid, process)
        except _GONE:
            if _main_thread_ended(pid, self._proc):
                self.uninspected.append(pid)
        except OSError:
            # The first process is always a process of the host.
            if pid != 1 and not _is_kernel_thread(pid, self._proc):
                self.uninspected.append(pid)

    def _probe(self, pid: int, process: str) -> None:
        namespace = os.readlink(process + "/ns/mnt")
        if namespace in self._own or _is_kernel_thread(pid, self._proc):
            return
        key = (namespace, parse_cgroup(procfs.read_text(process + "/cgroup")))
        open_ids = ids(_open_npus(process), self._host)
        if key not in self._visible:
            # Services of the host with separate mounts (PrivateTmp= of systemd) see the /dev of the host and are not containers.
            service = key[1] is None and _same_root(self._proc, process)
            self._visible[key] = set() if service else ids(_visible_npus(process), self._host)
        self._open[pid] = open_ids
        self._pids.setdefault(key, []).append(pid)

    def containers(self) -> List[Container]:
        """Return the containers with NPUs, sorted by their lowest pid."""
        found = []
        for key, pids in self._pids.items():
            namespace, container_id = key
            devices = self._visible[key].union(*(self._open[pid] for pid in pids))
            if devices:
                order = sorted(pids, key=lambda pid: (not self._open[pid], pid))
                container_id = container_id or ContainerId("unknown", namespace, None)
                found.append(Container(container_id.container, container_id.runtime, container_id.pod_uid, namespace, tuple(order), tuple(sorted(devices))))
        return sorted(found, key=lambda one: min(one.pids))


def scan(proc: str = "/proc", dev: str = "/dev") -> Scan:
    """Return the running containers that hold NPUs of the host open or have them in /dev. Raises HccnError ``proc_unreadable``."""
    scanner = _Scanner(proc, host_npus(dev))
    pids = procfs.pids(proc)
    for pid in pids:
        scanner.probe(pid)
    return Scan(tuple(scanner.containers()), len(pids), tuple(scanner.uninspected), 1 not in pids)
