# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Lists of names: their order, and how a sentence has them."""

from __future__ import annotations

import re
from typing import List, Optional, Sequence, Tuple

from .numbers import is_count

SHOWN = 8
_NUMBER = re.compile(r"([0-9]+)")


def some(names: Sequence[str], shown: int = SHOWN, count: Optional[int] = None) -> str:
    """``a, b and 3 more``: the first ``shown`` names. ``count``: how many there are in all, where ``names`` are only the first of them."""
    more = (len(names) if count is None else count) - len(names[:shown])
    return ", ".join(names[:shown]) + (" and %d more" % more if more > 0 else "")


def natural(name: str) -> List[Tuple[int, int, str]]:
    """A key by which n2 comes before n10, and numbers before letters."""
    return [(0, int(part), "") if is_count(part) else (1, 0, part) for part in _NUMBER.split(name) if part]
