# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The two locks of a run, and how another process of the host finds out whether a run is alive.

The host lock is an flock of STATE_DIR/.host-lock: one run at a time measures on a host. Its file is in the folder of the journals, which other users cannot
enter, so that none of them can hold it. It names the holder; its text counts only while it is locked, and stays when the lock is released.

The run lock is an flock of the journal. A process id proves a run alive only in its own PID namespace, and each pod has one; the lock proves it everywhere on
the host.

Both locks are held by the process of the runner and are released with it, however it ends. Children and guard close the descriptors that they inherit.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pwd
import re
import stat
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional

from .._core import procfs
from .._core.errors import HccnError, ParseError
from .._core.locks import take
from .._core.numbers import is_integer
from .._core.record import utc
from .._core.untrusted_text import json_object
from .plan import check_name
from .schedule import ip_text

NAME = ".host-lock"
"""No run can have this name, see plan.check_name."""

IN_USE = "host_in_use"

TRY_SECONDS = 1.0
"""How long a run that starts tries to take the lock: a process that checks whether the lock is free holds a shared lock for a moment."""
_LONGEST = 4096
_ANCESTORS = 32
_USER = re.compile(r"[A-Za-z0-9_.@$-]{1,64}")
_TIMESTAMP = re.compile(r"[0-9TZ:.-]{1,32}")


@dataclass(frozen=True)
class Holder:
    """The holder of the lock as far as the file names it. ``controller``: the address from which the user logged in by ssh."""

    run_id: Optional[str] = None
    pid: Optional[int] = None
    user: Optional[str] = None
    controller: Optional[str] = None
    since: Optional[str] = None

    @classmethod
    def this_process(cls, run_id: str) -> "Holder":
        """Return this process as the holder from now on."""
        return cls(run_id, os.getpid(), _user(), _controller(), utc())

    def as_dict(self) -> Dict[str, Any]:
        """Return the known fields."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def __str__(self) -> str:
        known = [text % value for text, value in (("pid %d", self.pid), ("user %s", self.user), ("from %s", self.controller)) if value is not None]
        name = "run %s" % self.run_id if self.run_id else "another run"
        return name + (" (%s)" % ", ".join(known) if known else "")


class HostLock:
    """The host lock, held while this descriptor is open in this process or in one forked from it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, state_dir: str, run_id: str) -> "HostLock":
        """Take the lock; on a file system without locks, none is held. Raises HccnError ``host_in_use``, ``state_dir_unusable`` or ``state_dir_unsafe``."""
        descriptor = _opened(state_dir)
        try:
            if not _locked(descriptor, TRY_SECONDS):
                raise in_use(_read(descriptor))
            lock = cls(descriptor)
            lock.write_holder(run_id)
        except BaseException:
            os.close(descriptor)
            raise
        return lock

    def write_holder(self, run_id: str) -> None:
        """Write this process to the file as the holder. A full disk does not matter: only the lock counts."""
        text = json.dumps(Holder.this_process(run_id).as_dict()).encode() + b"\n"
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text, 0)
        except OSError:
            pass

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        """Release the lock, unless a process forked from this one also holds it."""
        os.close(self._descriptor)


def taken_or_none(state_dir: str, run_id: str) -> Optional[HostLock]:
    """Return the lock, None if another run holds it. Raises HccnError as ``HostLock.take`` does."""
    try:
        return HostLock.take(state_dir, run_id)
    except HccnError as error:
        if error.code != IN_USE:
            raise
        return None


def in_use(holder: Holder) -> HccnError:
    """Return the error of a run that did not start because another one holds the lock."""
    since = "has been at work on this host since %s" % holder.since if holder.since else "is at work on this host"
    remedy = "end it with rdma_perf, state: absent and run_id: %s" % holder.run_id if holder.run_id else "find and end its process on the host"
    return HccnError(IN_USE, "%s %s, and one run measures on a host at a time" % (holder, since),
                     "wait for its end (check_fabric_wait_for_other_run_s), or %s" % remedy)


