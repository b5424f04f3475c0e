"""Run the playbook check_fabric on a lab and read its history."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.lab.fault_matrix.play import Play
from tests.lab.testbed import Lab

OPTIONS = {"check_fabric_iterations": 20000, "check_fabric_relative_floor": 0.6, "hccn_fail_on": "slow", "ansible_ssh_timeout": 5}
"""The simulated tool measures for half a second whatever the iterations; 20,000 of them allow a pair 40 s, since all hosts share these cores."""


def check(lab: Lab, folder: Path, **variables: Any) -> Play:
    return Play(lab, folder, "check_fabric", {**OPTIONS, **variables})


def records(play: Play, kind: str) -> list[dict[str, Any]]:
    """Return the records of a kind from the single run of this play."""
    (run,) = play.runs()
    return [record for record in run.records if record["kind"] == kind]


def verdicts(play: Play) -> dict[str, tuple[str, str]]:
    """Return class and message by host."""
    return {record["source"]["host"]: (record["samples"][0]["class"], record["samples"][0]["message"])
            for record in records(play, "verdict") if "source" in record}


def components(play: Play) -> list[str]:
    """Return the names of faulty components of the fabric."""
    return sorted(record["samples"][0]["name"] for record in records(play, "verdict") if "source" not in record)


def is_testing(lab: Lab, name: str) -> bool:
    """Return True if a test runs on an NPU of the host."""
    return any("-roce_test" in argv and "reset" not in argv for argv in lab.processes(name).values())


def unreset_tests(lab: Lab, name: str) -> list[str]:
    """Return the state files of NPUs whose test runs or was not reset."""
    state = lab.path(name, f"/var/lib/npu-simulator/{name}/state")
    return sorted(path.name for path in state.glob("roce_test_*.json"))


def classes_of(found: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {host: verdict[0] for host, verdict in found.items()}
