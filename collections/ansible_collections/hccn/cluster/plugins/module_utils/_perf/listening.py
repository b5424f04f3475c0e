# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Ask the kernel whether a server listens, since perftest and iperf3 print nothing before they end.

A server must not be probed by connecting to it, since it serves one client only. With netlink (sock_diag(7)), the kernel returns listening sockets only.
If netlink is not available, or the server is in another network namespace, the tables in /proc are read (Documentation/networking/proc_net_tcp.rst).
Each takes milliseconds, since the kernel iterates over the whole hash table of connections, which has half a million buckets on a large machine.
"""

from __future__ import annotations

import ipaddress
import os
import pwd
import re
import socket
import struct
from typing import Iterator, List, NamedTuple, Optional, Set, Tuple, Union

from .._core import procfs
from .._core.errors import ParseError
from .._core.words import printable

LISTEN = "0A"
_LISTENING = 1 << int(LISTEN, 16)
_SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, _ERROR, _DONE = 20, 0x301, 2, 3
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI2s46x")
"""inet_diag_req_v2: family, protocol, no extensions, states, the port in network order; any address."""
_RESPONSE = struct.Struct("=BB2x2s62xI")
"""inet_diag_msg: family, state, the port; the inode."""
_ANSWER_SECONDS = 1.0
_NETLINK_SOCK_DIAG = 4
_Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def _rows(table: str, port: int) -> Iterator[List[str]]:
    """Yield the fields of the sockets that listen on ``port``, from the text of ``/proc/net/tcp`` or ``tcp6``."""
    for words in map(str.split, table.splitlines()[1:]):
        if len(words) > 9 and words[3] == LISTEN and int(words[1].rpartition(":")[2], 16) == port:
            yield words


def listening(table: str, port: int) -> Set[int]:
    """Return the inodes of the sockets that listen on ``port``, from the text of ``/proc/net/tcp`` or ``tcp6``."""
    return {int(words[9]) for words in _rows(table, port)}


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as table:
            return table.read()
    except OSError:
        return ""


class Listener(NamedTuple):
    """A listening socket. ``pid`` and ``name`` of its process are None if the process is not visible to this user or in this container."""

    pid: Optional[int]
    name: Optional[str]
    user: str

    def __str__(self) -> str:
        process = "a process that cannot be seen from here" if self.pid is None else "pid %d (%s)" % (self.pid, self.name)
        return "%s of the user %s" % (process, self.user)


def listeners(address: str, port: int, proc: str = "/proc") -> List[Listener]:
    """Return the listeners that occupy ``address`` and ``port`` in this network namespace."""
    owners = {inode: uid for name in ("tcp", "tcp6") for inode, uid in _occupants("%s/self/net/%s" % (proc, name), address, port)}
    found = []
    for pid in procfs.pids(proc) if owners else ():
        for inode in _sockets(pid, proc) & set(owners):
            found.append(Listener(pid, _name(pid, proc), _user(owners.pop(inode))))
    return found + [Listener(None, None, _user(uid)) for uid in sorted(set(owners.values()))]


def _occupants(path: str, address: str, port: int) -> Iterator[Tuple[int, int]]:
    """Yield inode and user id of the sockets in a table that listen on the port at this address or at the wildcard address."""
    wanted = ipaddress.ip_address(address.partition("%")[0])
    for words in _rows(_text(path), port):
        bound = _address(words[1].rpartition(":")[0])
        if wanted == bound or wanted.is_unspecified or bound.is_unspecified:
            yield int(words[9]), int(words[7])


def _address(text: str) -> _Address:
    """Parse an address of the kernel's tables: words of 32 bits in host byte order. An IPv4-mapped address becomes the IPv4 address."""
    found = ipaddress.ip_address(b"".join(struct.pack("=I", int(text[start:start + 8], 16)) for start in range(0, len(text), 8)))
    return getattr(found, "ipv4_mapped", None) or found


def _name(pid: int, proc: str) -> str:
    try:
        with open("%s/%d/comm" % (proc, pid), encoding="utf-8", errors="replace") as stream:
            return printable(stream.read().rstrip("\n"))
    except OSError:
        return "gone"


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def listens(pid: int, port: int, proc: str = "/proc") -> bool:
    """Return True if the process, or a child in its process group, listens on ``port`` in its network namespace, which may be that of a container.

    Sockets of other processes on that port do not count. Return False if the process is gone.
    """
    own = {inode for member in _group(pid, proc) for inode in _sockets(member, proc)}
    return bool(own) and any(own & found for found in _listening(pid, port, proc))


def _listening(pid: int, port: int, proc: str) -> Iterator[Set[int]]:
    """Yield the inodes of listening sockets of IPv4, then of IPv6."""
    same_namespace = proc == "/proc" and _namespace(proc, "self") == _namespace(proc, str(pid))
    for family, name in ((socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6")):
        inodes = by_netlink(family, port) if same_namespace else None
        yield listening(_text("%s/%d/net/%s" % (proc, pid, name)), port) if inodes is None else inodes


def _namespace(proc: str, pid: str) -> str:
    try:
        return os.readlink(os.path.join(proc, pid, "ns/net"))
    except OSError:
        return pid


def by_netlink(family: int, port: int) -> Optional[Set[int]]:
    """Return the inodes of the sockets of this network namespace that listen on ``port``; None where the kernel lacks the module tcp_diag."""
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, _LISTENING, struct.pack("!H", port))
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as line:
            line.settimeout(_ANSWER_SECONDS)
            line.sendto(_HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + request, (0, 0))
            return _receive(line, port)
    except OSError:
        return None


def _receive(line: socket.socket, port: int) -> Optional[Set[int]]:
    """Return the inodes of the response, which may come in several messages; None for an error."""
    found: Set[int] = set()
    while True:
        response, offset = line.recv(65536), 0
        while offset + _HEADER.size <= len(response):
            size, kind, _flags, _number, _pid = _HEADER.unpack_from(response, offset)
            if kind == _DONE:
                return found
            if kind == _ERROR or size < _HEADER.size + _RESPONSE.size:
                return None
            _family, _state, own, inode = _RESPONSE.unpack_from(response, offset + _HEADER.size)
            if struct.unpack("!H", own)[0] == port:
                found.add(inode)
            offset += (size + 3) & ~3


def _group(pid: int, proc: str) -> Set[int]:
    """Return the processes of the group that ``pid`` leads, including itself."""
    members = {pid}
    for one in procfs.pids(proc):
        try:
            if procfs.stat_of(one, proc).group == pid:
                members.add(one)
        except (OSError, ParseError):
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
