# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Decode records of pairs (kinds ``rdma`` and ``ping``) and of rows (kind ``matrix``) into cells, one for each size.

A row holds what one NPU as source measured with many targets. ``hosts`` are the hosts of the targets, and ``target.device`` is their device id, by default
that of the source. The values are in the order of ``hosts``, with null for what was not measured. ``failed`` and ``not_run`` hold places in ``hosts`` by
error code:

    {"kind": "matrix", "source": {"host": "n1", "device": 0}, "hosts": ["n2", "n3", "n4"], "samples": [{"size_bytes": 65536,
     "bandwidth_gbit_s": [196, null, 195]}], "failed": {"retry_exceeded": [1]}}

The history leaves out what it cannot read. The diagnosis must not, so _diagnose/records.py checks each field and drops the whole record instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils._core.samples import GBIT, MICROSECONDS, typical

GBYTE = "GB/s"
OK, FAILED, NOT_RUN = "ok", "failed", "not_run"
PAIR_KINDS = ("rdma", "ping", "matrix")

Record = dict[str, Any]


class End(NamedTuple):
    """One side of a pair. ``device`` is an int for an NPU, a string for an RDMA device, None if the host as a whole was measured."""

    host: str
    device: int | str | None

    def __str__(self) -> str:
        if self.device is None:
            return self.host
        return f"{self.host} npu {self.device}" if isinstance(self.device, int) else f"{self.host} {self.device}"


class What(NamedTuple):
    """The fields of a record that must agree for values to be comparable."""

    kind: str
    tool: str
    operation: str
    measure: str
    size_bytes: int | float | None
    unit: str


class Cell(NamedTuple):
    """One value from ``source`` to ``target`` in the unit of ``what``. If it is None, ``state`` is the reason."""

    what: What
    source: End
    target: End
    value: float | None
    state: str
    message: str


class Row(NamedTuple):
    """The values of one source: ``values[i]`` was measured with ``targets[i]``. ``failed`` and ``not_run`` hold places in ``targets`` by error code."""

    what: What
    source: End
    targets: list[End]
    values: list[float | None]
    failed: dict[str, list[int]]
    not_run: dict[str, list[int]]

    def cells(self) -> Iterator[Cell]:
        """Return the cells that were measured, that failed and that were not run."""
        for target, value in zip(self.targets, self.values):
            if value is not None:
                yield Cell(self.what, self.source, target, value, OK, "")
        for state, reasons in ((FAILED, self.failed), (NOT_RUN, self.not_run)):
            for code, places in reasons.items():
                for place in places:
                    yield Cell(self.what, self.source, self.targets[place], None, state, code)


def cells(record: Record, only: str | None = None) -> Iterator[Cell]:
    """Return all cells of a record. With ``only``, a row is limited to cells with this host as target. Records of other kinds have no cells."""
    if record.get("kind") == "matrix":
        for row in rows(record, only):
            yield from row.cells()
    elif record.get("kind") in PAIR_KINDS:
        yield from _single(record)


def rows(record: Record, only: str | None = None) -> Iterator[Row]:
    """Return the rows of a matrix record, one for each size. With ``only``, they are limited to this host as target."""
    source, hosts = end_of(record.get("source")), record.get("hosts")
    if source is None or not isinstance(hosts, list):
        return
    device = target_device(record, source.device)
    places = range(len(hosts)) if only is None else [place for place, host in enumerate(hosts) if host == only]
    targets = [End(str(hosts[place]), device) for place in places]
    reasons = _reasons(record, "failed", places), _reasons(record, "not_run", places)
    for sample in _samples(record) or [{}]:
        values, unit = row_values(sample)
        if not isinstance(values, list):  # nothing was measured: there are only error codes
            values, unit = [], GBIT if record.get("measure") != "latency" else MICROSECONDS
        mine = values if only is None else [values[place] for place in places if place < len(values)]
        yield Row(_what(record, sample, unit), source, targets, mine, *reasons)
        reasons = {}, {}


def target_device(record: Mapping[str, Any], source_device: Any) -> Any:
    """Return the device id of all targets of a row."""
    return (record.get("target") or {}).get("device", source_device)


def row_values(sample: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the values of a sample of a row, unchecked, and their unit."""
    bandwidths = sample.get("bandwidth_gbit_s")
    if bandwidths is not None:
        return bandwidths, GBIT
    return (sample.get("latency_us") or {}).get("typical"), MICROSECONDS


def _reasons(record: Record, state: str, places: Sequence[int]) -> dict[str, list[int]]:
    """Return, by error code, the indexes in ``places`` of the targets that failed or were not run."""
    found = {}
    for code, listed in _mapping(record.get(state)).items():
        if isinstance(listed, list) and listed:
            failed = {place for place in listed if isinstance(place, int)}
            found[str(code)] = [number for number, place in enumerate(places) if place in failed]
    return found


def _single(record: Record) -> Iterator[Cell]:
    source, target = end_of(record.get("source")), end_of(record.get("target"))
    if source is None or target is None:
        return
    error = _mapping(record.get("error"))
    measured = 0
    for sample in _samples(record) if record.get("status") == OK else ():
        for value, unit in ((sample.get("bandwidth_gbit_s"), GBIT), (_latency(sample), MICROSECONDS)):
            if is_number(value) and unit == unit_of(record, sample):
                measured += 1
                yield Cell(_what(record, sample, unit), source, target, value, OK, "")
    if not measured:
        state = NOT_RUN if record.get("status") == NOT_RUN else FAILED
        unit = MICROSECONDS if record.get("measure") == "latency" or record.get("kind") == "ping" else GBIT
        yield Cell(_what(record, {}, unit), source, target, None, state,
                   str(error.get("message") or error.get("code") or ""))


def unit_of(record: Record, sample: Record) -> str:
    """Return the unit of a sample: that of the bandwidth, unless the record measured latency or has no bandwidth."""
    return MICROSECONDS if record.get("measure") == "latency" or not is_number(sample.get("bandwidth_gbit_s")) else GBIT


def _latency(sample: Record) -> Any:
    return typical(_mapping(sample.get("latency_us")))


def _what(record: Record, sample: Record, unit: str) -> What:
    kind = record.get("kind")
    measure = record.get("measure") or ("latency" if unit == MICROSECONDS else "bandwidth")
    size = sample.get("size_bytes")
    return What("rdma" if kind == "matrix" else str(kind), str(_mapping(record.get("tool")).get("name") or ""), str(record.get("operation") or ""),
                str(measure), size if is_number(size) else None, unit)


def end_of(end: Any) -> End | None:
    """Return the source or target of a record, by its address if it has no host; None if it names neither."""
    fields = _mapping(end)
    host = fields.get("host") or fields.get("address")
    device = fields.get("device")
    return End(str(host), device if isinstance(device, (int, str)) else None) if host else None


def is_number(value: Any) -> bool:
    """Return True for an int or a float, but not for a bool."""
    return type(value) in (int, float)


def _mapping(value: Any) -> Record:
    return value if isinstance(value, dict) else {}


def _samples(record: Record) -> list[Record]:
    found = record.get("samples")
    return [sample for sample in found if isinstance(sample, dict)] if isinstance(found, list) else []
