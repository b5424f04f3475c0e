"""Progress of a run: all hosts report to two aggregators, one of which may die, and a waiting aggregator does not block other runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from ansible_collections.hccn.cluster.plugins.module_utils._fabric import progress
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from tests.integration.check_fabric.cluster import Cluster, result
from tests.lib.waiting import until


def test_second_reporter_survives_the_first(make: Callable[..., Cluster]) -> None:
    cluster = make(3, measure_seconds=4.0)
    plan = cluster.plan("full")
    options = {"wait": False, "reporters": ["n1", "n2"], "duration": 8, "iterations": None, "meeting_timeout": 60}
    started = [cluster.perf(name, plan, **options) for name in cluster.ports]
    assert [result(process)["state"] for process in started] == ["running"] * 3
    until(lambda: (progress.read(f"{cluster.root('n2')}/runs", "r1") or {}).get("hosts_heard") == 3)
    os.kill(cluster.journal("n1")[0]["pid"], signal.SIGKILL)
    lost = cluster.info("n1", fabric=True)
    assert (lost["state"], lost["alive"], lost["error"]["code"]) == ("failed", False, "runner_died")
    assert cluster.info("n3", fabric=True)["fabric"] is None
    over = cluster.info("n2", wait=60, fabric=True)
    assert (over["state"], over["measurements"], over["fabric"]["over"]) == ("finished", [], True)
    assert (over["fabric"]["silent"], over["fabric"]["hosts_heard"], over["fabric"]["hosts_over"]) == (["n1"], 3, 2)
    mine = [cluster.info(name)["progress"] for name in ("n2", "n3")]
    lived = sum(progress["pairs_done"] for progress in mine)
    assert lived <= over["fabric"]["pairs_done"] <= lived + len(cluster.info("n1")["measurements"])
    assert over["fabric"]["slowest"]["unit"] == "Gbit/s"
    until(lambda: cluster.nothing_left("n1", "n2", "n3"))


def test_aggregator_that_waits_ends_for_the_next_run(make: Callable[..., Cluster]) -> None:
    """n3 never starts, so the aggregator on n1 waits for it after its pair has ended."""
    cluster = make(3)
    plan = cluster.plan("pairs", pairs=[["n1", "n2"]])
    plan["hosts"]["n3"] = {"control_address": "127.0.0.1", "control_port": cluster.ports["n3"]}
    for name in ("n1", "n2"):
        result(cluster.perf(name, plan, wait=False, reporters=["n1"], meeting_timeout=300))
    assert {cluster.info(name, wait=60)["state"] for name in ("n1", "n2")} == {"finished"}
    waiting = cluster.info("n1", fabric=True)
    assert (waiting["state"], waiting["alive"], waiting["fabric"]["over"]) == ("finished", True, False)
    again = cluster.perf("n2", plan, run_id="r2", wait=True, meeting_timeout=20)
    assert result(cluster.perf("n1", plan, run_id="r2", meeting_timeout=20))["state"] == "finished"
    assert result(again)["state"] == "finished"
    assert cluster.info("n1", fabric=True)["alive"] is False
    until(lambda: cluster.nothing_left("n1", "n2"))


def test_host_that_is_not_started_is_given_up_once_all_are_started(make: Callable[..., Cluster]) -> None:
    """n4 is never started and the timeout for the start is long, so the run ends when the controller announces that all have started. The first
    aggregator passes this on to the second."""
    cluster = make(4)
    plan = cluster.plan("full")
    names = ("n1", "n2", "n3")
    for name in names:
        result(cluster.perf(name, plan, wait=False, reporters=["n1", "n2"], meeting_timeout=900))
    until(lambda: sum(line["type"] == "record" for name in names for line in cluster.journal(name)) == 3)
    assert sum(cluster.info(name)["progress"]["pairs_done"] for name in names) == 3
    assert {cluster.info(name)["state"] for name in names} == {"running"}
    over = cluster.info("n1", wait=60, fabric=True, all_started=True)
    assert (over["state"], over["fabric"]["over"], over["fabric"]["silent"]) == ("finished", True, ["n4"])
    records = [record for name in names for record in cluster.info(name)["measurements"]]
    assert {cluster.info(name)["state"] for name in names} == {"finished"}
    bad = {(record["target"]["host"], record["error"]["code"]) for record in records if record["status"] != "ok"}
    assert bad == {("n4", "peer_unreachable")}
    until(lambda: cluster.nothing_left(*names))


def test_waiting_aggregator_can_be_ended(make: Callable[..., Cluster]) -> None:
    cluster = make(2)
    plan = cluster.plan()
    plan["rounds"] = []
    assert result(cluster.perf("n1", plan, wait=False, reporters=["n1"], meeting_timeout=300))["state"] in ("running", "finished")
    until(lambda: cluster.info("n1", fabric=True)["fabric"])
    assert cluster.absent("n1", purge=True)["changed"] is True
    assert cluster.nothing_left("n1")
    assert not os.path.exists(f"{cluster.root('n1')}/runs/r1")


def test_context_of_a_record(make: Callable[..., Cluster]) -> None:
    """A bad pair is measured again with more queue pairs. The floor is the line rate of the slower NPU."""
    cluster = make(2)
    plan = cluster.plan()
    (entry,) = plan["rounds"][0]
    plan["rounds"] = [[entry], [{**entry, "id": "p0002", "options": {"qps": 2}}]]
    rates = {name: {"product": "A2", "line_rate_gbit_s": {"0": rate}} for name, rate in (("n1", 0.4), ("n2", 0.8))}
    processes = {name: cluster.perf(name, plan, context=rates[name]) for name in cluster.ports}
    results = {name: result(process) for name, process in processes.items()}
    records = sorted((record for found in results.values() for record in found["measurements"]), key=lambda record: record["id"])
    assert [(record["status"], record["options"].get("qps"), "-q" in record["command"]) for record in records] == [("ok", None, False), ("ok", 2, True)]
    assert [record["context"] for record in records] == [{"product": "A2", "round": number, "rail": 0, "line_rate_gbit_s": 0.4} for number in (1, 2)]
    found = diagnose(list(cluster.ports), results, relative_floor=0.1)
    assert {verdict.verdict for verdict in found.verdicts} == {"slow"}, "0.2 Gbit/s over links of 0.4"
    assert diagnose(list(cluster.ports), results, relative_floor=0.1, line_rate_floor=0.0).coverage["pairs_slow"] == 0
