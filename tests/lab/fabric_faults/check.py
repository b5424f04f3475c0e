"""Run the playbook check_fabric on a lab, and read its results from the history."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.lab.fault_matrix.play import Play
from tests.lab.testbed import Lab

OPTIONS = {"check_fabric_iterations": 20000, "check_fabric_relative_floor": 0.6, "hccn_fail_on": "slow", "ansible_ssh_timeout": 5}
"""A test of the simulated tool takes half a second for any number of iterations. They only set the deadline of a pair, 40 s, since all hosts share the cores
of one machine."""


def check(lab: Lab, folder: Path, **variables: Any) -> Play:
    return Play(lab, folder, "check_fabric", {**OPTIONS, **variables})


def records(play: Play, kind: str) -> list[dict[str, Any]]:
    """Return the records of a kind from the only run of this play."""
    (run,) = play.runs()
    return [record for record in run.records if record["kind"] == kind]


def verdicts(play: Play) -> dict[str, tuple[str, str]]:
    """Return class and message of the verdict by host."""
    return {record["source"]["host"]: (record["samples"][0]["class"], record["samples"][0]["message"])
            for record in records(play, "verdict") if "source" in record}


def components(play: Play) -> list[str]:
    """Return the names of the bad components of the fabric."""
    return sorted(record["samples"][0]["name"] for record in records(play, "verdict") if "source" not in record)


def is_testing(lab: Lab, name: str) -> bool:
    """Return whether a test runs on one of the host's NPUs."""
    return any("-roce_test" in argv and "reset" not in argv for argv in lab.processes(name).values())


def classes_of(found: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {host: verdict for host, (verdict, _message) in found.items()}
