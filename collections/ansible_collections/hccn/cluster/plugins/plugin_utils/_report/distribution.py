# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The distribution of measured pairs by their share of the expected value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .heatmaps import Expected, PairResults, share

STEP, LEAST, GREATEST = 0.025, 0.0, 1.25
LABELLED = 1.15
"""The share up to which the axis extends at least, since the expected value has a label beside it."""


@dataclass(frozen=True)
class Distribution:
    """``counts``: number of pairs by the lower share of a bin, ascending, including empty bins in between; ``below``: pairs below the limit."""

    counts: list[tuple[float, int]]
    expected: Expected
    unit: str
    below: int
    pairs: int


def build(measured: PairResults, expected: Expected) -> Distribution | None:
    """Return the distribution, None if nothing was measured."""
    unit = measured.metric.unit if measured.metric else ""
    shares = [share(result.value, expected, unit) for result in measured.results if result.value is not None]
    if not shares or not expected.value:
        return None
    places = Counter(int(min(max(part, LEAST), GREATEST) / STEP + 1e-9) for part in shares)
    first, last = min(*places, int(expected.limit / STEP) - 1), max(*places, int(LABELLED / STEP))
    return Distribution([(round(place * STEP, 4), places[place]) for place in range(first, last + 1)], expected, unit,
                        sum(part < expected.limit for part in shares), len(shares))
