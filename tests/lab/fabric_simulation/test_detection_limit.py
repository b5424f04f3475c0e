"""The detection limit that a run reports. test_checks.py and ``make simulate`` measure whether it is correct."""

from __future__ import annotations

import pytest

from tests.lab.fabric_simulation.trials import run
from tests.lab.fabric_simulation.world import World


def test_the_detection_limit_of_two_rounds():
    found = run(World(256, 2, seed=3), "quick", 3, adaptive=False).diagnosis.detection_limit
    assert found["samples"] == 2
    assert found["spread_percent"] == pytest.approx(1.0, abs=0.2)
    drops = found["smallest_drop_percent"]
    assert set(drops) == {"npu", "pair", "path"}
    assert 5 < drops["npu"] < drops["pair"] < 9
    assert found["blind"] == ["32384 of 32640 pairs of hosts were not measured"]
    assert found["text"].startswith(f"2 measurements of an NPU with a spread of {found['spread_percent']:.2g} %: an NPU that lost {drops['npu']:g} % or more "
                                    f"is named in 99 of 100 runs, a single pair from {drops['pair']:g} %, a path between leaves from {drops['path']:g} %; "
                                    "smaller losses are named in fewer runs; 32384 of")


def test_the_detection_limit_of_a_full_matrix_is_below_five_percent():
    found = run(World(64, 1, leaf_size=16, seed=3), "full", 3).diagnosis.detection_limit
    assert found["smallest_drop_percent"]["npu"] < 5
    assert found["smallest_drop_percent"]["path"] < 5
    assert found["blind"] == []


def test_blind_spots_are_named():
    leafless = run(World(8, 1, leaf_size=0), "full").diagnosis.detection_limit
    assert leafless["blind"] == ["no leaf is known, so a slow leaf looks like many slow pairs"]
    assert "path" not in leafless["smallest_drop_percent"]
    once = run(World(32, 1, leaf_size=4), "quick").diagnosis.detection_limit
    assert once["blind"][0] == "480 of 496 pairs of hosts were not measured"
    assert once["blind"][1].endswith("of 28 pairs of leaves were not measured by two hosts on each leaf")
    assert once["blind"][2] == "an NPU with a single measurement cannot be distinguished from its partner"
