"""Tables of latencies and collectives."""

from __future__ import annotations

from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._report import tables


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


def test_latencies_are_sorted_longest_first() -> None:
    records = [
        pair("n1", "n2", samples=[{"size_bytes": 2, "latency_us": {"min": 1.0, "typical": 2.0, "avg": 2.5, "p99": 9.0}}]),
        {"kind": "ping", "status": "ok", "source": {"address": "192.0.2.1"}, "samples": [{"latency_us": {"avg": 30}}, {"latency_us": {}}, {}]},
        {"kind": "ping", "status": "ok", "samples": [{"latency_us": {"p99": 5}}]},
    ]
    assert tables.latencies(records) == [
        tables.Latency("192.0.2.1", "", "ping", None, None, 30.0, None, "ok"),
        tables.Latency("n1 NPU 0", "n2 NPU 0", "rdma write", 2.0, 2.0, 2.5, 9.0, "ok"),
        tables.Latency("", "", "ping", None, None, None, 5.0, "ok"),
    ]


def test_collective_with_sizes() -> None:
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
    assert tables.collectives([record]) == [
        tables.Collective(
            "all_reduce",
            "16",
            ["n2", "n10"],
            "all_reduce_test",
            "failed",
            "the check of 1024 bytes failed",
            [tables.Step(1024.0, 10.5, 0.1, 0.2, "failed"), tables.Step(None, None, None, None, "")],
        )
    ]
