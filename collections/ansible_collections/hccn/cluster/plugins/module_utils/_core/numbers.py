# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Numbers in texts of others."""

from __future__ import annotations

from .errors import ParseError

MOST_DIGITS = 20
"""Of a counter of 64 bits."""


def is_count(text: str) -> bool:
    """Is it a number of ASCII digits that int() reads for sure? It refuses some texts that isdigit() likes (``²``), and thousands of digits."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def count_of(text: str) -> int:
    """Of digits that a pattern has found. Raises ParseError for more of them than any tool prints."""
    if len(text) > MOST_DIGITS:
        raise ParseError("a number of %d digits: %s..." % (len(text), text[:8]))
    return int(text)
