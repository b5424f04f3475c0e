"""If most hosts are slow, the few fast pairs are normal, unless they have a faster path."""

from __future__ import annotations

import itertools
import random

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose_records


def diagnosed(count, speed, devices=1, leaf_size=0, spread=0.01, super_pods=None):
    """Return the diagnosis of every pair of hosts on each rail; ``speed(one, other, device)`` is the share of 195 Gbit/s by the places of the hosts."""
    noise, records = random.Random(1), []
    for number, (one, other) in enumerate(itertools.combinations(range(count), 2)):
        source, target = (one, other) if number % 2 else (other, one)
        for device in range(devices):
            source, target = (target, source) if device > 0 else (source, target)  # as plans do: every second NPU measures the other way
            value = 195 * speed(one, other, device) * (1 + spread * noise.gauss(0, 1))
            records.append({"id": "r/p%d.%d" % (number, device), "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth",
                            "source": {"host": "n%02d" % source, "device": device}, "target": {"host": "n%02d" % target, "device": device},
                            "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": value}]})
    topology = {"n%02d" % place: {"super_pod": super_pods(place) if super_pods else None, "devices": {
        str(device): {"rail": device, "leaf": str(place // leaf_size) if leaf_size else None} for device in range(devices)}} for place in range(count)}
    return diagnose_records(records, plan={"topology": topology})


def named(found):
    return [(component["kind"], component["name"], component["certain"]) for component in found.components]


def bad_hosts(found):
    return sorted(verdict.host for verdict in found.verdicts if verdict.verdict != "good")


@pytest.mark.parametrize("count, slow, devices, drop", [(4, 2, 8, 0.5), (5, 3, 8, 0.5), (8, 5, 8, 0.2), (16, 11, 1, 0.1), (32, 23, 1, 0.1), (12, 8, 2, 0.7)])
def test_few_fast_hosts_show_that_most_are_slow(count, slow, devices, drop):
    found = diagnosed(count, lambda one, other, device: 1 - drop if one < slow else 1.0, devices)
    assert bad_hosts(found) == ["n%02d" % place for place in range(slow)]
    assert all(certain for _kind, _name, certain in named(found))
    assert found.verdicts[-1].verdict == "good"


def test_hosts_that_are_slow_by_different_amounts():
    found = diagnosed(10, lambda one, other, device: min(0.3 + 0.08 * one, 0.3 + 0.08 * other) if one < 6 else 1.0, 2)
    assert sorted(named(found)) == [("node", "n%02d" % place, True) for place in range(6)]
    assert bad_hosts(found) == ["n00", "n01", "n02", "n03", "n04", "n05"]


def test_a_single_fast_pair_proves_nothing():
    """A single host reports it: either it reports too much or all others are slow. The pair is mentioned, and no component is blamed."""
    found = diagnosed(4, lambda one, other, device: 0.5 if one < 2 else 1.0)
    assert (named(found), bad_hosts(found)) == ([], [])
    sentence = "1 pair of n02, n03 reaches 195.1 Gbit/s, the others about 98.16: either these have a faster path, or the others are slow"
    assert found.detection_limit["blind"][0] == sentence


def test_a_few_fast_hosts_of_many_are_only_mentioned():
    found = diagnosed(64, lambda one, other, device: 0.5 if one < 60 else 1.0)
    assert (named(found), bad_hosts(found)) == ([], [])
    assert found.detection_limit["blind"][0].startswith("6 pairs of n60, n61, n62, n63 reach 19")


def test_an_eighth_of_fast_hosts_makes_the_normal_value_unknown():
    found = diagnosed(64, lambda one, other, device: 0.5 if one < 56 else 1.0)
    assert named(found) == [("fabric", "most of the fabric", False)]
    assert len(bad_hosts(found)) == 56


@pytest.mark.parametrize("leaf_size", [2, 4])
def test_faster_pairs_on_the_same_leaf_do_not_make_others_slow(leaf_size):
    found = diagnosed(24, lambda one, other, device: 1.0 if one // leaf_size == other // leaf_size else 0.5, leaf_size=leaf_size)
    assert (named(found), bad_hosts(found)) == ([], [])


def test_faster_pairs_of_unknown_leaves_and_super_pods():
    groups = diagnosed(24, lambda one, other, device: 1.0 if one // 4 == other // 4 else 0.5)
    pods = diagnosed(24, lambda one, other, device: 1.0 if other < 6 else 0.5, super_pods=lambda place: "0" if place < 6 else str(place))
    assert (bad_hosts(groups), bad_hosts(pods)) == ([], [])


@pytest.mark.parametrize("spread", [0.003, 0.01, 0.03])
@pytest.mark.parametrize("count", [3, 4, 6, 12, 40])
def test_noise_has_no_fast_pairs(count, spread):
    found = diagnosed(count, lambda one, other, device: 1.0, spread=spread)
    assert (named(found), bad_hosts(found)) == ([], [])
    assert "smallest_drop_percent" in found.detection_limit


def test_one_stray_value_is_not_a_fast_pair():
    found = diagnosed(24, lambda one, other, device: 1.2 if (one, other) == (3, 7) else 1.0)
    assert (named(found), bad_hosts(found)) == ([], [])
