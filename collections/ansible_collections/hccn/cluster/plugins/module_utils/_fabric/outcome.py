# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What came of a pair, and the fields of its record that do not come from the tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from .plan import Pair

SOURCE, TARGET = "source", "target"
LINE_RATE = "line_rate_gbit_s"
"""In the context of a record: of one link, so of the slower of the two ends."""


class EndError(HccnError):
    """A failure that is known to be of one end."""

    def __init__(self, end: str, error: HccnError) -> None:
        super().__init__(error.code, error.message, error.hint)
        self.end = end


@dataclass(frozen=True)
class Outcome:
    """What came of a pair: ``samples``, or ``error``, with the end it is known to lie at. ``command`` empty where no client was started.

    ``line_rate``: Gbit/s of the slower of the two ends, None unless both are known."""

    attempt: int
    samples: List[Dict[str, Any]]
    error: Optional[HccnError]
    command: Sequence[str]
    started_at: float
    duration_s: float
    line_rate: Optional[float] = None


def as_fields(pair: Pair, outcome: Outcome, about: Optional[Mapping[str, Any]] = None) -> Mapping[str, Any]:
    """The fields of a pair's record that do not come from the tool. ``about``: what the context tells of the source."""
    context: Dict[str, Any] = {**(about or {}), "round": pair.round}
    context.pop(LINE_RATE, None)
    if pair.rail is not None:
        context["rail"] = pair.rail
    if outcome.line_rate is not None:
        context[LINE_RATE] = outcome.line_rate
    if isinstance(outcome.error, EndError):
        context["failed_end"] = outcome.error.end
    return {
        "source": pair.source.as_dict(), "target": pair.target.as_dict(), "context": context,
        "samples": outcome.samples, "error": outcome.error.as_dict() if outcome.error else None,
        "command": list(outcome.command) or None, "duration_s": round(outcome.duration_s, 3),
    }
