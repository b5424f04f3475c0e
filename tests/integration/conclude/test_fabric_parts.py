"""A fabric that is measured in parts: two pods by jobs of their own, a few rounds over all hosts, and the job that judges all pairs together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.integration.check_fabric.cluster import Cluster
from tests.integration.check_fabric.role import FAILED, play
from tests.lib.playbook import run_playbook

PODS = (("n1", "n2"), ("n3", "n4"))
HOSTS = tuple(host for pod in PODS for host in pod)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster", len(HOSTS), 1)
    yield made
    made.close()


def measure(cluster: Cluster, folder: Path, hosts: Sequence[str], code: int, **variables: object) -> None:
    environment = {"HCCN_RESULTS_PATH": str(folder / "history"), "ANSIBLE_CALLBACKS_ENABLED": "hccn.cluster.results"}
    of_hosts = {host: {"check_fabric_leaf": "A" if host in PODS[0] else "B"} for host in hosts}
    play(cluster, folder, code=code, environment=environment, of_hosts=of_hosts, **variables)


def test_runs_on_parts_of_the_fabric_are_judged_as_one(cluster: Cluster, tmp_path: Path) -> None:
    """Each of two hosts could be the slow one as long as they were measured with each other only."""
    cluster.set_state("n2", "0.rate_mbit=20")
    for pod, code in zip(PODS, (FAILED, 0)):
        measure(cluster, tmp_path, pod, code, check_fabric_plan="full", check_fabric_floor_gbit_s=0.05)
    measure(cluster, tmp_path, HOSTS, FAILED, check_fabric_plan="quick", check_fabric_confirm=False, check_fabric_floor_gbit_s=0.05)
    variables = ("-e", "conclude_slices_of=check_fabric", "-e", "check_fabric_floor_gbit_s=0.05", "-e", "check_fabric_relative_floor=0.2")
    done = run_playbook("hccn.cluster.conclude_slices", "hosts.json", *variables, cwd=tmp_path, HCCN_RESULTS_PATH=str(tmp_path / "history"),
                        ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results")
    assert done.returncode == FAILED, done.stdout + done.stderr
    result, first = done.stdout[done.stdout.rindex("Result: "):].splitlines()[:2]
    assert result == "Result: slow. 4 hosts: 1 slow, 3 good.", done.stdout
    assert first.startswith("slow n2 NPU 0: it is slow with 5 of 5 proven-good partners: n1, n3, n4"), done.stdout
