# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""RDMA records as cells: one measured direction between two NPUs, with what it is worth against its like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, NamedTuple

GOOD, SLOW, FAILED, BUSY = "good", "slow", "failed", "busy"

BUSY_CODES = frozenset({"device_busy", "roce_test_running", "tool_busy"})
"""An NPU that does other work; see module_utils/_device/failures.py."""

INFERRED_CODES = frozenset({"peer_unreachable", "peer_lost", "peer_silent"})
"""Errors that one end tells of the other, and may be the cause of itself."""

RAIL_QUORUM = 8
"""A rail with fewer measurements is compared with all rails: of four, a slow NPU may hold two."""


class End(NamedTuple):
    host: str
    device: int

    def __str__(self) -> str:
        return f"{self.host} npu {self.device}"


@dataclass(frozen=True)
class Cell:
    """``value``: Gbit/s or microseconds, None where nothing was measured; ``compared``: with what; ``accused``: the end that the error names."""

    source: End
    target: End
    kind: tuple[Any, ...]
    value: float | None
    unit: str
    code: str
    message: str
    accused: End | None
    state: str
    compared: str = ""

    @property
    def rail(self) -> int | None:
        return self.source.device if self.source.device == self.target.device else None

    @property
    def ends(self) -> tuple[End, End]:
        return self.source, self.target

    def other(self, end: End) -> End:
        return self.target if end == self.source else self.source

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.source} to {self.target}: {self.code}: {self.message}"
        return f"{self.source} to {self.target}: {self.value:.4g} {self.unit}, {self.compared}"


def cells_of(results: Iterable[Mapping[str, Any]], floor_gbit_s: float | None, relative_floor: float) -> list[Cell]:
    """The cells of the rdma records in the results, each record once, rated by the two floors."""
    records: dict[str, Mapping[str, Any]] = {}
    for result in results:
        for record in result.get("measurements") or ():
            if record.get("kind") == "rdma":
                records.setdefault(record["id"], record)
    return _rate([_cell(record) for record in records.values()], floor_gbit_s, relative_floor)


def _rate(cells: Sequence[Cell], floor_gbit_s: float | None, relative_floor: float) -> list[Cell]:
    """Bandwidth below either floor is slow, and so is a latency above the median divided by the relative floor."""
    medians = _medians(cells)
    return [cell if cell.value is None else _rated(cell, medians.get((cell.kind, cell.rail), medians[cell.kind, None]), floor_gbit_s, relative_floor)
            for cell in cells]


def _rated(cell: Cell, reference: float, floor_gbit_s: float | None, relative_floor: float) -> Cell:
    value = cell.value or 0.0
    if cell.unit == "Gbit/s" and floor_gbit_s is not None and value < floor_gbit_s:
        return replace(cell, state=SLOW, compared=f"the floor is {floor_gbit_s:.4g}")
    share = value / reference if cell.unit == "Gbit/s" else reference / value
    return replace(cell, state=SLOW if share < relative_floor else GOOD, compared=f"the median is {reference:.4g}")


def _medians(cells: Sequence[Cell]) -> dict[tuple[tuple[Any, ...], int | None], float]:
    """The median of each kind under the rail None, and of each rail that has RAIL_QUORUM measurements of that kind."""
    values: dict[tuple[tuple[Any, ...], int | None], list[float]] = {}
    for cell in cells:
        if cell.value is not None:
            for rail in sorted({cell.rail, None}, key=str):
                values.setdefault((cell.kind, rail), []).append(cell.value)
    return {key: median(found) for key, found in values.items() if key[1] is None or len(found) >= RAIL_QUORUM}


def _cell(record: Mapping[str, Any]) -> Cell:
    source, target = (End(str(record[side]["host"]), int(record[side]["device"])) for side in ("source", "target"))
    error = record.get("error") or {}
    code = str(error.get("code", ""))
    value, unit, size = _value(record.get("samples") or ())
    if record.get("status") != "ok" or not value:
        state, value, code = BUSY if code in BUSY_CODES else FAILED, None, code or "no_result"
    else:
        state = GOOD
    accused = {"source": source, "target": target}.get(str((record.get("context") or {}).get("failed_end")))
    kind = (record.get("operation"), record.get("measure"), size)
    return Cell(source, target, kind, value, unit, code, str(error.get("message", "no sample in the record")), accused, state)


def _value(samples: Sequence[Mapping[str, Any]]) -> tuple[float | None, str, Any]:
    """The bandwidth of the largest message, or the typical latency of the smallest."""
    widths = [sample for sample in samples if sample.get("bandwidth_gbit_s") is not None]
    if widths:
        largest = max(widths, key=lambda sample: sample.get("size_bytes", 0))
        return float(largest["bandwidth_gbit_s"]), "Gbit/s", largest.get("size_bytes")
    times = [sample for sample in samples if sample.get("latency_us")]
    if times:
        smallest = min(times, key=lambda sample: sample.get("size_bytes", 0))
        known = smallest["latency_us"]
        value = known.get("typical", known.get("avg"))
        return (None if value is None else float(value)), "us", smallest.get("size_bytes")
    return None, "", None
