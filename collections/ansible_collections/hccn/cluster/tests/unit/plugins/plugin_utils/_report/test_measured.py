# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of bandwidth, latency and collectives."""

from __future__ import annotations

from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._report import measured


def pair(source: str, target: str, *values: float, size: int = 65536, **more: Any) -> dict[str, Any]:
    return {
        "kind": "rdma",
        "status": "ok",
        "operation": "write",
        "tool": {"name": "ib_write_bw", "version": "6.29"},
        "source": {"host": source, "device": 0},
        "target": {"host": target, "device": 0},
        "samples": [{"size_bytes": size, "bandwidth_gbit_s": value} for value in values],
        **more,
    }


def test_pairs_are_compared_with_their_like() -> None:
    records = [pair("n1", "n2", 200.0), pair("n2", "n1", 100.0), pair("n3", "n1", 200.0), pair("n1", "n2", 4.0, size=64)]
    found = measured.pairs(records)
    assert [(row.source, row.target, row.size_bytes, row.gbit_s, row.of_median, row.of_best) for row in found.rows] == [
        ("n2 npu 0", "n1 npu 0", 65536.0, 100.0, 0.5, 0.5),
        ("n1 npu 0", "n2 npu 0", 65536.0, 200.0, 1.0, 1.0),
        ("n3 npu 0", "n1 npu 0", 65536.0, 200.0, 1.0, 1.0),
        ("n1 npu 0", "n2 npu 0", 64.0, 4.0, 1.0, 1.0),
    ]
    assert found.rows[0] == measured.Pair("n2 npu 0", "n1 npu 0", "ib_write_bw 6.29", "write", 65536.0, 100.0, 0.5, 0.5, "ok", "")
    assert found.worst == []


def test_failed_pairs_come_first_and_have_no_number() -> None:
    failed = pair("n1", "n2", status="failed", error={"code": "refused", "message": "connection refused"})
    rows = measured.pairs([pair("n2", "n1", 100.0), failed, pair("n3", "n1", 0.0)]).rows
    assert [(row.source, row.gbit_s, row.of_median, row.status, row.message) for row in rows] == [
        ("n1 npu 0", None, None, "failed", "connection refused"),
        ("n3 npu 0", 0.0, 0.0, "ok", ""),
        ("n2 npu 0", 100.0, 2.0, "ok", ""),
    ]


def test_when_nothing_flows_at_all_there_is_nothing_to_compare_with() -> None:
    rows = measured.pairs([pair("n1", "n2", 0.0)]).rows
    assert [(row.gbit_s, row.of_median, row.of_best) for row in rows] == [(0.0, None, None)]


def test_the_worst_ten_stand_apart_when_there_are_more() -> None:
    found = measured.pairs([pair("n1", f"n{number}", float(number)) for number in range(30, 1, -1)])
    assert [row.target for row in found.worst] == [f"n{number} npu 0" for number in range(2, 12)]
    assert len(found.rows) == 29


def test_latency_records_are_no_pairs_without_bandwidth() -> None:
    failed = pair("n1", "n2", status="failed", measure="latency")
    assert measured.pairs([failed, pair("n1", "n2", samples=[{"latency_us": {"typical": 2.0}}]), pair("n1", "n2", samples=[])]).rows == []


def test_latencies_longest_first() -> None:
    records = [
        pair("n1", "n2", samples=[{"size_bytes": 2, "latency_us": {"min": 1.0, "typical": 2.0, "avg": 2.5, "p99": 9.0}}]),
        {"kind": "ping", "status": "ok", "source": {"address": "192.0.2.1"}, "samples": [{"latency_us": {"avg": 30}}, {"latency_us": {}}, {}]},
        {"kind": "ping", "status": "ok", "samples": [{"latency_us": {"p99": 5}}]},
    ]
    assert measured.latencies(records) == [
        measured.Latency("192.0.2.1", "", "ping", None, None, 30.0, None, "ok"),
        measured.Latency("n1 npu 0", "n2 npu 0", "rdma write", 2.0, 2.0, 2.5, 9.0, "ok"),
        measured.Latency("", "", "ping", None, None, None, 5.0, "ok"),
    ]


def test_a_collective_with_its_sizes() -> None:
    record = {
        "kind": "collective",
        "status": "failed",
        "operation": "all_reduce",
        "tool": {"name": "all_reduce_test"},
        "hosts": ["n10", "n2"],
        "ranks": 16,
        "samples": [{"size_bytes": 1024, "time_us": 10.5, "algbw_gbyte_s": 0.1, "busbw_gbyte_s": 0.2, "check": "failed"}, {}],
        "error": {"message": "the check of 1024 bytes failed"},
    }
    assert measured.collectives([record]) == [
        measured.Collective(
            "all_reduce",
            "16",
            ["n2", "n10"],
            "all_reduce_test",
            "failed",
            "the check of 1024 bytes failed",
            [measured.Step(1024.0, 10.5, 0.1, 0.2, "failed"), measured.Step(None, None, None, None, "")],
        )
    ]
