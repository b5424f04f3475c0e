"""Verdicts on noisy machines with the floors of the role: nobody is blamed while all are well, and a machine that sends at a tenth is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.lab.roce.machines import Machine
from tests.lab.roce.playbook import Play

RUNS = int(os.environ.get("HCCN_ROCE_RUNS", "10"))
MEASURES = [("write", "bandwidth"), ("read", "bandwidth"), ("send", "bandwidth"), ("write", "latency"), ("read", "latency"), ("send", "latency")]
SLOW = 0.1


def judged(machines: list[Machine], folder: Path, operation: str, measure: str) -> Play:
    play = Play(machines, folder, check_fabric_operation=operation, check_fabric_measure=measure, check_fabric_iterations=1000,
                check_fabric_relative_floor=None, check_fabric_confirm=None)
    assert play.end() in (0, 2), play.output
    return play


@pytest.fixture(scope="session")
def normal_gbit_s(four: list[Machine], tmp_path_factory: pytest.TempPathFactory) -> float:
    """The lowest rate between healthy machines."""
    records = judged(four[1:], tmp_path_factory.mktemp("normal"), "write", "bandwidth").records("rdma")
    return min(sample["bandwidth_gbit_s"] for record in records for sample in record["samples"])


@pytest.mark.parametrize(("operation", "measure"), MEASURES)
def test_healthy_machines_are_good(four: list[Machine], tmp_path: Path, operation: str, measure: str) -> None:
    plays = [judged(four[1:], tmp_path / str(number), operation, measure) for number in range(RUNS)]
    assert [play.output for play in plays if set(play.classes().values()) != {"good"}] == []


@pytest.mark.parametrize(("operation", "measure"), MEASURES)
def test_machine_that_sends_slowly_is_named(four: list[Machine], normal_gbit_s: float, tmp_path: Path, operation: str, measure: str) -> None:
    _spare, *others, faulty = four
    with faulty.slow_egress(SLOW * normal_gbit_s):
        play = judged([*others, faulty], tmp_path, operation, measure)
    assert play.classes() == {**{machine.name: "good" for machine in others}, faulty.name: "slow"}, play.output
