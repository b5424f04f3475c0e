# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Decode records of pairs (kinds ``rdma`` and ``ping``) and of matrix rows (kind ``matrix``) into results, one for each pair and size.

A matrix row has the results of one source with many targets. ``hosts`` are the hosts of the targets, and ``target.device`` is their device id, by default
that of the source. The values are in the order of ``hosts``; null means not measured. ``failed`` and ``not_run`` list indexes in ``hosts`` by error code:

    {"kind": "matrix", "source": {"host": "n1", "device": 0}, "hosts": ["n2", "n3", "n4"], "samples": [{"size_bytes": 65536,
     "bandwidth_gbit_s": [196, null, 195]}], "failed": {"retry_exceeded": [1]}}

The history skips fields that it cannot read. The diagnosis must not, so _diagnose/records.py checks each field and drops the whole record instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils._core.numbers import is_number
from ...module_utils._core.samples import GBIT, MICROSECONDS, typical

GBYTE = "GB/s"
OK, FAILED, NOT_RUN = "ok", "failed", "not_run"
PAIR_KINDS = ("rdma", "ping", "matrix")

Record = dict[str, Any]


class Endpoint(NamedTuple):
    """One side of a pair. ``device`` is an int for an NPU, a string for an RDMA device, None if the host itself was measured."""

    host: str
    device: int | str | None

    def __str__(self) -> str:
        if self.device is None:
            return self.host
        return f"{self.host} NPU {self.device}" if isinstance(self.device, int) else f"{self.host} {self.device}"


class Metric(NamedTuple):
    """The fields of a record that must agree for values to be comparable."""

    kind: str
    tool: str
    operation: str
    measure: str
    size_bytes: int | float | None
    unit: str


class PairResult(NamedTuple):
    """The value from ``source`` to ``target`` in the unit of ``metric``. If it is None, ``state`` and ``message`` are the reason."""

    metric: Metric
    source: Endpoint
    target: Endpoint
    value: float | None
    state: str
    message: str


class MatrixRow(NamedTuple):
    """The values of one source: ``values[i]`` was measured with ``targets[i]``. ``failed`` and ``not_run`` list indexes in ``targets`` by error code."""

    metric: Metric
    source: Endpoint
    targets: list[Endpoint]
    values: list[float | None]
    failed: dict[str, list[int]]
    not_run: dict[str, list[int]]

    def results(self) -> Iterator[PairResult]:
        """Return the results of all pairs that were measured, that failed or that were not run."""
        for target, value in zip(self.targets, self.values):
            if value is not None:
                yield PairResult(self.metric, self.source, target, value, OK, "")
        for state, reasons in ((FAILED, self.failed), (NOT_RUN, self.not_run)):
            for code, indexes in reasons.items():
                for index in indexes:
                    yield PairResult(self.metric, self.source, self.targets[index], None, state, code)


def pair_results(record: Record, only: str | None = None) -> Iterator[PairResult]:
    """Return all results of a record. With ``only``, those of a matrix row are limited to this host as target. Records of other kinds have none."""
    if record.get("kind") == "matrix":
        for row in matrix_rows(record, only):
            yield from row.results()
    elif record.get("kind") in PAIR_KINDS:
        yield from _single(record)


def matrix_rows(record: Record, only: str | None = None) -> Iterator[MatrixRow]:
    """Return the rows of a matrix record, one for each size. With ``only``, the targets are limited to this host."""
    source, hosts = endpoint_of(record.get("source")), record.get("hosts")
    if source is None or not isinstance(hosts, list):
        return
    device = target_device(record, source.device)
    indexes = range(len(hosts)) if only is None else [index for index, host in enumerate(hosts) if host == only]
    targets = [Endpoint(str(hosts[index]), device) for index in indexes]
    reasons = _reasons(record, "failed", indexes), _reasons(record, "not_run", indexes)
    for sample in _samples(record) or [{}]:
        values, unit = row_values(sample)
        if not isinstance(values, list):  # nothing was measured, there are only error codes
            values, unit = [], GBIT if record.get("measure") != "latency" else MICROSECONDS
        selected = values if only is None else [values[index] for index in indexes if index < len(values)]
        yield MatrixRow(_metric(record, sample, unit), source, targets, selected, *reasons)
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


def _reasons(record: Record, state: str, indexes: Sequence[int]) -> dict[str, list[int]]:
    """Return, by error code, the indexes in ``indexes`` of the targets that failed or were not run."""
    found = {}
    for code, listed in _mapping(record.get(state)).items():
        if isinstance(listed, list) and listed:
            failed = {index for index in listed if isinstance(index, int)}
            found[str(code)] = [number for number, index in enumerate(indexes) if index in failed]
    return found


def _single(record: Record) -> Iterator[PairResult]:
    source, target = endpoint_of(record.get("source")), endpoint_of(record.get("target"))
    if source is None or target is None:
        return
    error = _mapping(record.get("error"))
    measured = 0
    for sample in _samples(record) if record.get("status") == OK else ():
        for value, unit in ((sample.get("bandwidth_gbit_s"), GBIT), (_latency(sample), MICROSECONDS)):
            if is_number(value) and unit == unit_of(record, sample):
                measured += 1
                yield PairResult(_metric(record, sample, unit), source, target, value, OK, "")
    if not measured:
        state = NOT_RUN if record.get("status") == NOT_RUN else FAILED
        unit = MICROSECONDS if record.get("measure") == "latency" or record.get("kind") == "ping" else GBIT
        yield PairResult(_metric(record, {}, unit), source, target, None, state,
                         str(error.get("message") or error.get("code") or ""))


def unit_of(record: Record, sample: Record) -> str:
    """Return the unit of a sample: that of the bandwidth, unless the record measured latency or has no bandwidth."""
    return MICROSECONDS if record.get("measure") == "latency" or not is_number(sample.get("bandwidth_gbit_s")) else GBIT


def _latency(sample: Record) -> Any:
    return typical(_mapping(sample.get("latency_us")))


def _metric(record: Record, sample: Record, unit: str) -> Metric:
    kind = record.get("kind")
    measure = record.get("measure") or ("latency" if unit == MICROSECONDS else "bandwidth")
    size = sample.get("size_bytes")
    return Metric("rdma" if kind == "matrix" else str(kind), str(_mapping(record.get("tool")).get("name") or ""), str(record.get("operation") or ""),
                  str(measure), size if is_number(size) else None, unit)


def endpoint_of(end: Any) -> Endpoint | None:
    """Return the source or target of a record, by its address if it has no host; None if it names neither."""
    fields = _mapping(end)
    host = fields.get("host") or fields.get("address")
    device = fields.get("device")
    return Endpoint(str(host), device if isinstance(device, (int, str)) else None) if host else None


def _mapping(value: Any) -> Record:
    return value if isinstance(value, dict) else {}


def _samples(record: Record) -> list[Record]:
    found = record.get("samples")
    return [sample for sample in found if isinstance(sample, dict)] if isinstance(found, list) else []
