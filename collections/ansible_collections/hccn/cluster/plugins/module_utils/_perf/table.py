# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What the tables of all collective tests have in common."""

from __future__ import annotations

from typing import Optional, Sequence

from .._core.errors import HccnError


def incomplete(found: Sequence[int], expected: Sequence[int]) -> Optional[HccnError]:
    """None where there is one row for every expected size and no other; sizes in bytes."""
    if found and list(found) == list(expected):
        return None
    if not found:
        return HccnError("no_table", "the output holds no row of the result table", "see the output for the reason")
    missing = [size for size in expected if size not in found]
    if missing:
        return HccnError("rows_missing", "%d of %d sizes have no row, the first is %d bytes" % (len(missing), len(expected), missing[0]),
                         "the program stopped early; see the output for the reason")
    if not expected:
        return HccnError("rows_missing", "%d row(s), but the log does not tell which sizes were asked for" % len(found), "give sizes")
    extra = [size for size in found if size not in expected]
    return HccnError("unexpected_rows", "rows for %s bytes do not fit what was asked for" % (extra[0] if extra else list(found)),
                     "the output is of another run, or of several")


OUTPUT_LIMIT = 8000
"""Characters of a failed run's output that a result carries; the end tells why."""


def tail(stdout: str, stderr: str) -> str:
    """The end of both streams, bounded."""
    half = OUTPUT_LIMIT // 2
    parts = [text.strip()[-half:] for text in (stdout, stderr)]
    return "\n".join(part for part in parts if part)


def rounded(value: float) -> float:
    """Six significant digits; the time that it is computed from has fewer."""
    return float("%.6g" % value)
