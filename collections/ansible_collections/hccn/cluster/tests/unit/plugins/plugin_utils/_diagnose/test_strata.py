"""Differences that are not faults: latency over more switches, bandwidth of hosts with another line rate."""

from __future__ import annotations

import itertools
import random

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose_records
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.measurement_table import Table
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.strata import pods_of

FAST, SLOW = ["f%d" % number for number in range(1, 7)], ["s%d" % number for number in range(1, 5)]


def diagnosed(hosts, value, devices=1, leaf_size=0, rows=False):
    """``value``: of a pair and its NPU, microseconds, or Gbit/s and the line rate."""
    noise, records = random.Random(1), {}
    for number, (source, target) in enumerate(itertools.combinations(hosts, 2)):
        source, target = (source, target) if number % 2 else (target, source)
        for device in range(devices):
            found, rate = value(source, target, device), None
            if isinstance(found, tuple):
                found, rate = found
            shown = round(found * (1 + 0.01 * noise.gauss(0, 1)), 2)
            sample = {"size_bytes": 65536, "bandwidth_gbit_s": shown} if rate else {"size_bytes": 2, "latency_us": {"typical": shown}}
            made = {"id": "r/p%d.%d" % (number, device), "kind": "rdma", "status": "ok", "measure": "bandwidth" if rate else "latency",
                    "source": {"host": source, "device": device}, "target": {"host": target, "device": device},
                    "context": {"line_rate_gbit_s": rate} if rate else {}, "samples": [sample]}
            if rows:
                row = records.setdefault((source, device, rate), {
                    **made, "id": "r/%s/%d/%s" % (source, device, rate), "kind": "matrix", "target": {"device": device}, "hosts": hosts,
                    "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": [None] * len(hosts)}]})
                row["samples"][0]["bandwidth_gbit_s"][hosts.index(target)] = shown
            else:
                records[number, device] = made
    leaves = {host: "L%d" % (place // leaf_size) if leaf_size else None for place, host in enumerate(hosts)}
    topology = {host: {"devices": {str(device): {"rail": device, "leaf": leaf} for device in range(devices)}} for host, leaf in leaves.items()}
    return diagnose_records(list(records.values()), plan={"topology": topology})


def named(found):
    return [(component["kind"], component["name"]) for component in found.components]


def latency(leaf_size, near, far, bad=lambda source, target: 1.0):
    hosts = ["n%02d" % number for number in range(16)]
    leaf = {host: place // leaf_size for place, host in enumerate(hosts)}
    return diagnosed(hosts, lambda source, target, device: (near if leaf[source] == leaf[target] else far) * bad(leaf[source], leaf[target]), 1, leaf_size)


@pytest.mark.parametrize("leaf_size", [4, 8])
@pytest.mark.parametrize("near, far", [(2.0, 3.1), (1.5, 3.0), (2.0, 2.9)])
def test_longer_latency_between_all_leaves_is_not_a_fault(leaf_size, near, far):
    found = latency(leaf_size, near, far)
    assert named(found) == []
    assert ("this is attributed to their path" in found.detection_limit["text"]) == (far > 1.5 * near)


def test_longer_paths_are_mentioned_in_the_detection_limit():
    assert latency(4, 1.5, 3.0).detection_limit["blind"] == [
        "pairs between leaves take 2.998 us, the nearest 1.506: since all of them do, this is attributed to their path"]


def test_one_path_that_is_longer_than_the_others_is_slow():
    assert named(latency(4, 1.5, 3.0, lambda one, other: 2.0 if {one, other} == {0, 1} else 1.0)) == [("path", "path L0-L1")]


def test_latency_that_switches_do_not_explain_is_slow():
    assert named(latency(8, 2.0, 9.0)) == [("path", "path L0-L1")]


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("devices", [1, 2])
def test_hosts_are_compared_with_hosts_of_the_same_line_rate(devices, rows):
    def rate(source, target, device):
        slower = 200 if set(SLOW) & {source, target} else 400
        return slower * 0.97, slower

    found = diagnosed(FAST + SLOW, rate, devices, rows=rows)
    assert named(found) == []
    assert found.detection_limit["blind"][0] == "200 and 400 Gbit/s are line rates of whole hosts here: each pair was compared with pairs of its line rate"


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("hosts", [FAST + SLOW, FAST])
def test_a_link_that_negotiated_down_is_slow(hosts, rows):
    def rate(source, target, device):
        down = "f2" in (source, target) and device == 1
        slower = 200 if down or set(SLOW) & {source, target} else 400
        return slower * 0.97, slower

    found = diagnosed(hosts, rate, 2, rows=rows)
    assert named(found) == [("npu", "f2 NPU 1")]
    assert found.components[0]["message"] == "f2: NPU 1 is slow with 5 of %d proven-good partners: f1, f3, f4, f5 and 1 more, 50 %% below normal" % (
        9 if len(hosts) > 6 else 5)


def test_a_host_whose_links_all_negotiated_down_is_slow():
    found = diagnosed(FAST, lambda source, target, device: (194.0, 200) if "f2" in (source, target) else (388.0, 400), 2)
    assert named(found) == [("node", "f2")]


def test_two_single_npu_hosts_that_negotiated_down_are_slow():
    found = diagnosed(FAST, lambda source, target, device: (194.0, 200) if {"f2", "f3"} & {source, target} else (388.0, 400))
    assert named(found) == [("npu", "f2 NPU 0"), ("npu", "f3 NPU 0")]


def test_leaves_of_a_pod_are_near_each_other():
    """Latency inside a pod and across the core; a slow leaf or a slow path is no pod."""
    def pods(time):
        leaves = "ABCD"
        table = Table({leaf: {"devices": {"0": {"rail": 0, "leaf": leaf}}} for leaf in leaves})
        for leaf in leaves:
            table.number(leaf, 0)
        return pods_of(table, [(one, other, 0, 1 / time(leaves[one], leaves[other])) for one in range(4) for other in range(4) if one != other])

    def core(one, other):
        return 3.0 if (one in "AB") == (other in "AB") else 3.8

    assert pods(core) == {"A": 0, "B": 0, "C": 2, "D": 2}
    assert pods(lambda one, other: 3.0) == {}
    assert pods(lambda one, other: 3.8 if "D" in (one, other) else 3.0) == {}, "a slow leaf"
    assert pods(lambda one, other: 3.8 if {one, other} == {"A", "D"} else 3.0) == {}, "a slow path"
