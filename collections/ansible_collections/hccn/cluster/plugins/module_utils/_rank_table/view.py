# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A table as its rules look at it: servers and devices found once, however malformed the document is."""

from __future__ import annotations

import socket
from typing import Any, List, Mapping, NamedTuple, Optional, Tuple

MAX_NUMBER = 0xFFFFFFFF
"""Numbers are read as unsigned 32 bit (hcomm sal.cc, SalStrToULong)."""

NOTHING: Mapping[str, Any] = {}
"""The fields of an entry that is no object; told from an empty object by identity."""

MAX_DIGITS = 20

Ends = Tuple[Tuple[str, Optional[bytes]], ...]
"""Addresses as written and as bytes (4 or 16 of them); None where it is no address."""


class Device(NamedTuple):
    """``id`` and ``rank``: None where they are no numbers."""

    server: int
    place: int
    fields: Mapping[str, Any]
    id: Optional[int]
    rank: Optional[int]
    addresses: Ends

    @property
    def where(self) -> str:
        return "server_list[%d].device[%d]" % (self.server, self.place)


class Server(NamedTuple):
    place: int
    fields: Mapping[str, Any]
    devices: List[Device]

    @property
    def where(self) -> str:
        return "server_list[%d]" % self.place


class Table(NamedTuple):
    """``product`` as device_info names it (910A, A2, A3, 950; here also 310P), or None."""

    fields: Mapping[str, Any]
    servers: List[Server]
    devices: List[Device]
    product: Optional[str]


def _objects(fields: Mapping[str, Any], key: str) -> List[Mapping[str, Any]]:
    members = fields.get(key)
    return [member if isinstance(member, dict) else NOTHING for member in members] if isinstance(members, list) else []


def _device(server: int, place: int, fields: Mapping[str, Any]) -> Device:
    return Device(server, place, fields, number_of(fields, "device_id"), number_of(fields, "rank_id"), addresses_of(fields, "device_ip"))


def table_of(document: Mapping[str, Any], product: Optional[str] = None) -> Table:
    """Any JSON object as a Table."""
    servers = [Server(index, fields, [_device(index, place, device) for place, device in enumerate(_objects(fields, "device"))])
               for index, fields in enumerate(_objects(document, "server_list"))]
    return Table(document, servers, [device for server in servers for device in server.devices], product)


def text_of(fields: Mapping[str, Any], key: str) -> Optional[str]:
    """The value as text, where it is a string or (a mistake of its own) an integer; else None."""
    value = fields.get(key)
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def number_of(fields: Mapping[str, Any], key: str) -> Optional[int]:
    """The value as a number, where it consists of ASCII digits; else None."""
    text = text_of(fields, key)
    if not text or not text.isdigit() or not text.isascii() or len(text) > MAX_DIGITS:
        return None
    number = int(text)
    return number if number <= MAX_NUMBER else None


def addresses_of(fields: Mapping[str, Any], key: str) -> Ends:
    """The comma-separated addresses of a value; an empty part at the end does not count, as in HCCL's SplitString."""
    text = text_of(fields, key)
    if not text:
        return ()
    parts = text.split(",")
    return tuple((part, packed(part)) for part in (parts if parts[-1] else parts[:-1]))


def packed(address: str) -> Optional[bytes]:
    """The bytes of an IPv4 or IPv6 address (``fe80::1%eth0`` too), as inet_pton reads it; None where it is none."""
    try:
        if ":" in address:
            return socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
        return socket.inet_pton(socket.AF_INET, address)
    except (OSError, ValueError):
        return None
