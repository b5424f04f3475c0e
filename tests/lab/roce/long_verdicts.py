"""Verdicts on noisy machines with the floors of the role: nobody is blamed while all are well, and a machine that sends slowly is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.lab.roce.machines import Machine
from tests.lab.roce.playbook import Play

RUNS = int(os.environ.get("HCCN_ROCE_RUNS", "10"))
OPTIONS = {"check_fabric_iterations": 1000, "check_fabric_relative_floor": None, "check_fabric_confirm": None}
"""None for the default of the role."""


@pytest.mark.parametrize("measure", ["bandwidth", "latency"])
@pytest.mark.parametrize("operation", ["write", "read", "send"])
def test_healthy_machines_are_good(four: list[Machine], tmp_path: Path, operation: str, measure: str) -> None:
    blamed = []
    for number in range(RUNS):
        play = Play(four[1:], tmp_path / str(number), check_fabric_operation=operation, check_fabric_measure=measure, **OPTIONS)
        code = play.end()
        if (code, set(play.classes().values())) != (0, {"good"}):
            blamed.append(play.output)
    assert blamed == []


def test_machine_that_sends_at_a_tenth_is_slow(four: list[Machine], tmp_path: Path) -> None:
    healthy = Play(four[1:], tmp_path / "healthy", **OPTIONS)
    healthy.end()  # for its rate only: test_healthy_machines_are_good checks the verdict
    gbit_s = max(record["samples"][0]["bandwidth_gbit_s"] for record in healthy.records("rdma"))
    victim = four[-1]
    missed = []
    with victim.sending_at_most(gbit_s * 1e9 / 8 / 10):
        for number in range(RUNS):
            play = Play(four[1:], tmp_path / str(number), **OPTIONS)
            code = play.end()
            wanted = {machine.name: "slow" if machine is victim else "good" for machine in four[1:]}
            if (code, play.classes(), "The fabric: " in play.output) != (2, wanted, False):
                missed.append(play.output)
    assert missed == []
