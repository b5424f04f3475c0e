"""Sixteen hosts with eight NPUs on four leaves and random faults: the check must find all of them and nothing else.

HCCN_SEEDS selects the seeds, ``0-19`` or ``3,7``; `make fabric-seeds` runs 0 to 19.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.lab import testbed
from tests.lab.fabric_faults.check import check, classes_of, components, is_testing, unreset_tests, verdicts
from tests.lab.fabric_faults.drawn import AFTER_START, HOSTS, LEAF_SIZE, LINK_RATE, LOST, NPUS, Drawn, Fault, draw
from tests.lab.fault_matrix.play import Play, until_nothing_is_left
from tests.lib.project import skip
from tests.lab.testbed import Unavailable

DEFAULT_SEEDS = "5"


def seeds(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def test_seeds_generate_all_kinds_of_faults() -> None:
    drawn = [draw(seed) for seed in range(20)]
    assert {fault.kind for one in drawn for fault in one.faults} == {"slow npu", "slow host", "dead host", "hung host", "slow uplink"}
    assert {one.plan for one in drawn} == {"quick", "leaves", "full"}
    assert {len(one.faults) for one in drawn if one.plan == "quick"} == {1, 2, 3}
    assert all(Counter(one.classes.values())["good"] >= HOSTS - 3 for one in drawn)


def test_seed_is_reproducible() -> None:
    assert draw(8) == draw(8)
    assert draw(8).faults == (Fault("slow npu", "node2", 2, 35), Fault("hung host", "node16"))


@pytest.mark.parametrize("seed", seeds(os.environ.get("HCCN_SEEDS", DEFAULT_SEEDS)))
def test_check_finds_the_faults_of_a_seed(seed: int, tmp_path: Path) -> None:
    drawn = draw(seed)
    print(f"\nseed {seed}, plan {drawn.plan}: {drawn.faults}")
    try:
        with testbed.lab(HOSTS, npus=NPUS, leaf_size=LEAF_SIZE, link_rate=LINK_RATE) as lab:
            examine(lab, drawn, tmp_path)
    except Unavailable as reason:
        skip("testbed", str(reason))


def examine(lab: testbed.Lab, drawn: Drawn, folder: Path) -> None:
    for fault in drawn.faults:
        if fault.kind not in AFTER_START:
            fault.inject(lab)
    play = check(lab, folder, check_fabric_plan=drawn.plan, check_fabric_seed=drawn.seed)
    later = [fault for fault in drawn.faults if fault.kind in AFTER_START]
    for fault in later:
        play.wait_for(f"a test on {fault.target}", lambda fault=fault: is_testing(lab, fault.target))
        fault.inject(lab)
    play.end()
    found = verdicts(play)
    lost = {host: LOST for host, name in classes_of(found).items() if drawn.classes[host] == LOST and name in LOST.split(" or ")}
    assert {**classes_of(found), **lost} == drawn.classes, play.output
    assert {host: found[host][1][:len(begin)] for host, begin in drawn.named.items()} == drawn.named
    assert tuple(components(play)) == drawn.fabric, play.output
    nothing_is_left(lab, play, later)


def nothing_is_left(lab: testbed.Lab, play: Play, later: list[Fault]) -> None:
    """Resume paused hosts and assert that no host has processes or tests left."""
    for fault in later:
        if lab.alive(fault.target):
            lab.heal(fault.target)
    assert until_nothing_is_left(lab, play) == {}
    assert {name: unreset_tests(lab, name) for name in lab.hosts if lab.alive(name) and unreset_tests(lab, name)} == {}
