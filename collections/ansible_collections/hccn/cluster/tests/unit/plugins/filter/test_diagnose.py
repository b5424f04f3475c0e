from __future__ import annotations

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.diagnose import FilterModule


def record(source, target, value):
    return {"id": "r/%s%s/forward/1" % (source, target), "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth",
            "source": {"host": source, "device": 0}, "target": {"host": target, "device": 0},
            "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": value}]}


RECORDS = [record("a", "b", 195), record("b", "c", 100), record("c", "d", 101), record("d", "a", 195), {"kind": "device", "id": "x"}]


def test_a_slow_npu_is_named():
    diagnose = FilterModule().filters()["diagnose"]
    found = diagnose(RECORDS)
    assert sorted(found) == ["components", "coverage", "detection_limit", "hosts", "problems", "regressions", "suspects", "verdicts"]
    assert found["hosts"] == {"good": ["a", "b", "d"], "slow": ["c"], "failed": [], "busy": [], "unreachable": [], "not_measured": []}
    assert found["components"] == [{"kind": "npu", "name": "c NPU 0", "class": "slow", "certain": False, "certainty": "probable", "hosts": ["c"],
                                    "message": "c: NPU 0 is slow with 2 of 2 proven-good partners: b, d, 48 % below normal (probable)",
                                    "devices": [{"host": "c", "device": 0}]}]


def test_results_by_host_are_limited_to_the_requested_hosts():
    diagnose = FilterModule().filters()["diagnose"]
    results = {host: {"measurements": [entry for entry in RECORDS if entry.get("source", {}).get("host") == host]} for host in "abcd"}
    found = diagnose(results, hosts=["c", "x"], relative_floor=0.4)
    assert [(entry["host"], entry["class"]) for entry in found["verdicts"]] == [("c", "good"), ("x", "not_measured")]


def test_an_invalid_record_is_an_error():
    with pytest.raises(AnsibleFilterError, match="diagnose: the list of measurements holds something that is no record"):
        FilterModule().filters()["diagnose"](["x"])
