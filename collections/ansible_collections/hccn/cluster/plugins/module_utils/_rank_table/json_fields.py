# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read single fields of a JSON document, which may be malformed. No function raises an error."""

from __future__ import annotations

import socket
from typing import Any, List, Mapping, Optional, Tuple

from .._core.numbers import is_count, is_integer

MAX_NUMBER = 0xFFFFFFFF
"""HCCL reads numbers as unsigned 32 bit (hcomm sal.cc, SalStrToULong)."""

NOTHING: Mapping[str, Any] = {}
"""Placeholder for an entry that is not an object. It is compared by identity, to distinguish it from an empty object."""

Addresses = Tuple[Tuple[str, Optional[bytes]], ...]
"""Addresses as written, each with its 4 or 16 bytes; None for text that is not an IP address."""


def entries(fields: Mapping[str, Any], key: str) -> List[Mapping[str, Any]]:
    """Return the members of a list, with NOTHING in place of those that are not objects; an empty list if the value is not a list."""
    members = fields.get(key)
    return [member if isinstance(member, dict) else NOTHING for member in members] if isinstance(members, list) else []


def text_of(fields: Mapping[str, Any], key: str) -> Optional[str]:
    """Return the value as text if it is a string, or an integer in place of a string; otherwise None."""
    value = fields.get(key)
    if isinstance(value, str):
        return value
    return str(value) if is_integer(value) else None


def number_of(fields: Mapping[str, Any], key: str) -> Optional[int]:
    """Return the value as a number if it consists of ASCII digits; otherwise None."""
    text = fields.get(key)
    if not isinstance(text, str):
        text = text_of(fields, key)
    if not text or not is_count(text):
        return None
    number = int(text)
    return number if number <= MAX_NUMBER else None


def addresses_of(fields: Mapping[str, Any], key: str) -> Addresses:
    """Return the comma-separated addresses of a value. An empty last part is dropped, as in HCCL's SplitString."""
    text = text_of(fields, key)
    if not text:
        return ()
    if "," not in text:
        return ((text, packed(text)),)
    parts = text.split(",")
    return tuple((part, packed(part)) for part in (parts if parts[-1] else parts[:-1]))


def packed(address: str) -> Optional[bytes]:
    """Return the bytes of an IPv4 or IPv6 address (also of ``fe80::1%eth0``) as inet_pton reads it; None for other text."""
    try:
        if ":" in address:
            return socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
        return socket.inet_pton(socket.AF_INET, address)
    except (OSError, ValueError):
        return None
