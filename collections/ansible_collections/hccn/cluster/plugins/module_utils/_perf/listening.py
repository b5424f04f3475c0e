# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Does a server listen? perftest and iperf3 tell nothing before they end, so the kernel's tables of sockets are read.

Connecting to find out would use the server up: it takes one client. Format: Linux, Documentation/networking/proc_net_tcp.rst.
"""

from __future__ import annotations

import os
import re
from typing import Set

LISTEN = "0A"
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def listening(table: str, port: int) -> Set[int]:
    """Inodes of the sockets that listen at ``port``, of the text of ``/proc/net/tcp`` or ``tcp6``."""
    found = set()
    for line in table.splitlines()[1:]:
        words = line.split()
        if len(words) > 9 and words[3] == LISTEN and int(words[1].rpartition(":")[2], 16) == port:
            found.add(int(words[9]))
    return found


def listens(pid: int, port: int, proc: str = "/proc") -> bool:
    """Does the process, or a child of its process group, listen at ``port``? By its own network namespace, so that a server in a container is seen.

    A socket of somebody else at that port does not count. False where the process is gone.
    """
    inodes: Set[int] = set()
    for name in ("tcp", "tcp6"):
        try:
            with open("%s/%d/net/%s" % (proc, pid, name), encoding="ascii", errors="replace") as table:
                inodes |= listening(table.read(), port)
        except OSError:
            continue
    return bool(inodes) and any(inodes & _sockets(member, proc) for member in _group(pid, proc))


def _group(pid: int, proc: str) -> Set[int]:
    """The processes of the group that ``pid`` leads, itself among them."""
    members = {pid}
    for name in os.listdir(proc):
        if name.isdigit():
            try:
                with open("%s/%s/stat" % (proc, name), encoding="utf-8", errors="replace") as status:
                    if int(status.read().rpartition(")")[2].split()[2]) == pid:
                        members.add(int(name))
            except (OSError, ValueError, IndexError):
                continue
    return members


def _sockets(pid: int, proc: str) -> Set[int]:
    folder = "%s/%d/fd" % (proc, pid)
    found: Set[int] = set()
    try:
        names = os.listdir(folder)
    except OSError:
        return found
    for name in names:
        try:
            match = _SOCKET.fullmatch(os.readlink(os.path.join(folder, name)))
        except OSError:
            continue
        if match:
            found.add(int(match.group(1)))
    return found
