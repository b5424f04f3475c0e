# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The normal value of measurements of one kind, and the gates below which a value is an outlier.

The reference is the median of the better part of the values: bad components only take bandwidth away, and if a quarter of the hosts is bad, half of the
pairs are, so the median of all values would be that of a bad pair. The spread is the MAD of that part, or the distance of the values above the reference
if it is larger. A gate is the larger of a share and a multiple of the spread.

Values vary by factors, so spreads and multiples of them are natural logarithms. On the scale of the values, a few times a large spread would be more than the
whole value, and nothing could be slow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import exp, expm1, log, sqrt
from statistics import NormalDist, median

RISK = 0.001
"""Probability of naming anything without cause in a whole run, divided among all components (Bonferroni)."""

LEAST_SPREAD = 0.005
"""Relative. If all values are equal, the tool rounds."""

FEW = 40
SPREAD_OF_FEW = 0.025
"""Fewer than FEW values are not enough to estimate the spread from the upper ones."""

LEAST_FLOOR = 1e-6
"""A smaller relative floor is none."""

LARGEST_STEP = 0.01
"""Largest relative step between values that are rounded to three digits."""

TAIL_SHARES, LEAST_OF_TAIL, LARGEST_TAIL = (0.5, 0.75, 0.9, 0.97), 8, 0.015
"""Quantiles of the low values to which a tail is fitted, least number of values in it, and its largest relative scale."""

UPPER, TOP = 0.8, 0.95
"""The quantiles from which position and width of the better part are estimated."""

_NORMAL = NormalDist()
_UPPER_Z, _TOP_Z = _NORMAL.inv_cdf(UPPER), _NORMAL.inv_cdf(TOP)
_WINDOW = 4.0
_MAD = 1.4826


@dataclass(frozen=True)
class Normal:
    """A normal value: ``reference`` in the unit of the values, the standard deviation ``spread`` of the logarithm of one value, and the ``count`` of values
    used. ``tail``: scale of the exponential tail of the logarithms of low values of sound pairs; see tail_of(). ``repeats``: those of
    the ``count`` that are differences of repeated values, which need not be near the reference."""

    reference: float
    spread: float
    count: int
    tail: float = 0.0
    repeats: int = 0

    @property
    def agreeing(self) -> int:
        """The number of values near the reference."""
        return self.count - self.repeats

    @property
    def safe_spread(self) -> float:
        """An upper bound of the spread: the MAD of a few values is often too small."""
        return self.spread * (1 + 2 / sqrt(0.74 * self.count))

    def pooled(self, spread: float, count: int) -> Normal:
        """Return the normal value with the spread that results from this one and another estimate of it from ``count`` values."""
        total = self.count + count
        return replace(self, spread=max(LEAST_SPREAD, sqrt((self.count * self.spread ** 2 + count * spread ** 2) / total)), count=total,
                       repeats=self.repeats + count)


@dataclass(frozen=True)
class Gates:
    """Relative drops. Up to ``good``, a value proves its NPUs good. Above ``bad``, it counts against them, and two such values name an NPU. Above
    ``certain``, one value is enough. ``chance``: the probability that a healthy value is beyond ``bad``. ``noise``: the drop that noise alone explains."""

    good: float
    bad: float
    certain: float
    chance: float
    noise: float = 0.0

    def limits(self, reference: float, floor: float) -> tuple[float, float, float]:
        """Return the values below which a measurement does not prove its NPUs good, is bad, and is bad without doubt.

        ``floor`` is an absolute limit. Where the normal value is above it, a measurement is below the floor only if noise does not explain it.
        """
        within = [reference * (1 - drop) for drop in (self.good, self.noise, max(self.noise, self.certain))] if reference >= floor else [floor] * 3
        return (max(reference * (1 - self.good), min(floor, within[0])), max(reference * (1 - self.bad), min(floor, within[1])),
                max(reference * (1 - self.certain), min(floor, within[2])))


def normal(values: Sequence[float]) -> Normal:
    """Return the normal value of at least one value, where more is better. Up to about two thirds of the values may be low."""
    ordered = _unrounded(sorted(values))
    logs = [log(value) for value in ordered]
    count = len(ordered)
    upper, top = (logs[min(count - 1, int(share * count))] for share in (UPPER, TOP))
    width = max((top - upper) / (_TOP_Z - _UPPER_Z), LEAST_SPREAD, SPREAD_OF_FEW if count < FEW else 0.0)
    first = bisect_left(logs, upper - (_UPPER_Z + _WINDOW) * width)
    reference = median(ordered[first:])
    distances = [value - log(reference) for value in logs[first:]]
    spread = _MAD * median(map(abs, distances))
    above = [distance for distance in distances if 0 <= distance <= _WINDOW * spread]
    upwards = sqrt(sum(distance * distance for distance in above) / len(above)) if above else 0.0
    return Normal(reference, max(spread, upwards, LEAST_SPREAD), len(distances))


def gates(found: Normal, relative_floor: float, npus: int, cells: int) -> Gates:
    """Return the gates for a run in which ``npus`` could be named by chance by two values, and ``cells`` by one."""
    twice = -_NORMAL.inv_cdf(sqrt(RISK / max(npus, 2)))
    once = -_NORMAL.inv_cdf(RISK / max(cells, 2))
    noise = max(twice * found.safe_spread, -log(sqrt(RISK / max(npus, 2))) * found.tail)
    bad = max(noise, -log(max(relative_floor, LEAST_FLOOR)))
    certain = max(once * found.safe_spread, -log(RISK / max(cells, 2)) * found.tail, bad)
    return Gates(drop_of(bad / 2), drop_of(bad), drop_of(certain), max(tail(bad / found.safe_spread), 1e-12), drop_of(noise))


def drop_of(distance: float) -> float:
    """Return the relative drop of a value whose logarithm is this far below the normal one."""
    return -expm1(-distance)


def tail_of(drops: Sequence[float]) -> float:
    """Return the scale of the tail of the ``drops`` of sound pairs, as logarithms, 0 for too few of them and for a cluster of bad ones.

    Some values have a ceiling, such as the line rate, and a tail below it, so that the spread around the normal value is too small. The smallest scale that
    fits a part of the tail counts, since bad pairs among them only make it longer.
    """
    ordered = sorted(drops)
    low = [drop for drop in ordered if drop > LEAST_SPREAD / 5]
    if len(ordered) < FEW or len(low) < LEAST_OF_TAIL or low[len(low) // 4] > low[3 * len(low) // 4] / 2:
        return 0.0
    return min(LARGEST_TAIL, *(low[int(share * len(low))] / -log(1 - share) for share in TAIL_SHARES))


def tail(sigmas: float) -> float:
    """Return the probability that a normally distributed value is below minus ``sigmas``."""
    return _NORMAL.cdf(-sigmas)


def poisson_tail(count: int, expected: float) -> float:
    """Return the probability of ``count`` or more by the Poisson distribution."""
    term, below = exp(-expected), 0.0
    for number in range(count):
        below += term
        term *= expected / (number + 1)
    return max(0.0, 1.0 - below) if below < 1 - 1e-9 else term


def _unrounded(ordered: Sequence[float]) -> Sequence[float]:
    """Return rounded values with equal ones spread evenly over their rounding step. Otherwise the MAD would be a multiple of the step."""
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
    """Return how many good values prove an NPU with ``count`` values good: one of a few; of many, more than a bad NPU reaches by chance."""
    return 1 if count < 8 else 2 + count // 64
