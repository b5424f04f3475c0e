"""One of two uplinks of a leaf at a tenth, with real traffic that its source port sends over one of two spines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab import testbed
from tests.lab.fabric_faults.check import check, classes_of, components, verdicts
from tests.lab.testbed import Unavailable
from tests.lib.project import skip

HOSTS_OF_LEAF, NPUS, LINK_RATE = 4, 2, "50mbit"
TENTH = "20mbit"
"""An uplink to each of two spines would have half of the rate of the NPUs of a leaf, 200 Mbit/s."""


@pytest.mark.parametrize("leaves, named", [(2, "path leaf0-leaf1"), (3, "uplink of leaf leaf0")])
def test_uplink_at_a_tenth_is_named(leaves: int, named: str, tmp_path: Path) -> None:
    """With two leaves, their uplinks and the path between them cannot be distinguished."""
    try:
        with testbed.lab(leaves * HOSTS_OF_LEAF, npus=NPUS, leaf_size=HOSTS_OF_LEAF, spines=2, link_rate=LINK_RATE) as lab:
            healthy = check(lab, tmp_path / "healthy", check_fabric_plan="full")
            assert healthy.end() == 0, healthy.output
            lab.fault("leaf:0:1", rate=TENTH)
            play = check(lab, tmp_path / "slow", check_fabric_plan="full")
            assert play.end() == 2, play.output
            assert set(classes_of(verdicts(play)).values()) == {"good"}, play.output
            assert components(play) == [named], play.output
            lab.heal("leaf:0:1")
    except Unavailable as reason:
        skip("testbed", str(reason))
