"""What `make roce` has beyond the tests of CI: each operation over all pairs of four machines, and faults in the middle of a check."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.lab.roce.machines import Machine
from tests.lab.roce.playbook import Play, left, server
from tests.lab.roce.test_runner import examine

ALL_GOOD = {"roce1": "good", "roce2": "good", "roce3": "good", "roce4": "good"}
LONG = {"check_fabric_iterations": 0, "check_fabric_duration_s": 15}
MIDDLE_SECONDS = 300.0


def until_it_serves(play: Play, machines: list[Machine]) -> tuple[Machine, int]:
    """The first of the machines on which a server runs, and its pid there."""
    end = time.monotonic() + MIDDLE_SECONDS
    while time.monotonic() < end:
        assert play.process.poll() is None, play.output
        for machine in machines:
            pid = server(machine)
            if pid:
                return machine, pid
        time.sleep(0.5)
    raise AssertionError(f"no server came up:\n{play.output}")


@pytest.mark.parametrize("operation", ["write", "read", "send"])
def test_all_pairs_of_both_releases(four: list[Machine], tmp_path: Path, operation: str) -> None:
    examine(four, tmp_path, operation)


def test_all_pairs_by_latency(four: list[Machine], tmp_path: Path) -> None:
    examine(four, tmp_path, "write", check_fabric_measure="latency", check_fabric_size="8")


def test_a_server_killed_in_the_middle(four: list[Machine], tmp_path: Path) -> None:
    play = Play(four, tmp_path, **LONG)
    struck, pid = until_it_serves(play, four)
    time.sleep(3)  # into the test
    struck.run("kill", "-9", str(pid))
    assert play.end() == 2, play.output
    assert play.classes() == {**ALL_GOOD, struck.name: "failed"}, play.output
    (failed,) = [record for record in play.records("rdma") if record["status"] != "ok"]
    assert (failed["target"]["host"], failed["error"]["code"], failed["context"]["failed_end"]) == (struck.name, "tool_killed", "target")
    assert left(four) == {}


def test_a_machine_that_is_paused_in_the_middle(four: list[Machine], tmp_path: Path) -> None:
    play = Play(four, tmp_path, **LONG)
    struck, _pid = until_it_serves(play, four[1:])
    with struck.paused():
        assert play.end() == 4, play.output
    assert play.classes() == {**ALL_GOOD, struck.name: "unreachable"}, play.output
    assert left(four) == {}
