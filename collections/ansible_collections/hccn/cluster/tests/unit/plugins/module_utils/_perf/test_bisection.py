"""The search on simulated clusters: it names a slow host, pair or group exactly, terminates, and measures a number of groups logarithmic in the hosts."""

from __future__ import annotations

import math
import random
from typing import Callable, List, Sequence, Set, Tuple

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._perf import bisection
from ansible_collections.hccn.cluster.plugins.module_utils._perf.bisection import Finding, Search

GOOD, BAD, LIMIT = 100.0, 60.0, 80.0


def names(count: int) -> "List[str]":
    return ["n%d" % number for number in range(1, count + 1)]


class Cluster:
    """A cluster. ``faults``: sets of hosts; a group that contains all hosts of a set is slow."""

    def __init__(self, count: int, *faults: "Set[str]") -> None:
        self.hosts = names(count)
        self.faults = faults
        self.groups: List[Tuple[str, ...]] = []

    def measure(self, group: "Tuple[str, ...]") -> float:
        assert len(set(group)) == len(group) >= 2
        assert list(group) == sorted(group, key=self.hosts.index)
        assert group not in self.groups, "measured twice"
        self.groups.append(group)
        return BAD if any(fault <= set(group) for fault in self.faults) else GOOD

    def findings(self, **more: object) -> "List[Finding]":
        return Search(self.hosts, self.measure, LIMIT, **more).findings()  # type: ignore[arg-type]

    def named(self) -> "List[Tuple[str, Tuple[str, ...]]]":
        return [(found.kind, found.hosts) for found in self.findings()]


def test_no_findings_if_no_group_is_slow() -> None:
    cluster = Cluster(8)
    assert cluster.named() == []
    assert len(cluster.groups) == 1


@pytest.mark.parametrize("count", [3, 4, 5, 8, 13, 64, 200])
def test_finds_any_single_slow_host(count: int) -> None:
    for host in names(count):
        cluster = Cluster(count, {host})
        assert cluster.named() == [("group", (host,))], host
        assert len(cluster.groups) <= 2 * math.ceil(math.log2(count)) + 6, (host, cluster.groups)


def test_finds_any_slow_pair_of_eight_hosts() -> None:
    hosts = names(8)
    for first in range(8):
        for second in range(first + 1, 8):
            cluster = Cluster(8, {hosts[first], hosts[second]})
            assert cluster.named() == [("group", (hosts[first], hosts[second]))]
            assert len(cluster.groups) <= 18


@pytest.mark.parametrize("count", [16, 100, 512])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_finds_random_slow_groups(count: int, size: int) -> None:
    chance = random.Random(count * size)
    for _time in range(40):
        fault = set(chance.sample(names(count), size))
        cluster = Cluster(count, fault)
        assert cluster.named() == [("group", tuple(sorted(fault, key=cluster.hosts.index)))]
        assert len(cluster.groups) <= 2 * (size + 1) * math.ceil(math.log2(count)) + 8


def test_finds_two_independent_slow_hosts() -> None:
    chance = random.Random(2)
    for _time in range(60):
        first, second = chance.sample(names(32), 2)
        cluster = Cluster(32, {first}, {second})
        assert sorted(cluster.named()) == sorted([("group", (first,)), ("group", (second,))])
        assert len(cluster.groups) <= 40


def test_finds_a_slow_host_and_a_slow_pair() -> None:
    chance = random.Random(3)
    for _time in range(60):
        one, *two = chance.sample(names(24), 3)
        cluster = Cluster(24, {one}, set(two))
        assert sorted(len(hosts) for kind, hosts in cluster.named() if kind == "group") == [1, 2]


def test_groups_have_the_same_size_while_good_hosts_are_available() -> None:
    cluster = Cluster(16, {"n3"})
    cluster.findings()
    assert [len(group) for group in cluster.groups][:6] == [16, 8, 8, 8, 8, 8]
    assert {group for group in cluster.groups[3:7] if not set(group) & set(names(16)[8:])} == set()


def test_evidence_contains_slow_groups_with_and_good_groups_without_the_host() -> None:
    found = Cluster(8, {"n6"}).findings()[0]
    slow = [one for one in found.tried if one.slow]
    good = [one for one in found.tried if not one.slow]
    assert slow and all("n6" in one.hosts and one.value == BAD for one in slow)
    assert good and all("n6" not in one.hosts and one.value == GOOD for one in good)
    assert max(len(one.hosts) for one in good) == 7


def test_slowness_by_number_of_hosts_names_no_host() -> None:
    hosts = names(16)
    search = Search(hosts, lambda group: BAD if len(group) > 10 else GOOD, LIMIT)
    found = search.findings()
    assert [(one.kind, len(one.hosts)) for one in found] == [("size", 11)]
    whole = Search(hosts, lambda group: BAD if len(group) == 16 else GOOD, LIMIT).findings()
    assert [(one.kind, len(one.hosts)) for one in whole] == [("size", 16)]


@pytest.mark.parametrize("count", [3, 4, 64, 500])
def test_reports_if_every_group_is_slow(count: int) -> None:
    groups: List[Tuple[str, ...]] = []

    def measure(group: "Tuple[str, ...]") -> float:
        groups.append(group)
        return BAD

    assert [found.kind for found in Search(names(count), measure, LIMIT).findings()] == ["everywhere"]
    assert len(groups) <= 3 * math.ceil(math.log2(count)) + 3


def test_two_hosts_cannot_be_distinguished() -> None:
    assert Cluster(2, {"n1"}).named() == [("too_few", ("n1", "n2"))]


def test_known_groups_are_not_measured_again() -> None:
    cluster = Cluster(8, {"n7"})
    known: "Sequence[Tuple[Sequence[str], float]]" = [(cluster.hosts, BAD), (cluster.hosts[:2], GOOD), (cluster.hosts[:4], GOOD), (["other", "n1"], BAD)]
    assert [found.hosts for found in cluster.findings(known=known)] == [("n7",)]
    assert tuple(cluster.hosts) not in cluster.groups and tuple(cluster.hosts[:4]) not in cluster.groups


def test_exhausted_budget_ends_the_search() -> None:
    found = Cluster(64, {"n50"}).findings(budget=5)
    assert (found[0].kind, found[0].stopped) == ("group", "the limit of measured groups (isolate_budget) was reached")
    assert "n50" in found[0].hosts and len(found[0].hosts) < 64


def test_failed_measurement_ends_the_search() -> None:
    def measure(group: "Tuple[str, ...]") -> "float | None":
        return None if "n2" in group and len(group) < 8 else BAD

    found = Search(names(8), measure, LIMIT).findings()
    assert found[0].stopped == "the collective failed over n1, n2, n3, n4"
    assert found[0].hosts == tuple(names(8))


def monotone(chance: random.Random, count: int) -> "Callable[[Tuple[str, ...]], float]":
    faults = [set(chance.sample(names(count), chance.randint(1, min(4, count)))) for _time in range(chance.randint(1, 4))]
    return lambda group: BAD if any(fault <= set(group) for fault in faults) else GOOD


def test_search_terminates_and_names_only_slow_hosts() -> None:
    chance = random.Random(8)
    for _time in range(300):
        count = chance.randint(2, 40)
        measure = monotone(chance, count)
        for found in Search(names(count), measure, LIMIT).findings():
            if found.kind == bisection.GROUP and len(found.hosts) > 1:
                assert measure(found.hosts) == BAD
                for host in found.hosts if len(found.hosts) > 2 else ():
                    assert measure(tuple(one for one in found.hosts if one != host)) == GOOD
