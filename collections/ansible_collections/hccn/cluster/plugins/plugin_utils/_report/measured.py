# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The tables of what was measured: pairs with bandwidth, latencies, collectives."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from .fields import Record, endpoint, error_of, hosts_of, mapping, number, samples, text, tool_of, unique

WORST = 10


@dataclass(frozen=True)
class Pair:
    """One direction of a pair at one size, beside the median and the best of all pairs of the same tool, operation and size (1.0 is equal)."""

    source: str
    target: str
    tool: str
    operation: str
    size_bytes: float | None
    gbit_s: float | None
    of_median: float | None
    of_best: float | None
    status: str
    message: str


@dataclass(frozen=True)
class Pairs:
    """``rows`` from worst to best; ``worst`` is their beginning, empty where ``rows`` is short enough to be read whole."""

    worst: list[Pair]
    rows: list[Pair]


@dataclass(frozen=True)
class Latency:
    """One direction of a pair at one size, microseconds."""

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
    """One run of a collective over its sizes."""

    operation: str
    ranks: str
    hosts: list[str]
    tool: str
    status: str
    message: str
    steps: list[Step]


def pairs(records: list[Record]) -> Pairs:
    """The bandwidth of pairs: failed ones first, then the slowest in comparison with their like."""
    measured = [(record, sample) for record in records for sample in samples(record) if number(sample.get("bandwidth_gbit_s")) is not None]
    failed = [record for record in records if record.get("status") != "ok" and record.get("measure") != "latency" and not samples(record)]
    groups: dict[tuple[str, str, float | None], list[float]] = {}
    for record, sample in measured:
        groups.setdefault(_like(record, sample), []).append(sample["bandwidth_gbit_s"])
    rows = [_pair(record, {}, []) for record in failed] + [_pair(record, sample, groups[_like(record, sample)]) for record, sample in measured]
    rows.sort(key=lambda row: -1 if row.of_median is None else row.of_median)
    return Pairs(worst=rows[:WORST] if len(rows) > WORST else [], rows=rows)


def latencies(records: list[Record]) -> list[Latency]:
    """Every sample with a latency, the longest first."""
    rows = [_latency(record, sample) for record in records for sample in samples(record) if mapping(sample.get("latency_us"))]
    rows.sort(key=lambda row: -(row.typical or row.average or 0))
    return rows


def collectives(records: list[Record]) -> list[Collective]:
    """One table for each run of a collective, in the order they were measured."""
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


def _like(record: Record, sample: Record) -> tuple[str, str, float | None]:
    return tool_of(record), text(record.get("operation")), number(sample.get("size_bytes"))


def _pair(record: Record, sample: Record, like: list[float]) -> Pair:
    value = number(sample.get("bandwidth_gbit_s"))
    median, best = (statistics.median(like), max(like)) if like else (0, 0)
    return Pair(
        source=endpoint(record.get("source")),
        target=endpoint(record.get("target")),
        tool=tool_of(record),
        operation=text(record.get("operation")),
        size_bytes=number(sample.get("size_bytes")),
        gbit_s=value,
        of_median=value / median if value is not None and median > 0 else None,
        of_best=value / best if value is not None and best > 0 else None,
        status=text(record.get("status")),
        message=error_of(record)["message"],
    )


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
