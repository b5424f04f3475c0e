# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What is normal among measurements of one kind, and from where on one of them is out of it.

The reference is what the better part reaches: bad components only take bandwidth away, and a quarter of bad hosts spoils half of the pairs, so the
median of all would be one of the bad. Spread is the MAD of that part, or how far the values above the reference lie from it, whichever is more. A
gate is the larger of a share and of a multiple of the spread.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import sqrt
from statistics import NormalDist, median

RISK = 0.001
"""Of naming anything without cause in a whole run, shared by all components that are looked at (Bonferroni)."""

LEAST_SPREAD = 0.005
"""Relative. Values that are all the same say that the tool rounds."""

FEW = 40
SPREAD_OF_FEW = 0.025
"""With fewer than FEW values the upper ones do not tell the spread."""

LARGEST_STEP = 0.01
"""Of values with three digits."""

UPPER, TOP = 0.8, 0.95
"""The quantiles that tell where the better part lies and how wide it is."""

_NORMAL = NormalDist()
_UPPER_Z, _TOP_Z = _NORMAL.inv_cdf(UPPER), _NORMAL.inv_cdf(TOP)
_WINDOW = 4.0
_MAD = 1.4826


@dataclass(frozen=True)
class Normal:
    """``reference`` in the unit of the values; ``spread``: relative standard deviation of one value; ``count``: values that it rests on."""

    reference: float
    spread: float
    count: int

    @property
    def safe_spread(self) -> float:
        """An upper bound: the MAD of few values is often too small."""
        return self.spread * (1 + 2 / sqrt(0.74 * self.count))


@dataclass(frozen=True)
class Gates:
    """Relative drops. ``bad``: from here on a value is held against its ends, and twice names one; ``certain``: once is enough; ``good``: up to
    here a value clears its ends. ``chance``: how often a sound value is beyond ``bad``."""

    good: float
    bad: float
    certain: float
    chance: float


def normal(values: Sequence[float]) -> Normal:
    """Of values where more is better, at least one. Up to about two thirds of them may be low."""
    ordered = _unrounded(sorted(values))
    count = len(ordered)
    upper, top = (ordered[min(count - 1, int(share * count))] for share in (UPPER, TOP))
    width = max((top - upper) / (_TOP_Z - _UPPER_Z), LEAST_SPREAD * upper, SPREAD_OF_FEW * upper if count < FEW else 0.0)
    kept = ordered[bisect_left(ordered, upper - (_UPPER_Z + _WINDOW) * width):]
    reference = median(kept)
    spread = _MAD * median(abs(value - reference) for value in kept)
    above = [value - reference for value in kept if 0 <= value - reference <= _WINDOW * spread]
    upwards = sqrt(sum(distance * distance for distance in above) / len(above)) if above else 0.0
    return Normal(reference, max(spread / reference, upwards / reference, LEAST_SPREAD), len(kept))


def gates(found: Normal, relative_floor: float, ends: int, cells: int) -> Gates:
    """``ends`` and ``cells``: how many could be named by chance, by two values and by one."""
    twice = -_NORMAL.inv_cdf(sqrt(RISK / max(ends, 2)))
    once = -_NORMAL.inv_cdf(RISK / max(cells, 2))
    least = 1 - relative_floor
    bad = max(twice * found.safe_spread, least)
    return Gates(bad / 2, bad, max(once * found.safe_spread, bad), max(tail(bad / found.safe_spread), 1e-12))


def tail(sigmas: float) -> float:
    """Probability of a normal value below minus ``sigmas``."""
    return _NORMAL.cdf(-sigmas)


def _unrounded(ordered: Sequence[float]) -> Sequence[float]:
    """Values that were rounded to a few digits, each spread over its step: the MAD of steps is a step."""
    steps = [second - first for first, second in zip(ordered, ordered[1:]) if second > first]
    step = median(steps) if steps else 0.0
    if not 0 < step <= LARGEST_STEP * ordered[-1] or len(steps) > len(ordered) // 4:
        return ordered
    found: list[float] = []
    for value, equals in groupby(ordered):
        count = len(list(equals))
        found += [value + step * ((place + 0.5) / count - 0.5) for place in range(count)]
    return found


def cleared_by(count: int) -> int:
    """Good values by which an end with ``count`` values is proven good: one of few; of many, more than a low end reaches by chance."""
    return 1 if count < 8 else 2 + count // 64
