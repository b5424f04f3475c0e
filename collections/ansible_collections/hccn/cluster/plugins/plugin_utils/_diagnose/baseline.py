# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Each NPU against its own history: a fabric that gets slower as a whole, or an NPU that does so within what is normal, is seen only there."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from statistics import median
from typing import Any

from .rating import Rating
from .summaries import by_end

SIGMAS = 4.0
"""Of the median of an NPU's measurements; with 8,000 NPUs one false alarm in four runs, and none of them changes a class."""

_MEDIAN = 1.2533
"""Standard error of a median against that of a mean."""


def regressions(rating: Rating, baseline: Mapping[str, Any]) -> list[dict[str, Any]]:
    """NPUs that are slower than ``baseline``, which is ``{"ends": {"n1": {"0": 195.2}}}`` in the unit of the measurement, of the same operation, measure
    and size as far as it names them."""
    known = baseline.get("ends") or {}
    found = []
    for number, worths in sorted(by_end(rating).items()) if known else ():
        end = rating.table.ends[number]
        before = (known.get(end.host) or {}).get(str(end.device))
        kinds = {kind for kind, _worth in worths}
        if not before or len(kinds) != 1:
            continue
        kind = rating.table.kinds[kinds.pop()]
        if any(baseline.get(key, value) != value for key, value in (("operation", kind.operation), ("measure", kind.measure), ("size_bytes", kind.size))):
            continue
        spread = max(normal.spread for normal in rating.normals.values())
        now = median(worth for _kind, worth in worths)
        best = float(before) if kind.unit == "Gbit/s" else 1 / float(before)
        least = max(SIGMAS * _MEDIAN * spread / sqrt(len(worths)), spread)
        if now < best * (1 - least):
            found.append({"host": end.host, "device": end.device, "before": float(before), "now": float(kind.shown(now)), "unit": kind.unit,
                          "drop_percent": round(100 * (1 - now / best), 1)})
    return found
