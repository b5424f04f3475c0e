# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check and parse numbers and sizes in the output of tools, in user input and in JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Union

from .errors import InputError, ParseError

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

MOST_DIGITS = 20
"""Number of digits of the largest 64-bit counter."""


def is_integer(value: Any) -> TypeGuard[int]:
    """Return True for an int, but not for a bool, although bool is a subclass of int."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> TypeGuard[Union[int, float]]:
    """Return True for an int or a float, but not for a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_count(text: str) -> bool:
    """Return True for ASCII digits that int() accepts. For some texts isdigit() is True although int() fails (``²``, thousands of digits)."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def count_of(text: str) -> int:
    """Return the number for digits that a pattern has matched. Raises ParseError if there are more digits than any tool prints."""
    if len(text) > MOST_DIGITS:
        raise ParseError("a number of %d digits: %s..." % (len(text), text[:8]))
    return int(text)


_SIZE = re.compile(r"([1-9][0-9]{0,17})([KMG]?)", re.IGNORECASE)
_UNITS = {"": 1, "K": 1024, "M": 1024 ** 2, "G": 1024 ** 3}


def parse_size(text: str) -> int:
    """Return the bytes of ``64K``, ``2M``, ``1G`` or a plain number; K, M and G are powers of 1024, as in the supported tools.

    Raises InputError. Leading zeros are refused, since hccl_test reads them as octal.
    """
    match = _SIZE.fullmatch(str(text).strip())
    if match is None:
        raise InputError("size %r is not a positive number of bytes with an optional K, M or G" % (text,), "write 64K, 2M or 65536")
    return int(match.group(1)) * _UNITS[match.group(2).upper()]
