# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Judge how a collective ended, for all tools alike: first who failed, from the lines of the launcher, then what the table and the status say."""

from __future__ import annotations

import signal
from typing import List, Optional, Sequence

from .._core.errors import HccnError
from .launch_causes import CONSEQUENCES
from .launch_failure import LaunchError, Place, of_code
from .tool_output import timed_out_error

TIMEOUT_STATUS = 124
"""Status of timeout(1) when it ended mpirun."""
LARGEST_STATUS = 125
"""Larger statuses are those of shells and launchers."""
_ENDINGS = (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
"""Signals with which launchers and time limits end ranks."""


def relevant(errors: Sequence[HccnError], whole: bool, rc: Optional[int]) -> List[HccnError]:
    """Return the errors that count. A complete run with status 0 may print texts of launchers that are causes only in runs that fail."""
    if not whole or rc or (rc is None and any(isinstance(error, LaunchError) and error.fatal for error in errors)):
        return list(errors)
    return [error for error in errors if not isinstance(error, LaunchError) or error.fatal]


def cause_of(errors: Sequence[HccnError]) -> Optional[HccnError]:
    """Return the first error that names its cause, None if there is none."""
    return next((error for error in errors if not (isinstance(error, LaunchError) and error.later)), None)


def was_ended(rc: Optional[int], timed_out: bool) -> bool:
    """Return True if the launcher was ended from outside."""
    return timed_out or rc == TIMEOUT_STATUS or (rc is not None and -rc in _ENDINGS)


def ending(errors: Sequence[HccnError], rc: Optional[int], timed_out: bool, measured: str) -> Optional[HccnError]:
    """Return the error of a run without a known cause, None if nothing says why it ended. ``measured``: what was measured before."""
    ended = was_ended(rc, timed_out)
    at_limit = ended or any(error.code == "timed_out" for error in errors)
    for error in errors:
        # A launcher that is ended ends its ranks, which is not a crash.
        if not (at_limit and isinstance(error, LaunchError) and error.code == "rank_crashed" and error.signal in _ENDINGS):
            return error
    return timed_out_error("%s when the run was stopped" % measured) if ended else None


def by_status(rc: Optional[int], whole: bool, silent: bool, words: Sequence[str]) -> Optional[LaunchError]:
    """Return the error that the status of mpirun alone shows, None if it shows none. ``silent``: the launcher prints nothing itself; ``words``: other "
    "output."""
    if not rc:
        return None
    number = rc - 128
    if number in (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGTRAP):
        return of_code("rank_crashed", "mpirun ended with status %d: a rank was ended by signal %d" % (rc, number))
    if whole:
        return of_code("rank_exited", "the table is complete, but mpirun ended with status %d, which is that of a rank that failed afterwards" % rc)
    if silent and 0 < rc <= LARGEST_STATUS:
        return of_code("rank_exited", "mpirun ended with status %d, which is that of a rank, and printed no reason" % rc)
    if silent and not words:
        ended = "ended with status %d" % rc if rc > 0 else "was ended by signal %d" % -rc
        return of_code("no_output", "mpirun %s and gave no reason" % ended)
    return None


def rank_failed(line: str, host: str, status: str = "") -> LaunchError:
    """Return the error of a program that prints on which host it failed."""
    return of_code("rank_exited", line + status, [Place(host)])


_VAGUE = tuple(code for code in CONSEQUENCES if code != "rank_aborted") + ("no_table", "rows_missing", "summary_missing", "tool_failed")


def _quote(message: str) -> str:
    """Return the quoted part of a message, without hosts and details."""
    return message.partition(" (")[0].rpartition(": ")[2] or message


def explained(error: HccnError, words: Sequence[str]) -> HccnError:
    """Return the error with the first line of the output that may explain it, if it does not name a cause itself."""
    other = next((line for line in words if line not in error.message and _quote(error.message) not in line), None)
    if other is None or error.code not in _VAGUE:
        return error
    message = "%s; the output also says: %s" % (error.message, other)
    return error.with_message(message) if isinstance(error, LaunchError) else HccnError(error.code, message, error.hint)
