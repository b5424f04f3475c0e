"""The playbook check_fabric over a lab, and what its history says of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.lab.fault_matrix.play import Play
from tests.lab.testbed import Lab

OPTIONS = {"check_fabric_iterations": 20000, "check_fabric_relative_floor": 0.6, "hccn_fail_on": "slow", "ansible_ssh_timeout": 5}
"""A test of the stand-in takes half a second, however many iterations; but by them a pair has its time, 40 s: all hosts share this machine's cores."""


def check(lab: Lab, folder: Path, **variables: Any) -> Play:
    return Play(lab, folder, "check_fabric", {**OPTIONS, **variables})


def records(play: Play, kind: str) -> list[dict[str, Any]]:
    """Of the one run of this play."""
    (run,) = play.runs()
    return [record for record in run.records if record["kind"] == kind]


def verdicts(play: Play) -> dict[str, tuple[str, str]]:
    """Class and sentence by host."""
    return {record["source"]["host"]: (record["samples"][0]["class"], record["samples"][0]["message"])
            for record in records(play, "verdict") if "source" in record}


def components(play: Play) -> list[str]:
    """Names of what is bad in the fabric itself."""
    return sorted(record["samples"][0]["name"] for record in records(play, "verdict") if "source" not in record)


def is_testing(lab: Lab, name: str) -> bool:
    """Does a test run on one of the host's NPUs?"""
    return any("-roce_test" in argv and "reset" not in argv for argv in lab.processes(name).values())


def in_hand(lab: Lab, name: str) -> list[str]:
    """NPUs of a living host that have a test, or were not reset after it."""
    state = lab.path(name, f"/var/lib/npu-simulator/{name}/state")
    return sorted(path.name for path in state.glob("roce_test_*.json"))


def classes_of(found: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {host: said[0] for host, said in found.items()}
