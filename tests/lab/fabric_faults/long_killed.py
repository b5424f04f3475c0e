"""SIGKILL of a runner, a guard, and the controller during a check. Nothing is left behind on the hosts, and a later check measures the other pairs."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab import testbed
from tests.lab.fabric_faults.check import check, classes_of, is_testing, records, verdicts
from tests.lab.fault_matrix.play import Play, remaining_processes
from tests.lab.fault_matrix.states import open_tests
from tests.lib.project import skip
from tests.lab.testbed import Lab, Unavailable

HOSTS, NPUS = 4, 2
RUNS = "/var/lib/hccn.cluster"
CPU = "/sys/devices/system/cpu"
GOVERNOR = f"{CPU}/cpufreq/policy0/scaling_governor"
ALL_GOOD = {"node1": "good", "node2": "good", "node3": "good", "node4": "good"}
OPTIONS = {"check_fabric_plan": "full", "check_fabric_iterations": 20000, "check_fabric_cpu_governor": "performance", "check_fabric_confirm": False}
TEST_SECONDS = 3.0


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab with slow tests, in which each host has a CPU governor."""
    try:
        with testbed.lab(HOSTS, npus=NPUS, link_rate="50mbit") as up:
            for name in up.hosts:
                policy = GOVERNOR.rpartition("/")[0]
                up.exec(name, ["sh", "-c", f"mount -t tmpfs none {CPU} && mkdir -p {policy} && echo powersave >{GOVERNOR}"], check=True)
                settings = up.node_path(name, "sim.json")
                settings.write_text(json.dumps({**json.loads(settings.read_text()), "measure_seconds": TEST_SECONDS}))
            yield up
    except Unavailable as reason:
        skip("testbed", str(reason))


def started(lab: Lab, folder: Path, **variables: Any) -> Play:
    """Return a check during its measurements: a test runs on node2, and the governor is raised."""
    play = check(lab, folder, **{**OPTIONS, **variables})
    play.wait_for("a test on node2", lambda: is_testing(lab, "node2"))
    assert lab.path("node2", GOVERNOR).read_text() == "performance"
    return play


def journal(lab: Lab, name: str, kind: str) -> dict[str, Any]:
    """Return the line ``start`` or ``end`` from the journal of the host's newest run."""
    newest = max(lab.path(name, RUNS).glob("*/journal.jsonl"), key=lambda path: path.stat().st_ctime)
    return next(line for line in map(json.loads, newest.read_text().splitlines()) if line["type"] == kind)


def kill(lab: Lab, name: str, field: str) -> None:
    """Kill the process whose id is in a field of the journal's start: ``pid`` is the runner, ``guard`` its guard."""
    lab.exec(name, ["kill", "-9", str(journal(lab, name, "start")[field])], check=True)


def as_before(lab: Lab, *plays: Play) -> None:
    assert remaining_processes(lab, *plays) == {}
    assert {name: open_tests(lab, name) for name in lab.hosts} == {name: [] for name in lab.hosts}
    assert {name: lab.path(name, GOVERNOR).read_text().strip() for name in lab.hosts} == dict.fromkeys(lab.hosts, "powersave")


def test_a_later_check_measures_the_rest_after_runner_and_guard_were_killed(lab: Lab, tmp_path: Path) -> None:
    play = started(lab, tmp_path / "first")
    kill(lab, "node2", "pid")
    kill(lab, "node3", "guard")
    assert play.end() == 2
    found = verdicts(play)
    assert classes_of(found) == {**ALL_GOOD, "node2": "failed"}, play.output
    assert found["node2"][1].startswith("the run on this host failed: the runner died during the run: ")
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


def test_a_later_check_resumes_after_the_controller_was_killed(lab: Lab, tmp_path: Path) -> None:
    """The hosts finish their measurements without the controller, and the next check takes over the results."""
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
