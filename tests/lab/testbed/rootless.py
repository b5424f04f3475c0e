"""A user namespace in which an ordinary user is root, with enough IDs for sshd: from /etc/subuid, through newuidmap."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path

from . import kernel
from .plan import Unavailable

SMALLEST_RANGE = 65536 - 1  # the IDs of sshd's user and of nobody must be in it
MAP_SECONDS = 10


def own_range(path: str) -> tuple[int, int]:
    """Return the first ID and the number of IDs. Raise Unavailable."""
    uid = os.getuid()
    names = (pwd.getpwuid(uid).pw_name, str(uid))
    try:
        lines = [line.split(":") for line in Path(path).read_text().split()]
    except OSError:
        lines = []
    for owner, first, count in (line for line in lines if len(line) == 3):
        if owner in names and int(count) >= SMALLEST_RANGE:
            return int(first), int(count)
    raise Unavailable(f"{path} gives {names[0]} no range of {SMALLEST_RANGE} ids: run as root, or add the line {names[0]}:100000:65536")


def become_root_of_own() -> None:
    """Become root of a new user namespace. Raise Unavailable."""
    uid, gid, pid = os.getuid(), os.getgid(), os.getpid()
    users, groups = own_range("/etc/subuid"), own_range("/etc/subgid")
    gone_in, ready = os.pipe()
    helper = os.fork()
    if helper == 0:
        os._exit(_map(gone_in, pid, (("newuidmap", uid, users), ("newgidmap", gid, groups))))
    try:
        kernel.unshare(kernel.CLONE_NEWUSER)
    except OSError:
        raise Unavailable("the kernel lets ordinary users make no user namespaces: run as root, or see user.max_user_namespaces, "
                          "kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns") from None
    os.write(ready, b"g")
    if os.waitstatus_to_exitcode(os.waitpid(helper, 0)[1]) != 0:
        raise Unavailable("newuidmap and newgidmap refuse the ids of /etc/subuid and /etc/subgid: are they setuid root?")
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def _map(go: int, pid: int, maps: tuple[tuple[str, int, tuple[int, int]], ...]) -> int:
    """Map the IDs, in a process that is still outside the namespace."""
    os.read(go, 1)
    for program, own, (first, count) in maps:
        argv = [program, str(pid), "0", str(own), "1", "1", str(first), str(count)]
        if subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=MAP_SECONDS).returncode:
            return 1
    return 0
