"""A host that hangs costs the others a few timeouts instead of one per round; a host that recovers is measured."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
import pytest

from tests.integration.check_fabric.cluster import Cluster, records, result, run

HANGS = 'case "$*" in *reset*) ;; *-roce_test*) sleep 600;; esac'
STOPS_ITS_RUNNER = 'case "$*" in *reset*) ;; *-roce_test*) kill -STOP $PPID; sleep 1;; esac'


def parted(found: list[dict[str, Any]], host: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the records with a host and those without it."""
    concerned = [record for record in found if host in (record["source"]["host"], record["target"]["host"])]
    return concerned, [record for record in found if record not in concerned]


def source_is(host: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Return the plan with the host as the source of all its pairs: a hung client causes a timeout, a server that never listens is reported at once."""
    for entry in (entry for entries in plan["rounds"] for entry in entries if entry["target"]["host"] == host):
        entry["source"], entry["target"] = entry["target"], entry["source"]
    return plan


def test_host_whose_tests_hang_is_suspended(make: Callable[..., Cluster]) -> None:
    cluster = make(5, 1)
    cluster.instrument("n5", HANGS)
    results = run(cluster, source_is("n5", cluster.plan("full")), pair_timeout=8)
    with_it, others = parted(records(results), "n5")
    assert [record["status"] for record in others] == ["ok"] * 6
    assert len(with_it) == 4
    assert sorted(record["status"] for record in with_it) == ["failed"] * 3 + ["not_run"], "two strikes and the trial at the end"
    left_out = [record for record in with_it if record["status"] == "not_run"]
    for record in left_out:
        assert record["error"]["code"] == "peer_suspended"
        assert record["error"]["message"].startswith("n5 NPU 0 was left out: its pairs with n")
        assert record["id"].endswith("/forward/0")
        assert record["context"]["failed_end"] == "source"
    verdicts = {verdict.host: verdict.verdict for verdict in diagnose(list(cluster.ports), results, relative_floor=0.1).verdicts}
    assert verdicts == {**dict.fromkeys(cluster.ports, "good"), "n5": "failed"}


def test_host_whose_runner_hangs_does_not_stop_the_others(make: Callable[..., Cluster]) -> None:
    cluster = make(4, 1)
    cluster.instrument("n4", STOPS_ITS_RUNNER)
    plan = cluster.plan("full")
    hung = cluster.perf("n4", plan, pair_timeout=8, meeting_timeout=10)
    processes = {name: cluster.perf(name, plan, pair_timeout=8, meeting_timeout=10) for name in cluster.ports if name != "n4"}
    results: dict[str, Any] = {name: result(process) for name, process in processes.items()}
    with_it, others = parted(records(results), "n4")
    assert [record["status"] for record in others] == ["ok"] * 3
    assert {record["error"]["code"] for record in with_it} <= {"peer_unreachable", "peer_silent", "peer_suspended"}
    assert {found["state"] for found in results.values()} == {"finished"}
    verdicts = {verdict.host: verdict.verdict for verdict in diagnose(list(cluster.ports), {**results, "n4": None}, relative_floor=0.1).verdicts}
    assert {name for name, verdict in verdicts.items() if verdict != "good"} == {"n4"}
    os.kill(hung.pid, signal.SIGCONT)
    assert result(hung)["state"] == "finished"


@pytest.mark.long
def test_suspended_host_that_recovers_is_measured(make: Callable[..., Cluster]) -> None:
    """The first two tests of the host hang, the later ones succeed."""
    cluster = make(5, 1)
    count = cluster.folder / "tests"
    cluster.instrument("n5", f"case \"$*\" in *reset*) ;; *-roce_test*) echo x >> '{count}'; [ $(wc -l < '{count}') -gt 2 ] || sleep 600;; esac")
    results = run(cluster, source_is("n5", cluster.plan("full")), pair_timeout=8)
    with_it, others = parted(records(results), "n5")
    assert [record["status"] for record in others] == ["ok"] * 6
    assert sorted(record["status"] for record in with_it) == ["failed", "failed", "ok", "ok"]
