# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Compare each NPU with its baseline. Only this shows a fabric that became slower as a whole, or an NPU that became slower within normal limits."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from statistics import median
from typing import Any

from ...module_utils._core.samples import GBIT
from .classification import Classification

SIGMAS = 4.0
"""Of the median of an NPU's measurements. With 8,000 NPUs that is one false alarm in four runs; a regression changes no class."""

_MEDIAN = 1.2533
"""Standard error of a median relative to that of a mean."""


def regressions(classification: Classification, baseline: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the NPUs that are slower than in the baseline.

    ``baseline`` is ``{"ends": {"n1": {"0": 195.2}}}`` in the unit of the measurement. If it has an operation, measure or size, only measurements with the
    same ones are compared.
    """
    known = baseline.get("ends") or {}
    found = []
    for number, values in sorted(_values_by_npu(classification).items()) if known else ():
        npu = classification.table.npus[number]
        before = (known.get(npu.host) or {}).get(str(npu.device))
        kinds = {kind for kind, _worth in values}
        if not before or len(kinds) != 1:
            continue
        kind = classification.table.kinds[kinds.pop()]
        if any(baseline.get(key, value) != value for key, value in (("operation", kind.operation), ("measure", kind.measure), ("size_bytes", kind.size))):
            continue
        spread = max(normal.spread for normal in classification.normals.values())
        now = median(worth for _kind, worth in values)
        best = float(before) if kind.unit == GBIT else 1 / float(before)
        least = max(SIGMAS * _MEDIAN * spread / sqrt(len(values)), spread)
        if now < best * (1 - least):
            found.append({"host": npu.host, "device": npu.device, "before": float(before), "now": float(kind.shown(now)), "unit": kind.unit,
                          "drop_percent": round(100 * (1 - now / best), 1)})
    return found


def _values_by_npu(classification: Classification) -> dict[int, list[tuple[int, float]]]:
    """Return kind and worth of all measurements of each NPU. A row counts for its source only."""
    found: dict[int, list[tuple[int, float]]] = {}
    for cell in classification.table.cells:
        for npu in (cell.source, cell.target):
            if cell.worth is not None:
                found.setdefault(npu, []).append((cell.kind, cell.worth))
    for row in classification.table.rows:
        found.setdefault(row.source, []).extend((row.kind, worth) for worth in row.worths if worth is not None)
    return found
