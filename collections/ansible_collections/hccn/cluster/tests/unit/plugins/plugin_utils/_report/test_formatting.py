"""Numbers, units and times as text."""

from __future__ import annotations

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.pair_results import Metric
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.summary import Group
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import formatting


@pytest.mark.parametrize(
    ("count", "text"), [(None, "–"), (0, "0 B"), (2, "2 B"), (1023, "1,023 B"), (65536, "64 KiB"), (1e6, "1,000,000 B"), (2**40 * 1024, "1,024 TiB")]
)
def test_sizes(count: float | None, text: str) -> None:
    assert formatting.bytes_text(count) == text


@pytest.mark.parametrize(
    ("amount", "text"), [(None, "–"), (0, "0.000"), (0.5123, "0.512"), (21.345, "21.34"), (195.94, "195.9"), (1234.5, "1234"), (-2.5, "-2.500")]
)
def test_values(amount: float | None, text: str) -> None:
    assert formatting.rounded(amount) == text


@pytest.mark.parametrize(("seconds", "text"), [(None, "–"), (0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 0 s"), (3725.4, "1 h 2 min 5 s")])
def test_durations(seconds: float | None, text: str) -> None:
    assert formatting.duration(seconds) == text


def test_units_and_shares() -> None:
    assert (formatting.with_unit(195.94, "Gbit/s"), formatting.with_unit(2.5, "us"), formatting.with_unit(None, "us")) == ("195.9 Gbit/s", "2.500 µs", "–")
    assert (formatting.percent(0.994), formatting.percent(None)) == ("99 %", "–")


def test_metric_as_text() -> None:
    assert formatting.metric_text(Metric("rdma", "ib_write_bw", "write", "bandwidth", 65536, "Gbit/s")) == "rdma write bandwidth at 64 KiB (ib_write_bw)"
    assert formatting.metric_text(Metric("ping", "", "", "latency", None, "us")) == "ping latency"
    assert formatting.group_text(Group("rdma", "t", "write", "bandwidth", 65536, "same rail", "A3", "7.1", "Gbit/s")) == (
        "rdma write bandwidth at 64 KiB, same rail, A3, 7.1")
    assert formatting.group_text(Group("collective", "t", "all_reduce", "bandwidth", 1024, "2 hosts, 16 ranks", "", "", "GB/s")) == (
        "all_reduce at 1 KiB, 2 hosts, 16 ranks")
