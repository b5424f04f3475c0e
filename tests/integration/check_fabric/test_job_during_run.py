"""A job that starts on an NPU during a run: the NPU is classified as busy, not reset, and not measured any more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from tests.integration.check_fabric.cluster import Cluster, records, run
from tests.lib.hosts import set_state_after

JOB = "0.process=4711:python3:100"
LONG = {"iterations": 20000}
"""With measure_seconds above 1, a test takes longer than a probe for processes stays valid."""


def victim_of(plan: dict, side: str) -> str:
    """Return a host that is the ``side`` of its second pair."""
    for host in ("n1", "n2", "n3"):
        pairs = [pair for one in plan["rounds"] for pair in one if host in (pair["source"]["host"], pair["target"]["host"])]
        if pairs[1][side]["host"] == host:
            return host
    raise AssertionError(side)


@pytest.mark.parametrize("side", ["source", "target"])
def test_npu_that_becomes_busy_is_not_measured(make: Callable[..., Cluster], side: str) -> None:
    cluster = make(3, 1, measure_seconds=1.3)
    plan = cluster.plan("full")
    victim = victim_of(plan, side)
    set_state_after(Path(cluster.root(victim)), 1, JOB, matching="ib_write_bw")
    results = run(cluster, plan, **LONG)
    by_status = {record["status"]: record for record in records(results)}
    assert sorted(record["status"] for record in records(results)) == ["not_run", "ok", "ok"]
    busy = by_status["not_run"]
    message = "device 0 is busy: pid 4711 (python3)"
    assert (busy[side]["host"], busy["context"]["failed_end"]) == (victim, side)
    assert busy["error"] == {"code": "device_busy", "message": message if side == "source" else f"{victim} NPU 0 as server: {message}",
                             "hint": "wait for the job to end, or set allow_busy: true"}
    assert "command" not in busy
    kinds = [call.split()[1] for call in cluster.calls(victim)]
    assert [kind if kind == "reset" else "test" for kind in kinds] == ["reset", "test", "reset"], "no reset after the job has started"
    found = diagnose(list(cluster.ports), results, relative_floor=0.1)
    # Only one partner reports a busy target, which does not outweigh the good result with the other.
    known = "busy" if side == "source" else "good"
    assert {verdict.host: verdict.verdict for verdict in found.verdicts} == {name: known if name == victim else "good" for name in cluster.ports}
    assert cluster.nothing_left("n1", "n2", "n3")


def test_allow_busy_measures_busy_npus(make: Callable[..., Cluster]) -> None:
    cluster = make(2, 1)
    cluster.set_state("n1", JOB)
    (record,) = records(run(cluster, cluster.plan(), allow_busy=True))
    assert record["status"] == "ok"


def test_npu_whose_address_changes_during_the_run_is_busy(make: Callable[..., Cluster]) -> None:
    """Another playbook has changed the address since the pairs were planned. No host is classified as failed."""
    cluster = make(2, 1)
    plan = cluster.plan()
    target = plan["rounds"][0][0]["target"]
    cluster.set_state(target["host"], "0.ip=127.200.0.9")
    results = run(cluster, plan)
    (record,) = records(results)
    assert (record["status"], record["context"]["failed_end"]) == ("not_run", "target")
    assert "Dsmi start roce perftest end." in record["error"].pop("output")
    assert record["error"] == {
        "code": "address_changed",
        "message": f"{target['host']} NPU 0 as server: device 0 now has 127.200.0.9, but had {target['address']} when the pairs were planned",
        "hint": "another run is changing the NPUs of this host: measure again when it has ended"}
    found = diagnose(list(cluster.ports), results, relative_floor=0.1)
    assert {verdict.host == target["host"]: verdict.verdict for verdict in found.verdicts} == {True: "busy", False: "not_measured"}
