# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parts of the output that all collective tools have in common: tables of error texts, and the completeness of the result table.

Lines of several ranks may be printed without a line break in between, so every text is searched for inside lines. Sources: runs of real launchers.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Pattern, Sequence

from .._core.errors import HccnError
from .._core.words import ending
from .launch_causes import SEE_OUTPUT
from .launch_failure import LINE_LIMIT, line_of, of_code


class Known(NamedTuple):
    """A known error text, with the code and hint of its error."""

    code: str
    text: Pattern[str]
    hint: str


def known(code: str, text: str, hint: str) -> Known:
    return Known(code, re.compile(text), hint)


def timed_out_error(message: str) -> HccnError:
    """Return the error of a run that was stopped because of its time limit."""
    return of_code("timed_out", message)


def search(table: Sequence[Known], text: str) -> List[HccnError]:
    """Return the errors whose text occurs, in the order of ``table``; ``message`` is the line that the tool printed."""
    found = []
    for one in table:
        match = one.text.search(text)
        if match:
            found.append(HccnError(one.code, line_of(text, match.start(), match.end()), one.hint))
    return found


def once(errors: Sequence[HccnError]) -> List[HccnError]:
    """Return the first error of each code."""
    unique: Dict[str, HccnError] = {}
    for error in errors:
        unique.setdefault(error.code, error)
    return list(unique.values())


def incomplete(found: Sequence[int], expected: Sequence[int]) -> Optional[HccnError]:
    """Return None if there is exactly one row for every expected size, else the error. Sizes are in bytes."""
    if found and list(found) == list(expected):
        return None
    if not found:
        return of_code("no_table", "the output contains no row of the result table")
    missing = [size for size in expected if size not in found]
    if missing:
        return of_code("rows_missing", "%d of %d sizes have no row, the first is %d bytes" % (len(missing), len(expected), missing[0]))
    if not expected:
        return HccnError("rows_missing", "the log has %d row(s), but does not contain the requested sizes" % len(found), "set sizes to those of the run")
    extra = [size for size in found if size not in expected]
    return HccnError("unexpected_rows", "the rows for %s bytes do not belong to the requested sizes" % (extra[0] if extra else list(found)),
                     "the output belongs to another run, or to several runs")


OUTPUT_LIMIT = 65536
"""Characters of the output of a failed run in the result of the module. The last ones are kept. The history keeps them as a file."""
TAIL_LIMIT = 4096
"""Characters of the end of the output in a record."""


def tail(stdout: str, stderr: str, limit: int = OUTPUT_LIMIT) -> str:
    """Return the end of both streams, at most ``limit`` characters, cut between two words. A stream may use what the other one leaves."""
    out, err = stdout.strip(), stderr.strip()
    room = limit - 1
    half = room // 2
    parts = [ending(out, max(half, room - len(err))), ending(err, max(room - half, room - len(out)))]
    return "\n".join(part for part in parts if part)


def with_last_line(error: HccnError, output: str) -> HccnError:
    """Return the error with the last line of the output in its hint, if the hint refers to the output."""
    if not error.hint.endswith(SEE_OUTPUT):
        return error
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = "the output ends with: " + lines[-1][:LINE_LIMIT] if lines else "there is no output"
    return HccnError(error.code, error.message, error.hint[:-len(SEE_OUTPUT)] + last)


def rounded(value: float) -> float:
    """Return six significant digits; the time from which the value is computed has fewer."""
    return float("%.6g" % value)
