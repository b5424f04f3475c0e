# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find the routers that packets with a given source port pass, as traceroute does, but with one packet for each hop, and without a program.

Routers that choose one of several links by a hash of addresses, protocol and ports send these packets over the same link as the RoCE packets of a test
with that source port. Linux reports the ICMP errors on the error queue of the socket (ip(7), IP_RECVERR; ipv6(7), IPV6_RECVERR).
"""

from __future__ import annotations

import os
import select
import socket
import struct
from typing import Dict, List, NamedTuple, Optional

ROCE_PORT = 4791
"""The UDP destination port of RoCE v2 (IANA)."""
MOST_HOPS = 8
"""A fabric of three tiers has five."""
ANSWER_SECONDS = 0.3
MOST_SILENT = 2
"""Hops in a row without an answer after which the rest is not tried: an RDMA card does not answer packets to ROCE_PORT."""

NETWORK_DEVICES, LOWER = "/sys/class/net", "lower_"
"""The network devices of Linux; each has a folder, with a link of this prefix for a device below it."""

_ERROR = struct.Struct("=IBBBBII")
"""struct sock_extended_err of linux/errqueue.h: errno, origin, ICMP type, code, padding, info, data. The address of the sender follows."""


class _Family(NamedTuple):
    """Constants of linux/in.h and linux/in6.h; ``address``: where a sockaddr contains the address; ``expired``: the ICMP type of a packet that was dropped."""

    level: int
    errors: int
    hop_limit: int
    address: slice
    expired: int


_FAMILIES: Dict[int, _Family] = {socket.AF_INET: _Family(socket.IPPROTO_IP, 11, socket.IP_TTL, slice(4, 8), 11),
                              socket.AF_INET6: _Family(socket.IPPROTO_IPV6, 25, socket.IPV6_UNICAST_HOPS, slice(8, 24), 3)}


class _Answer(NamedTuple):
    """The sender of an ICMP error. ``expired``: whether it is a router that dropped the packet, and not the end of the path."""

    address: str
    expired: bool


def routers(source: str, target: str, source_port: int, interface: Optional[str]) -> List[str]:
    """Return the addresses of the routers between two addresses in order, without those that do not answer; empty if nothing can be sent.

    ``interface``: from which packets are sent, None for that of the route; RDMA uses that of the GID. Nothing is sent from a bond, of whose links an RDMA
    card chooses another one than Linux. Takes at most MOST_HOPS * ANSWER_SECONDS.
    """
    found: List[str] = []
    if interface and _is_bond(interface):
        return found
    try:
        with socket.socket(socket.AF_INET6 if ":" in target else socket.AF_INET, socket.SOCK_DGRAM) as sender:
            constants = _FAMILIES[sender.family]
            sender.setsockopt(constants.level, constants.errors, 1)
            if interface:
                sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
            sender.bind((source, source_port))
            sender.connect((target, ROCE_PORT))
            silent = 0
            for hops in range(1, MOST_HOPS + 1):
                sender.setsockopt(constants.level, constants.hop_limit, hops)
                sender.send(b"")
                answer = _answer(sender)
                silent = 0 if answer else silent + 1
                if answer and answer.expired and answer.address not in found:
                    found.append(answer.address)
                if silent == MOST_SILENT or (answer and not answer.expired):
                    break
    except OSError:  # the port is in use, there is no route, or before Linux 5.7 root is needed to choose the interface
        pass
    return found


def _is_bond(interface: str) -> bool:
    """Return True for a bond and for its VLANs."""
    folder = os.path.join(NETWORK_DEVICES, interface)
    names = [interface, *(name[len(LOWER):] for name in os.listdir(folder) if name.startswith(LOWER))] if os.path.isdir(folder) else []
    return any(os.path.isdir(os.path.join(NETWORK_DEVICES, name, "bonding")) for name in names)


def _answer(sender: socket.socket) -> Optional[_Answer]:
    """Return the next ICMP error, None if none comes in time. Raises OSError."""
    constants = _FAMILIES[sender.family]
    errors = select.poll()
    errors.register(sender, 0)  # errors are always reported
    if not errors.poll(ANSWER_SECONDS * 1000):
        return None
    _data, ancillary, _flags, _target = sender.recvmsg(0, 512, socket.MSG_ERRQUEUE)
    for level, kind, data in ancillary:
        if (level, kind) == (constants.level, constants.errors):
            _errno, _origin, icmp_type, *_rest = _ERROR.unpack_from(data)
            return _Answer(socket.inet_ntop(sender.family, data[_ERROR.size:][constants.address]), icmp_type == constants.expired)
    return None
