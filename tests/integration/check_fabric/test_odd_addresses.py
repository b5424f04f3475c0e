"""The role check_fabric where an NPU has an address that is none, and two have the same one: they are left out by name, and all else is measured."""

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


def test_odd_addresses_cost_no_other_host_its_check(cluster: Cluster, tmp_path: Path) -> None:
    address = next(device["address"] for entry in cluster.hosts() if entry["host"] == "n3" for device in entry["devices"] if device["id"] == 1)
    cluster.set_state("n2", f"1.ip={address}")
    said = play(cluster, tmp_path, code=FAILED)
    why = "it is unknown which of them is right"
    assert f"Left out: n2 NPU 1: its address {address} is also that of n3 NPU 1; {why}" in said
    assert f"Left out: n3 NPU 1: its address {address} is also that of n2 NPU 1; {why}" in said
    assert dict(re.findall(r"(n\d): (good|slow|failed|not_measured)\. ", said)) == {"n1": "good", "n2": "failed", "n3": "failed", "n4": "good"}
    assert re.search(rf"n2: failed\. NPU 1 was left out: its address {address} is also that of n3 NPU 1; {why}; 2 good pairs with 2 other hosts", said)
