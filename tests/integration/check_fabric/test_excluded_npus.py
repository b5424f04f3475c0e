"""The role check_fabric excludes NPUs without a link and NPUs that share an address, names them, and measures all other NPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.integration.check_fabric.cluster import Cluster
from tests.integration.check_fabric.role import FAILED, play


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Links are down on NPU 0 of n2 and both NPUs of n3; NPU 1 of n4 has the address of NPU 1 of n5."""
    made = Cluster(tmp_path_factory.mktemp("excluded") / "cluster", 5, 2)
    made.set_state("n2", "0.link=0")
    made.set_state("n3", "*.link=0")
    made.set_state("n4", f"1.ip={address_of(made)}")
    yield made
    made.close()


def address_of(cluster: Cluster) -> str:
    """Return the address of NPU 1 of n5."""
    return next(device["address"] for entry in cluster.hosts() if entry["host"] == "n5" for device in entry["devices"] if device["id"] == 1)


@pytest.fixture(scope="module")
def output(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    return play(cluster, tmp_path_factory.mktemp("play"), code=FAILED, check_fabric_plan="full")


@pytest.mark.long
def test_npus_without_a_link_are_excluded(output: str) -> None:
    for name in ("n2 NPU 0", "n3 NPU 0", "n3 NPU 1"):
        assert f"Left out: {name}: its link is down" in output
    assert re.search(r"n2: failed\. NPU 0 was left out: its link is down; [12] good pairs? with [12] other hosts?", output)
    assert re.search(r"n3: failed\. NPU 0, 1 were left out: its link is down\b", output)


def test_npus_that_share_an_address_are_excluded(cluster: Cluster, output: str) -> None:
    address, why = address_of(cluster), "it is unknown which of them is right"
    assert f"Left out: n4 NPU 1: its address {address} is also that of n5 NPU 1; {why}" in output
    assert f"Left out: n5 NPU 1: its address {address} is also that of n4 NPU 1; {why}" in output
    left_out = rf"n4: failed\. NPU 1 was left out: its address {address} is also that of n5 NPU 1; {why}"
    assert re.search(rf"{left_out}; [12] good pairs? with [12] other hosts?", output)


def test_other_npus_are_measured(output: str) -> None:
    assert dict(re.findall(r"(n\d): (good|slow|failed|not_measured)\. ", output)) == {
        "n1": "good", "n2": "failed", "n3": "failed", "n4": "failed", "n5": "failed"}
    assert "full: 4 pairs of NPUs over 4 hosts" in output
