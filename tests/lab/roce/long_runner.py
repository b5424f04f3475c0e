"""Tests of `make roce` that CI does not run: all operations between all pairs of four machines, and faults during a check."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.lab.roce.machines import Machine
from tests.lab.roce.playbook import Play, left, wait_for_server
from tests.lab.roce.test_runner import examine

ALL_GOOD = {"roce1": "good", "roce2": "good", "roce3": "good", "roce4": "good"}
LONG = {"check_fabric_iterations": 0, "check_fabric_duration_s": 15}


@pytest.mark.parametrize("operation", ["write", "read", "send"])
def test_all_pairs_of_both_releases(four: list[Machine], tmp_path: Path, operation: str) -> None:
    examine(four, tmp_path, operation)


def test_latency_of_all_pairs(four: list[Machine], tmp_path: Path) -> None:
    examine(four, tmp_path, "write", check_fabric_measure="latency", check_fabric_size="8")


def test_options_of_the_role(four: list[Machine], tmp_path: Path) -> None:
    play = Play(four[2:], tmp_path, check_fabric_rdma_device="rxe0", check_fabric_rdma_port=1, check_fabric_gid_index=1, check_fabric_qps=4,
                check_fabric_mtu=1024, check_fabric_bidirectional=True, check_fabric_operation="send")
    assert play.end() == 0, play.output
    (record,) = play.records("rdma")
    assert " ".join(record["command"]) == (
        "ib_send_bw -d rxe0 -i 1 -x 1 -F -p 18515 -b -s 8192 -n 40 -q 4 -m 1024 --report_gbits " + record["target"]["address"])
    assert (record["status"], record["options"]) == (
        "ok", {"size_bytes": 8192, "iterations": 40, "qps": 4, "mtu": 1024, "gid_index": 1, "bidirectional": True})
    assert [(sample["size_bytes"], sample["iterations"]) for sample in record["samples"]] == [(8192, 160)]


def test_server_killed_during_a_check(four: list[Machine], tmp_path: Path) -> None:
    play = Play(four, tmp_path, **LONG)
    faulty, pid = wait_for_server(play, four)
    time.sleep(3)  # until the test runs
    faulty.run("kill", "-9", str(pid))
    assert play.end() == 2, play.output
    assert play.classes() == {**ALL_GOOD, faulty.name: "failed"}, play.output
    (failed,) = [record for record in play.records("rdma") if record["status"] != "ok"]
    assert (failed["target"]["host"], failed["error"]["code"], failed["context"]["failed_end"]) == (faulty.name, "tool_killed", "target")
    assert left(four) == {}


def test_machine_paused_during_a_check(four: list[Machine], tmp_path: Path) -> None:
    play = Play(four, tmp_path, **LONG)
    faulty, _pid = wait_for_server(play, four[1:])
    with faulty.paused():
        assert play.end() == 4, play.output
    assert play.classes() == {**ALL_GOOD, faulty.name: "unreachable"}, play.output
    assert left(four) == {}
