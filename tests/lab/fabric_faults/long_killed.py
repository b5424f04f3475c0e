"""SIGKILL during a check, for a runner, a guard and the controller: no process is left, and a later run measures the missing pairs."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab import testbed
from tests.lab.fabric_faults.check import check, classes_of, is_testing, records, unreset_tests, verdicts
from tests.lab.fault_matrix.play import Play, until_nothing_is_left
from tests.lib.project import skip
from tests.lab.testbed import Lab, Unavailable

HOSTS, NPUS = 4, 2
RUNS = "/var/lib/hccn.cluster"
CPU = "/sys/devices/system/cpu"
GOVERNOR = f"{CPU}/cpufreq/policy0/scaling_governor"
ALL_GOOD = {"node1": "good", "node2": "good", "node3": "good", "node4": "good"}
OPTIONS = {"check_fabric_plan": "full", "check_fabric_iterations": 20000, "check_fabric_cpu_governor": "performance", "check_fabric_second_look": False}
TEST_SECONDS = 3.0


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab whose tests take three seconds and whose hosts have a CPU with a governor."""
    try:
        with testbed.lab(HOSTS, npus=NPUS, link_rate="50mbit") as up:
            for name in up.hosts:
                policy = GOVERNOR.rpartition("/")[0]
                up.exec(name, ["sh", "-c", f"mount -t tmpfs none {CPU} && mkdir -p {policy} && echo powersave >{GOVERNOR}"], check=True)
                settings = up.path(name, f"/var/lib/npu-simulator/{name}/sim.json")
                settings.write_text(json.dumps({**json.loads(settings.read_text()), "measure_seconds": TEST_SECONDS}))
            yield up
    except Unavailable as reason:
        skip("testbed", str(reason))


def started(lab: Lab, folder: Path, **variables: Any) -> Play:
    """Start a check and wait until a test runs on node2, with the governor set to performance."""
    play = check(lab, folder, **{**OPTIONS, **variables})
    play.wait_for("a test on node2", lambda: is_testing(lab, "node2"))
    assert lab.path("node2", GOVERNOR).read_text() == "performance"
    return play


def journal(lab: Lab, name: str, kind: str) -> dict[str, Any]:
    """Return the line ``start`` or ``end`` of the newest run of the host."""
    newest = max(lab.path(name, RUNS).glob("*/journal.jsonl"), key=lambda path: path.stat().st_ctime)
    return next(line for line in map(json.loads, newest.read_text().splitlines()) if line["type"] == kind)


def kill(lab: Lab, name: str, process: str) -> None:
    """Kill the runner (``pid``) or its guard (``guard``) in the pid namespace of the host."""
    lab.exec(name, ["kill", "-9", str(journal(lab, name, "start")[process])], check=True)


def as_before(lab: Lab, *plays: Play) -> None:
    assert until_nothing_is_left(lab, *plays) == {}
    assert {name: unreset_tests(lab, name) for name in lab.hosts} == {name: [] for name in lab.hosts}
    assert {name: lab.path(name, GOVERNOR).read_text().strip() for name in lab.hosts} == dict.fromkeys(lab.hosts, "powersave")


def test_killed_runner_and_guard_and_resume(lab: Lab, tmp_path: Path) -> None:
    play = started(lab, tmp_path / "first")
    kill(lab, "node2", "pid")
    kill(lab, "node3", "guard")
    assert play.end() == 2
    found = verdicts(play)
    assert classes_of(found) == {**ALL_GOOD, "node2": "failed"}, play.output
    assert found["node2"][1].startswith("the run on this host failed: the runner ended in mid-run: ")
    as_before(lab, play)

    good = {record["id"]: record for record in records(play, "rdma") if record["status"] == "ok"}
    assert 0 < len(good) < 12
    again = check(lab, tmp_path / "second", **OPTIONS, check_fabric_resume="last")
    assert again.end() == 0, again.output
    assert classes_of(verdicts(again)) == ALL_GOOD
    whole = {record["id"]: record for record in records(again, "rdma")}
    first_run = next(iter(good)).split("/")[0]
    assert {name: record for name, record in whole.items() if name.startswith(first_run + "/")} == good
    assert sorted(name.split("/")[1] for name in whole) == [f"p{number:04}" for number in range(1, 13)]
    as_before(lab, again)


def test_killed_controller_and_resume(lab: Lab, tmp_path: Path) -> None:
    """The hosts complete their measurements, and the next check uses them."""
    play = started(lab, tmp_path / "first")
    play.signal(signal.SIGKILL)
    assert play.end() == -9
    as_before(lab, play)
    assert {name: journal(lab, name, "end")["state"] for name in lab.hosts} == dict.fromkeys(lab.hosts, "finished")
    again = check(lab, tmp_path / "second", **OPTIONS, check_fabric_resume="last")
    assert again.end() == 0, again.output
    assert classes_of(verdicts(again)) == ALL_GOOD
    assert {name: journal(lab, name, "start")["resumed"] for name in lab.hosts} == {"node1": 3, "node2": 3, "node3": 3, "node4": 3}
    as_before(lab, again)
