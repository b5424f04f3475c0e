"""device_ping as Ansible runs it, between two simulated hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lib.hosts import node, set_state, tools
from tests.lib.module import call_module


@pytest.fixture
def host(tmp_path: Path) -> Path:
    roots = [node(tmp_path / name, "--address-template", f"10.78.{number}.1{{device}}", "--netmask", "255.255.0.0", devices=2)
             for number, name in ((1, "n1"), (2, "n2"))]
    return roots[0]


def ping(host: Path, *targets: tuple[int, str], check: bool = False, **options: Any) -> dict[str, Any]:
    wanted = [{"device": device, "address": address} for device, address in targets]
    return call_module("device_ping", {**tools(host), "targets": wanted, **options}, check=check)


def test_npus_of_another_host_answer_pings(host: Path) -> None:
    result = ping(host, (1, "10.78.2.11"), (0, "10.78.2.10"), (1, "10.78.2.10"), run_id="ring", size=1000)
    records = result["measurements"]
    assert [(one["id"], one["status"]) for one in records] == [
        ("ring/ping/1/10.78.2.11", "ok"), ("ring/ping/0/10.78.2.10", "ok"), ("ring/ping/1/10.78.2.10", "ok")]
    assert records[0]["samples"] == [{"sent": 3, "received": 3, "loss_percent": 0.0, "latency_us": {"min": 34.0, "avg": 497.333, "max": 1418.0}}]
    assert (records[0]["command"][3:], result["changed"]) == (["-ping", "-g", "address", "10.78.2.11", "pkt", "1000"], False)


def test_lost_packets_and_absent_addresses_are_reported(host: Path) -> None:
    set_state(host, "1.ping=loss1")
    result = ping(host, (0, "10.78.2.10"), (0, "10.78.7.7"), (1, "10.78.2.11"))
    assert result["msg"] == ("2 of 3 pings failed: NPU 0 to 10.78.7.7: 3 of 3 packets lost: Destination Host Unreachable; "
                             "NPU 1 to 10.78.2.11: 1 of 3 packets lost: recv time out")
    assert [(one["status"], one["samples"][0]["received"]) for one in result["measurements"]] == [("ok", 3), ("failed", 0), ("failed", 2)]
    assert "msg" not in ping(host, (1, "10.78.2.11"), fail_on="none")


def test_link_down_is_the_error(host: Path) -> None:
    set_state(host, "0.fail.ping=-67")
    record = ping(host, (0, "10.78.2.10"))["measurements"][0]
    assert (record["error"]["code"], "samples" in record) == ("link_down", False)


def test_check_mode_sends_nothing(host: Path) -> None:
    set_state(host, "*.dead=1")
    result = ping(host, (0, "10.78.2.10"), check=True)
    assert result["measurements"] == []
    assert result["commands"] == [[str(host / "bin/hccn_tool"), "-i", "0", "-ping", "-g", "address", "10.78.2.10"]]


def test_ping_in_the_inner_network_of_a_super_pod(tmp_path: Path) -> None:
    root = node(tmp_path / "a3", "--product", "A3", "--server-index", "3", devices=4)
    set_state(root, "1.hccs_ping=loss1", "2.hccs_occupied=1")
    targets = [(0, "192.3.3.198"), (1, "192.3.2.199"), (2, "192.3.2.199")]
    whole, lossy, occupied = ping(root, *targets, method="hccs_ping", count=4, size=1792)["measurements"]
    assert (whole["status"], whole["samples"]) == ("ok", [
        {"sent": 4, "received": 4, "loss_percent": 0.0, "latency_us": {"min": 23.92, "avg": 24.025, "max": 24.13, "p95": 24.13}}])
    assert (lossy["samples"][0]["received"], lossy["error"]["message"]) == (3, "1 of 4 packets lost: check recv msg fail")
    assert occupied["error"]["code"] == "device_occupied"


def test_inner_network_requires_a_super_pod(host: Path) -> None:
    result = ping(host, (0, "192.2.3.199"), method="hccs_ping")
    assert result["msg"] == "hccs_ping is a command of A3 super pods, this host has NPUs of the A2 (use method: ping)"


def test_busy_npu_is_skipped_without_allow_busy(host: Path) -> None:
    set_state(host, "1.process=4711:python3:1234")
    refused = ping(host, (0, "10.78.2.10"), (1, "10.78.2.11"))
    assert [(one["source"]["device"], one["status"]) for one in refused["measurements"]] == [(0, "ok"), (1, "not_run")]
    assert refused["msg"] == "1 of 2 pings failed: NPU 1 to 10.78.2.11: device 1 is busy: pid 4711 (python3)"
    assert [one["status"] for one in ping(host, (1, "10.78.2.11"), allow_busy=True)["measurements"]] == ["ok"]
