# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A table as its rules look at it: servers and devices found once, however malformed the document is."""

from __future__ import annotations

import socket
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.numbers import is_count

MAX_NUMBER = 0xFFFFFFFF
"""Numbers are read as unsigned 32 bit (hcomm sal.cc, SalStrToULong)."""

NOTHING: Mapping[str, Any] = {}
"""The fields of an entry that is no object; told from an empty object by identity."""

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
    within: str = ""

    @property
    def where(self) -> str:
        return "%sserver_list[%d].device[%d]" % (self.within, self.server, self.place)


class Server(NamedTuple):
    """``within``: the path to its server_list, with a dot at the end."""

    place: int
    fields: Mapping[str, Any]
    devices: List[Device]
    within: str = ""

    @property
    def where(self) -> str:
        return "%sserver_list[%d]" % (self.within, self.place)


class Table(NamedTuple):
    """``product`` as device_info names it (910A, A2, A3, 950; here also 310P), or None."""

    fields: Mapping[str, Any]
    servers: List[Server]
    devices: List[Device]
    product: Optional[str]


def objects(fields: Mapping[str, Any], key: str) -> List[Mapping[str, Any]]:
    """The members of a list, NOTHING in place of those that are no objects; empty where there is no list."""
    members = fields.get(key)
    return [member if isinstance(member, dict) else NOTHING for member in members] if isinstance(members, list) else []


def servers_of(fields: Mapping[str, Any], within: str = "") -> List[Server]:
    """The servers of the server_list in ``fields``."""
    return [Server(index, server, [_device(index, place, device, within) for place, device in enumerate(objects(server, "device"))], within)
            for index, server in enumerate(objects(fields, "server_list"))]


def _device(server: int, place: int, fields: Mapping[str, Any], within: str) -> Device:
    return Device(server, place, fields, number_of(fields, "device_id"), number_of(fields, "rank_id"), addresses_of(fields, "device_ip"), within)


def devices_of(servers: Sequence[Server]) -> List[Device]:
    return [device for server in servers for device in server.devices]


def table_of(document: Mapping[str, Any], product: Optional[str] = None) -> Table:
    """Any JSON object as a Table. Version 1.2 is of A3 only, so it tells the product where nobody else does."""
    servers = servers_of(document)
    return Table(document, servers, devices_of(servers), product or ("A3" if document.get("version") == "1.2" else None))


def text_of(fields: Mapping[str, Any], key: str) -> Optional[str]:
    """The value as text, where it is a string or (a mistake of its own) an integer; else None."""
    value = fields.get(key)
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def number_of(fields: Mapping[str, Any], key: str) -> Optional[int]:
    """The value as a number, where it consists of ASCII digits; else None."""
    text = fields.get(key)
    if not isinstance(text, str):
        text = text_of(fields, key)
    if not text or not is_count(text):
        return None
    number = int(text)
    return number if number <= MAX_NUMBER else None


def addresses_of(fields: Mapping[str, Any], key: str) -> Ends:
    """The comma-separated addresses of a value; an empty part at the end does not count, as in HCCL's SplitString."""
    text = text_of(fields, key)
    if not text:
        return ()
    if "," not in text:
        return ((text, packed(text)),)
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
