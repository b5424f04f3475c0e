"""System calls for namespaces that Python does not provide, and processes identified by pid and start time."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG = 1
KEPT_FLAGS = MS_NOSUID | MS_NODEV | MS_NOEXEC  # a user namespace cannot remove these flags from a mount; statvfs and mount use the same numbers

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: str | int | None) -> None:
    values = [os.fsencode(item) if isinstance(item, str) else ctypes.c_ulong(item) if isinstance(item, int) else item for item in arguments]
    if getattr(_libc, name)(*values) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), f"{name} {' '.join(str(item) for item in arguments if item is not None)}")


def unshare(flags: int) -> None:
    _call("unshare", flags)


def enter(path: str) -> None:
    """Enter a namespace of /proc/PID/ns."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", descriptor, 0)
    finally:
        os.close(descriptor)


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    _call("mount", source, target, kind, flags, data)


def bind(source: str, target: str, read_only: bool = False) -> None:
    mount(source, target, None, MS_BIND | MS_REC)
    if read_only:
        mount("none", target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | (os.statvfs(target).f_flag & KEPT_FLAGS))


def enter_root(root: str) -> None:
    """Change the root and detach the old one."""
    os.chdir(root)
    _call("pivot_root", ".", ".")
    _call("umount2", ".", MNT_DETACH)
    os.chdir("/")


def set_hostname(name: str) -> None:
    _call("sethostname", name, len(name))


def die_with_parent() -> None:
    _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name: state, parent, ...; nothing if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def start_time(pid: int) -> int | None:
    """Return the kernel's start tick, which identifies a process together with its pid; None if the process has exited."""
    fields = _stat(pid)
    return None if not fields or fields[0] in "ZX" else int(fields[19])


def is_stopped(pid: int) -> bool:
    """Return True if the process is stopped or gone."""
    fields = _stat(pid)
    return not fields or fields[0] in "TtZX"


def parent(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def oldest_ancestor(pids: Iterable[int]) -> int:
    """Return the process from which the others of a program were forked. Pids do not show the order, because they wrap around at pid_max."""
    family = set(pids)
    [first] = [pid for pid in family if parent(pid) not in family]
    return first


def running(pid: int | None, started: int | None) -> bool:
    return pid is not None and started is not None and start_time(pid) == started


def end(pid: int, started: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to this process, but not to another one that reuses its pid."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if running(pid, started):
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        pass
    finally:
        os.close(descriptor)


def processes() -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def in_namespace_of(pid: int, kind: str = "pid") -> list[int]:
    """Return the processes that share this namespace with ``pid``, including itself."""
    try:
        wanted = os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return []
    found = []
    for other in processes():
        try:
            if os.readlink(f"/proc/{other}/ns/{kind}") == wanted:
                found.append(other)
        except OSError:
            continue
    return sorted(found)


def arguments(pid: int) -> list[str]:
    """Return the process's argv; empty if it is gone."""
    try:
        return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).rstrip("\0").split("\0")
    except OSError:
        return []
