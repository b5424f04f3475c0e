# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read numbers and addresses as the C library does: hccn_tool takes some texts that Python does not, and the other way round."""

from __future__ import annotations

import re
import socket
from typing import Optional, Tuple

_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?)([0-9]+)")
_MAX_SIGNED = (1 << 63) - 1
_MAX_UNSIGNED = (1 << 64) - 1


def signed(text: str) -> Tuple[int, str]:
    """Return the number at the beginning of the text and the rest, as ``strtol``: 0 and the whole text without a number."""
    found = _NUMBER.match(text)
    if found is None:
        return 0, text
    number = int(found.group(2))
    limited = max(-number, -_MAX_SIGNED - 1) if found.group(1) == "-" else min(number, _MAX_SIGNED)
    return limited, text[found.end():]


def unsigned(text: str) -> Tuple[int, str]:
    """Return the number at the beginning of the text and the rest, as ``strtoul``, which takes negative numbers modulo 2^64."""
    found = _NUMBER.match(text)
    if found is None:
        return 0, text
    number = int(found.group(2))
    if number > _MAX_UNSIGNED:
        return _MAX_UNSIGNED, text[found.end():]
    return -number % (1 << 64) if found.group(1) == "-" else number, text[found.end():]


def whole_signed(text: str) -> Optional[int]:
    """Return the number that ``strtol`` reads from the whole text, None if something else follows. An empty text is 0."""
    number, rest = signed(text)
    return None if rest else number


def whole_unsigned(text: str) -> Optional[int]:
    """Return the number that ``strtoul`` reads from the whole text, None if something else follows. An empty text is 0."""
    number, rest = unsigned(text)
    return None if rest else number


def decimal(text: str) -> Optional[int]:
    """Return the number of a text of digits only, else None."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def ipv4(text: str) -> Optional[int]:
    """Return the number of an IPv4 address as ``inet_pton`` reads it: four numbers without leading zeros."""
    try:
        return int.from_bytes(socket.inet_pton(socket.AF_INET, text), "big")
    except (OSError, ValueError):
        return None


def ipv6(text: str) -> Optional[int]:
    """Return the number of an IPv6 address as ``inet_pton`` reads it."""
    try:
        return int.from_bytes(socket.inet_pton(socket.AF_INET6, text), "big")
    except (OSError, ValueError):
        return None
