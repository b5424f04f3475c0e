"""The rows that a host returns for a large run have the same diagnosis as its records."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._fabric import results as host_results
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose

HOSTS = ["n%d" % number for number in range(1, 9)]


def measured(source, target, device, rate=200):
    """n3 NPU 1 is slow, n6 NPU 0 became busy, n7 does not answer, n8 was given up."""
    made = {"id": "r1/%s-%s-%d/forward/1" % (source, target, device), "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth",
            "options": {}, "context": {"round": 1, "line_rate_gbit_s": rate}, "source": {"host": source, "device": device},
            "target": {"host": target, "device": device}, "samples": []}
    if "n7" in (source, target) or "n8" in (source, target):
        code = "peer_unreachable" if "n7" in (source, target) else "peer_suspended"
        return {**made, "status": "failed" if code == "peer_unreachable" else "not_run", "error": {"code": code, "message": "no answer"},
                "context": {**made["context"], "failed_end": "target"}}
    if device == 0 and "n6" in (source, target):
        return {**made, "status": "not_run", "error": {"code": "device_busy", "message": "device 0 is busy: pid 4711"},
                "context": {**made["context"], "failed_end": "source" if source == "n6" else "target"}}
    slow = device == 1 and "n3" in (source, target)
    return {**made, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 120.0 if slow else 195.0}]}


@pytest.mark.parametrize("full", [host_results.MOST_FULL, 0])
def test_rows_have_the_same_verdicts_as_records(monkeypatch, full):
    monkeypatch.setattr(host_results, "MOST_PAIRS", 0)
    monkeypatch.setattr(host_results, "MOST_FULL", full)
    results, condensed = {}, {}
    for place, source in enumerate(HOSTS):
        records = [measured(source, target, device) for target in HOSTS[place + 1:] for device in (0, 1)] if source not in ("n7", "n8") else []
        results[source] = {"state": "finished", "measurements": records} if source not in ("n7", "n8") else None
        condensed[source] = results[source] and {**results[source], "measurements": host_results.returned(records, "r1").measurements}
    assert any(record["kind"] == "matrix" for found in condensed.values() if found for record in found["measurements"])
    assert any("not_run" in record for found in condensed.values() if found for record in found["measurements"]) is (full == 0)
    one, other = (diagnose(HOSTS, found) for found in (results, condensed))
    classes = {verdict.host: verdict.verdict for verdict in other.verdicts}
    assert classes == {verdict.host: verdict.verdict for verdict in one.verdicts}
    assert (classes["n3"], classes["n1"], classes["n6"], classes["n7"]) == ("slow", "good", "busy", "unreachable")
    assert (one.coverage["pairs_good"], one.coverage["pairs_slow"]) == (other.coverage["pairs_good"], other.coverage["pairs_slow"]) == (20, 5)
