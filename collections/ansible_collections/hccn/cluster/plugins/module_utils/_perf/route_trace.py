# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find the routers that packets with a given source port pass, as traceroute does, but without a program.

Routers that choose one of several links by a hash of addresses, protocol and ports send these packets over the same link as the RoCE packets of a test
with that source port. For IPv6, many also hash the flow label, which the packets of a test have and these do not, so only IPv4 is traced. Linux reports the
ICMP errors on the error queue of the socket (ip(7), IP_RECVERR).
"""

from __future__ import annotations

import os
import select
import socket
import struct
from typing import List, NamedTuple, Optional

ROCE_PORT = 4791
"""The UDP destination port of RoCE v2 (IANA)."""
MOST_HOPS = 8
"""A fabric of three tiers has five."""
PROBES, ANSWER_SECONDS = 2, 0.2
"""Packets for each hop until one is answered, and the time for an answer. Switches limit the rate of their ICMP errors."""
MOST_SILENT = 2
"""Hops in a row without an answer after which the rest is not tried: an RDMA card does not answer packets to ROCE_PORT."""

NETWORK_DEVICES, LOWER = "/sys/class/net", "lower_"
"""The network devices of Linux; each has a folder, with a link of this prefix for a device below it."""
OF_BOND = ("bonding", "bonding_slave")
"""In the folder of a bond, and of a port of one."""

_RECVERR, _TIME_EXCEEDED = 11, 11
"""The option of linux/in.h, and the ICMP type of the error about a packet that a router dropped."""
_ERROR = struct.Struct("=IBBBBIIHH4s")
"""struct sock_extended_err of linux/errqueue.h (errno, origin, ICMP type, code, padding, info, data), and the sender: family, port, address."""


class _Answer(NamedTuple):
    """The sender of an ICMP error. ``expired``: whether it is a router that dropped the packet, and not the end of the path."""

    address: str
    expired: bool


def routers(source: str, target: str, source_port: int, interface: Optional[str]) -> List[str]:
    """Return the addresses of all routers between two addresses in order; an empty list if one of them does not answer, or if nothing can be sent.

    ``interface``: from which packets are sent, None for that of the route; RDMA uses that of the GID. Nothing is sent from a bond, of whose links an RDMA
    card may choose another one than Linux. Takes at most MOST_HOPS * PROBES * ANSWER_SECONDS, usually much less.
    """
    try:
        if ":" in target or (interface and _is_bond(interface)):
            return []
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setsockopt(socket.IPPROTO_IP, _RECVERR, 1)
            if interface:
                sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
            sender.bind((source, source_port))
            sender.connect((target, ROCE_PORT))
            return _routers(sender)
    except (OSError, ValueError, struct.error):  # the port is in use, there is no route, or before Linux 5.7 root is needed to choose the interface
        return []


def _routers(sender: socket.socket) -> List[str]:
    """Return the routers towards the target of a connected socket, none if one before another does not answer. Raises OSError."""
    found: List[str] = []
    silent = 0
    for hops in range(1, MOST_HOPS + 1):
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hops)
        answer = _probe(sender)
        if answer is None:
            silent += 1
            if silent == MOST_SILENT:
                return found
            continue
        if silent:
            return []
        if not answer.expired:
            return found
        found.append(answer.address)
    return found


def _probe(sender: socket.socket) -> Optional[_Answer]:
    """Send a packet and return the answer, None if several packets have none."""
    for _attempt in range(PROBES):
        while _answer(sender, 0.0):  # to an earlier packet
            pass
        sender.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # which the next call would raise otherwise
        sender.send(b"")
        answer = _answer(sender, ANSWER_SECONDS)
        if answer:
            return answer
    return None


def _answer(sender: socket.socket, seconds: float) -> Optional[_Answer]:
    """Return the next ICMP error, None if none comes in time."""
    errors = select.poll()
    errors.register(sender, 0)  # errors are always reported
    if not errors.poll(seconds * 1000):
        return None
    try:
        _data, ancillary, _flags, _target = sender.recvmsg(0, 512, socket.MSG_ERRQUEUE)
    except BlockingIOError:
        return None
    for level, kind, data in ancillary:
        if (level, kind) == (socket.IPPROTO_IP, _RECVERR):
            _errno, _origin, icmp_type, _code, _padding, _info, _data, _family, _port, address = _ERROR.unpack_from(data)
            return _Answer(socket.inet_ntoa(address), icmp_type == _TIME_EXCEEDED)
    return None


def _is_bond(interface: str) -> bool:
    """Return True for a bond, a port of one, and for what is above one, such as a VLAN."""
    folder = os.path.join(NETWORK_DEVICES, interface)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return any(name in OF_BOND for name in names) or any(_is_bond(name[len(LOWER):]) for name in names if name.startswith(LOWER))
