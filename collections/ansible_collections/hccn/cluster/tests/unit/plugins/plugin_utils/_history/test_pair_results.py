"""Records of pairs and matrix rows become pair results."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.pair_results import Endpoint, Metric, PairResult, pair_results

WRITE = Metric("rdma", "ib_write_bw", "write", "bandwidth", 65536, "Gbit/s")


def single(**more: Any) -> dict[str, Any]:
    return {
        "kind": "rdma", "status": "ok", "tool": {"name": "ib_write_bw", "version": "6.29"}, "operation": "write", "measure": "bandwidth",
        "source": {"host": "n1", "device": 0}, "target": {"host": "n2", "device": 0}, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 195.9}], **more,
    }


def test_record_of_a_pair() -> None:
    assert list(pair_results(single())) == [PairResult(WRITE, Endpoint("n1", 0), Endpoint("n2", 0), 195.9, "ok", "")]


def test_each_size_is_a_result() -> None:
    found = list(pair_results(single(samples=[{"size_bytes": 2, "bandwidth_gbit_s": 0.1}, {"size_bytes": 4, "bandwidth_gbit_s": 0.2}, {}, "odd"])))
    assert [(result.metric.size_bytes, result.value) for result in found] == [(2, 0.1), (4, 0.2)]


def test_latency_is_the_typical_value_else_the_average() -> None:
    latency = single(measure="latency", samples=[{"size_bytes": 2, "latency_us": {"typical": 2.5, "avg": 3.0}, "bandwidth_gbit_s": 1.0}])
    ping = {"kind": "ping", "status": "ok", "source": {"device": 0, "host": "n1"}, "target": {"address": "192.0.2.2"}, "samples": [{"latency_us": {"avg": 30}}]}
    assert [(result.value, result.metric.unit, result.metric.measure) for result in pair_results(latency)] == [(2.5, "us", "latency")]
    (result,) = pair_results(ping)
    assert (str(result.source), str(result.target), result.value, result.metric.unit) == ("n1 NPU 0", "192.0.2.2", 30, "us")


@pytest.mark.parametrize(("status", "state"), [("failed", "failed"), ("not_run", "not_run"), ("ok", "failed"), (None, "failed")])
def test_result_without_a_value_has_a_reason(status: Any, state: str) -> None:
    found = list(pair_results(single(status=status, samples=[], error={"code": "refused", "message": "nobody listens"})))
    assert found == [PairResult(WRITE._replace(size_bytes=None), Endpoint("n1", 0), Endpoint("n2", 0), None, state, "nobody listens")]


def test_matrix_row() -> None:
    row = {
        "kind": "matrix", "status": "ok", "tool": {"name": "ib_write_bw"}, "operation": "write", "measure": "bandwidth", "source": {"host": "n1", "device": 3},
        "hosts": ["n1", "n2", "n3", "n4"], "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": [None, 196, 195.5, None]}], "failed": {"refused": [3, 9, "x"]},
    }
    assert list(pair_results(row)) == [
        PairResult(WRITE, Endpoint("n1", 3), Endpoint("n2", 3), 196, "ok", ""),
        PairResult(WRITE, Endpoint("n1", 3), Endpoint("n3", 3), 195.5, "ok", ""),
        PairResult(WRITE, Endpoint("n1", 3), Endpoint("n4", 3), None, "failed", "refused"),
    ]
    nothing = {**row, "status": "failed", "samples": [], "failed": {"refused": [1]}, "not_run": {"device_busy": [2]}}
    assert list(pair_results(nothing)) == [PairResult(WRITE._replace(size_bytes=None), Endpoint("n1", 3), Endpoint("n2", 3), None, "failed", "refused"),
                                           PairResult(WRITE._replace(size_bytes=None), Endpoint("n1", 3), Endpoint("n3", 3), None, "not_run", "device_busy")]
    assert [str(result.target) for result in pair_results(row, "n3")] == ["n3 NPU 3"]
    assert [result.state for result in pair_results(row, "n4")] == ["failed"]
    other = {**row, "target": {"device": 5}, "failed": {}, "samples": [{"latency_us": {"typical": [None, 2.5]}}]}
    (result,) = pair_results(other)
    assert (str(result.target), result.value, result.metric.unit, result.metric.measure) == ("n2 NPU 5", 2.5, "us", "bandwidth")


@pytest.mark.parametrize("record", [{}, {"kind": "matrix"}, {"kind": "matrix", "source": {"host": "n1"}, "hosts": "n2"}, {"kind": "rdma", "source": 7},
                                    {"kind": "matrix", "source": {"host": "n"}, "hosts": ["a"], "samples": [7, {}], "failed": {"x": 3}}, {"kind": "device"}])
def test_other_and_malformed_records_have_no_results(record: dict[str, Any]) -> None:
    assert list(pair_results(record)) == []


@pytest.mark.parametrize(("end", "text"), [(Endpoint("n1", 3), "n1 NPU 3"), (Endpoint("n1", "mlx5_0"), "n1 mlx5_0"), (Endpoint("n1", None), "n1")])
def test_endpoint_as_text(end: Endpoint, text: str) -> None:
    assert str(end) == text
