# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Lists in sentences."""

from __future__ import annotations

from typing import Optional, Sequence

SHOWN = 8


def some(names: Sequence[str], shown: int = SHOWN, count: Optional[int] = None) -> str:
    """``a, b and 3 more``: the first ``shown`` names. ``count``: how many there are in all, where ``names`` are only the first of them."""
    more = (len(names) if count is None else count) - len(names[:shown])
    return ", ".join(names[:shown]) + (" and %d more" % more if more > 0 else "")