def holder(state_dir: str) -> Optional[Holder]:
    """Return the holder of the host lock, None if it is free. Raises HccnError ``state_dir_unusable`` if this user may not read the file."""
    path = os.path.join(state_dir, NAME)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except OSError as error:
        return _read(descriptor) if error.errno in _HELD else None
    finally:
        os.close(descriptor)


_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


def _opened(state_dir: str) -> int:
    path = os.path.join(state_dir, NAME)
    try:
        os.makedirs(state_dir, mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise _unusable(path, error) from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid not in (0, os.getuid()) or stat.S_IMODE(found.st_mode) & 0o077:
        os.close(descriptor)
        raise HccnError("state_dir_unsafe", "%s is not a regular file that only its owner can open" % path,
                        "remove it, and deny other users access to state_dir")
    return descriptor


def _unusable(path: str, error: OSError) -> HccnError:
    return HccnError("state_dir_unusable", "%s: %s" % (error.filename or path, error.strerror), "state_dir must be a directory that this user can write to")


def _locked(descriptor: int, seconds: float) -> bool:
    """Take the lock within ``seconds``. Return True also on a file system without locks."""
    try:
        return take(descriptor, seconds)
    except OSError as error:
        return error.errno not in _HELD


def _read(descriptor: int) -> Holder:
    """Return the holder that the file names, without fields that do not have the form that ``write_holder`` writes."""
    try:
        text = os.pread(descriptor, _LONGEST, 0)
    except OSError:
        return Holder()
    return _checked(json_object(text) or {})


def _checked(fields: Mapping[str, Any]) -> Holder:
    pid, controller = fields.get("pid"), fields.get("controller")
    try:
        run_id: Optional[str] = check_name("run_id", fields.get("run_id"))
    except HccnError:
        run_id = None
    return Holder(run_id, pid if is_integer(pid) and 0 < pid < 1 << 32 else None, _matching(_USER, fields.get("user")),
                  ip_text(controller) if isinstance(controller, str) else None, _matching(_TIMESTAMP, fields.get("since")))


def _matching(pattern: "re.Pattern[str]", value: Any) -> Optional[str]:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


def _user() -> Optional[str]:
    """Return the user who logged in, with sudo the user who called it."""
    try:
        return _matching(_USER, os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name)
    except KeyError:
        return "uid-%d" % os.getuid()


def _controller() -> Optional[str]:
    """Return the client address of the ssh session. sudo removes it from the environment, so search the environments of the ancestors."""
    pid = os.getpid()
    for _generation in range(_ANCESTORS):
        try:
            with open("/proc/%d/environ" % pid, "rb") as stream:
                found = [entry for entry in stream.read().split(b"\0") if entry.startswith(b"SSH_CONNECTION=")]
            if found:
                return ip_text(found[0].partition(b"=")[2].split(b" ")[0].partition(b"%")[0].decode("ascii", "replace"))
            pid = procfs.stat_of(pid).parent
        except (OSError, ValueError, ParseError):
            return None
        if pid <= 1:
            return None
    return None


# -- the run lock, and the identity of processes


def identity(pid: int) -> Optional[str]:
    """Return the boot id and start time of a process, which distinguish it from a later one with the same id. None if it has ended."""
    try:
        found = procfs.stat_of(pid)
    except (OSError, ParseError):
        return None
    return None if found.ended else "%s/%d" % (_boot(), found.start_ticks)


def namespace() -> Optional[str]:
    """Return the PID namespace of this process, None if it cannot be read."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return None


def lock_journal(descriptor: int) -> bool:
    """Lock a journal while this descriptor is open in this process or in one forked from it. Return False on a file system without locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_journal_locked(path: str) -> bool:
    """Return whether a process holds the lock of the journal, or True if that cannot be determined."""
    try:
        with open(path, "rb") as journal:
            fcntl.flock(journal, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def is_out_of_sight(start: Mapping[str, Any]) -> bool:
    """Return whether a run without a lock was started in another PID namespace since the host booted. Such a run cannot be proven dead from here."""
    return start.get("pid_namespace") not in (None, namespace()) and str(start.get("identity")).startswith(_boot() + "/")


def _boot() -> str:
    try:
        return procfs.read_text("/proc/sys/kernel/random/boot_id").strip()
    except OSError:
        return ""
