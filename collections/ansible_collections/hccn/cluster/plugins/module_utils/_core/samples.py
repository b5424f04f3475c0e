# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The samples of a record, ``size_bytes`` with ``bandwidth_gbit_s`` or ``latency_us``, and the value by which records are compared."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Sequence

GBIT, MICROSECONDS = "Gbit/s", "us"


class Worth(NamedTuple):
    """The value by which records are compared: the bandwidth of the largest message, or the typical latency of the smallest."""

    value: float
    unit: str
    size: Optional[int]


def worth(samples: Sequence[Mapping[str, Any]]) -> Optional[Worth]:
    """Return the value of a record, None if nothing was measured or the value is zero. Raises ValueError or TypeError for values that are not numbers."""
    widths = [sample for sample in samples if sample.get("bandwidth_gbit_s")]
    if widths:
        largest = max(widths, key=lambda sample: sample.get("size_bytes") or 0)
        return Worth(float(largest["bandwidth_gbit_s"]), GBIT, largest.get("size_bytes"))
    times = [sample for sample in samples if typical(sample.get("latency_us") or {})]
    if times:
        smallest = min(times, key=lambda sample: sample.get("size_bytes") or 0)
        return Worth(float(typical(smallest["latency_us"])), MICROSECONDS, smallest.get("size_bytes"))
    return None


def typical(latency: Mapping[str, Any]) -> Any:
    """Return the typical latency in ``latency_us``, which perftest reports, or the mean for tools that do not report it."""
    return latency.get("typical", latency.get("avg"))
