"""The confirmation run of the role check_fabric: a good host between two bad ones is measured with a proven good one before it is blamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import pairs_of
from tests.integration.check_fabric.cluster import Cluster
from tests.integration.check_fabric.role import FAILED, UNREACHABLE, play, verdicts
from tests.lib.waiting import until


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster", 6, 1)
    yield made
    made.close()


def partners(cluster: Cluster, seed: int) -> dict[str, set[str]]:
    """Return the partners of each host in the plan quick."""
    found: dict[str, set[str]] = {name: set() for name in cluster.ports}
    for _pair, ((one, _), (other, _)) in pairs_of(cluster.plan("quick", seed=seed)):
        found[one].add(other)
        found[other].add(one)
    return found


def caught_between(cluster: Cluster) -> tuple[int, str, tuple[str, str]]:
    """Return a seed, a host and its two partners, such that the other hosts have good pairs among themselves."""
    for seed in range(100):
        met = partners(cluster, seed)
        for bad in combinations(sorted(met), 2):
            caught = [name for name in met if met[name] == set(bad)]
            proven = [name for name in met if name not in bad and name not in caught and met[name] - set(bad)]
            if len(caught) == 1 and len(proven) == 3:
                return seed, caught[0], bad
    raise AssertionError("no seed of the first hundred has a host between two others")


@pytest.mark.long
def test_confirmation_run_clears_a_good_host_between_two_slow_ones(cluster: Cluster, tmp_path: Path) -> None:
    seed, caught, bad = caught_between(cluster)
    for name in bad:
        cluster.set_state(name, "0.rate_mbit=20")
    output = play(cluster, tmp_path, code=FAILED, check_fabric_seed=seed)
    assert "Confirmation run of 1 pair of NPUs over 2 hosts in 1 more round: 1 NPU was not measured with a proven good one." in output
    assert verdicts(output) == {name: "slow" if name in bad else "good" for name in cluster.ports}
    calls = {name: cluster.calls(name).count("0 client") + cluster.calls(name).count("0 server") for name in cluster.ports}
    assert sorted(calls.values()) == [2, 2, 2, 2, 3, 3]
    assert calls[caught] == 3
    until(lambda: cluster.nothing_left(*cluster.ports))


@pytest.mark.long
def test_without_open_questions_there_is_no_confirmation_run(cluster: Cluster, tmp_path: Path) -> None:
    cluster.set_state("n2", "0.rate_mbit=20")
    output = play(cluster, tmp_path, code=FAILED)
    assert "Confirmation run" not in output
    assert verdicts(output) == {**dict.fromkeys(cluster.ports, "good"), "n2": "slow"}
    assert [cluster.calls(name).count("0 client") + cluster.calls(name).count("0 server") for name in cluster.ports] == [2] * 6


def test_only_named_pairs_are_measured(make: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make(4, 1)
    output = play(cluster, tmp_path, check_fabric_plan="pairs", check_fabric_pairs=[["n1", "n2"], {"source": {"host": "n2", "device": 0},
                                                                                                   "target": {"host": "n4", "device": 0}}])
    assert "pairs: 2 pairs of NPUs over 4 hosts in 2 rounds" in output
    assert verdicts(output) == {"n1": "good", "n2": "good", "n3": "not_measured", "n4": "good"}


@pytest.mark.smoke("retest")
def test_a_lost_host_does_not_stop_pairs_of_others(make: Callable[..., Cluster], tmp_path: Path) -> None:
    lost = {"source": {"host": "n3", "device": 0}, "target": {"host": "n4", "device": 0}}
    output = play(make(4, 1), tmp_path, "retest", lost="n3", code=UNREACHABLE, retest_pairs=[["n1", "n3"], lost, ["n1", "n2"]])
    assert "Not measured: n1 and n3: n3 cannot be measured" in output
    assert "Not measured: n3 NPU 0 and n4 NPU 0: n3 NPU 0 cannot be measured" in output
    assert "pairs: 1 pair of NPUs over 3 hosts in 1 round," in output
    assert {name: state for name, state in verdicts(output).items() if state != "unreachable"} == {
        "n1": "good", "n2": "good", "n4": "not_measured"}
