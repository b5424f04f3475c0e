# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Tables of latencies and collectives."""

from __future__ import annotations

from dataclasses import dataclass

from .fields import Record, endpoint, error_of, hosts_of, mapping, number, samples, text, tool_of, unique


@dataclass(frozen=True)
class Latency:
    """The latency of one direction of a pair at one size, in microseconds."""

    source: str
    target: str
    what: str
    size_bytes: float | None
    typical: float | None
    average: float | None
    p99: float | None
    status: str


@dataclass(frozen=True)
class Step:
    """One size of a collective."""

    size_bytes: float | None
    time_us: float | None
    algbw: float | None
    busbw: float | None
    check: str


@dataclass(frozen=True)
class Collective:
    """A run of a collective over its sizes."""

    operation: str
    ranks: str
    hosts: list[str]
    tool: str
    status: str
    message: str
    steps: list[Step]


def latencies(records: list[Record]) -> list[Latency]:
    """Return all samples with a latency, the longest first."""
    rows = [_latency(record, sample) for record in records for sample in samples(record) if mapping(sample.get("latency_us"))]
    rows.sort(key=lambda row: -(row.typical or row.average or 0))
    return rows


def collectives(records: list[Record]) -> list[Collective]:
    """Return a table per run of a collective, in the order of the measurements."""
    return [
        Collective(
            operation=text(record.get("operation")),
            ranks=text(record.get("ranks")),
            hosts=unique(hosts_of(record)),
            tool=tool_of(record),
            status=text(record.get("status")),
            message=error_of(record)["message"],
            steps=[_step(sample) for sample in samples(record)],
        )
        for record in records
    ]


def _latency(record: Record, sample: Record) -> Latency:
    values = sample["latency_us"]
    return Latency(
        source=endpoint(record.get("source")),
        target=endpoint(record.get("target")),
        what=" ".join(filter(None, (text(record.get("kind")), text(record.get("operation"))))),
        size_bytes=number(sample.get("size_bytes")),
        typical=number(values.get("typical")),
        average=number(values.get("avg")),
        p99=number(values.get("p99")),
        status=text(record.get("status")),
    )


def _step(sample: Record) -> Step:
    return Step(
        size_bytes=number(sample.get("size_bytes")),
        time_us=number(sample.get("time_us")),
        algbw=number(sample.get("algbw_gbyte_s")),
        busbw=number(sample.get("busbw_gbyte_s")),
        check=text(sample.get("check")),
    )
