"""The role check_fabric where links are down: their NPUs are left out by name and cost no timeouts, the other NPUs of the host are measured."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.check_fabric.cluster import Cluster
from tests.integration.check_fabric.role import FAILED, play


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster", 4, 2)
    yield made
    made.close()


def classes(said: str) -> dict[str, str]:
    return dict(re.findall(r"(n\d): (good|slow|failed|not_measured)\. ", said))


def test_links_that_are_down_cost_no_other_npu_its_check(cluster: Cluster, tmp_path: Path) -> None:
    cluster.set_state("n2", "1.link=0")
    cluster.set_state("n3", "*.link=0")
    said = play(cluster, tmp_path, code=FAILED)
    for name in ("n2 NPU 1", "n3 NPU 0", "n3 NPU 1"):
        assert f"Left out: {name}: its link is down" in said
    assert classes(said) == {"n1": "good", "n2": "failed", "n3": "failed", "n4": "good"}
    assert re.search(r"n2: failed\. NPU 1 was left out: its link is down; 1 good pair with 1 other host", said)
    assert re.search(r"n3: failed\. NPU 0, 1 were left out: its link is down\b", said)
    assert "quick: 3 pairs of NPUs over 3 hosts" in said
