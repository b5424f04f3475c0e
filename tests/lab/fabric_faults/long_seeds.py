"""Random faults by seed on sixteen hosts with eight NPUs on four leaves: the check must find each of them, and name no other host.

HCCN_SEEDS selects the seeds, such as ``0-19`` or ``3,7``; `make fabric-seeds` runs 0 to 19.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.lab import testbed
from tests.lab.fabric_faults.check import check, classes_of, components, is_testing, verdicts
from tests.lab.fabric_faults.random_faults import AFTER_START, HOSTS, LEAF_SIZE, LINK_RATE, LOST, NPUS, Scenario, Fault, draw
from tests.lab.fault_matrix.play import Play, remaining_processes
from tests.lab.fault_matrix.states import open_tests
from tests.lib.project import skip
from tests.lab.testbed import Unavailable

DEFAULT_SEEDS = "5"


def seeds(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def test_the_seeds_draw_every_kind_of_fault() -> None:
    scenarios = [draw(seed) for seed in range(20)]
    assert {fault.kind for one in scenarios for fault in one.faults} == {"slow npu", "slow host", "dead host", "hung host", "slow uplink"}
    assert {one.plan for one in scenarios} == {"quick", "leaves", "full"}
    assert {len(one.faults) for one in scenarios if one.plan == "quick"} == {1, 2, 3}
    assert all(Counter(one.classes.values())["good"] >= HOSTS - 3 for one in scenarios)


def test_a_seed_always_draws_the_same_faults() -> None:
    assert draw(8) == draw(8)
    assert draw(8).faults == (Fault("slow npu", "node2", 2, 35), Fault("hung host", "node16"))


@pytest.mark.parametrize("seed", seeds(os.environ.get("HCCN_SEEDS", DEFAULT_SEEDS)))
def test_the_faults_of_a_seed_are_found(seed: int, tmp_path: Path) -> None:
    scenario = draw(seed)
    print(f"\nseed {seed}, plan {scenario.plan}: {scenario.faults}")
    try:
        with testbed.lab(HOSTS, npus=NPUS, leaf_size=LEAF_SIZE, link_rate=LINK_RATE) as lab:
            examine(lab, scenario, tmp_path)
    except Unavailable as reason:
        skip("testbed", str(reason))


def examine(lab: testbed.Lab, scenario: Scenario, folder: Path) -> None:
    for fault in scenario.faults:
        if fault.kind not in AFTER_START:
            fault.inject(lab)
    play = check(lab, folder, check_fabric_plan=scenario.plan, check_fabric_seed=scenario.seed)
    later = [fault for fault in scenario.faults if fault.kind in AFTER_START]
    for fault in later:
        play.wait_for(f"a test on {fault.target}", lambda fault=fault: is_testing(lab, fault.target))
        fault.inject(lab)
    play.end()
    found = verdicts(play)
    lost = {host: LOST for host, name in classes_of(found).items() if scenario.classes[host] == LOST and name in LOST.split(" or ")}
    assert {**classes_of(found), **lost} == scenario.classes, play.output
    assert {host: found[host][1][:len(begin)] for host, begin in scenario.named.items()} == scenario.named
    assert tuple(components(play)) == scenario.fabric, play.output
    nothing_is_left(lab, play, later)


def nothing_is_left(lab: testbed.Lab, play: Play, later: list[Fault]) -> None:
    """Check that no process or test is left, also on a host that hung, after it continues."""
    for fault in later:
        if lab.alive(fault.target):
            lab.heal(fault.target)
    assert remaining_processes(lab, play) == {}
    assert {name: tests for name in lab.hosts if lab.alive(name) and (tests := open_tests(lab, name))} == {}
