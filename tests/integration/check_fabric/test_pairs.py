"""rdma_perf and rdma_perf_info on several simulated hosts at once: the measured pairs, and the cleanup after failures."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from tests.integration.check_fabric.cluster import Cluster, records, result, run
from tests.lib.waiting import until


Run = tuple[Cluster, dict[str, Any], dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Return two hosts, their plan and the results of its run, which has finished."""
    cluster = Cluster(tmp_path_factory.mktemp("finished") / "cluster", 2, 2)
    plan = cluster.plan("full")
    try:
        yield cluster, plan, run(cluster, plan, server_start_delay=2)  # no second attempt, however busy the machine
    finally:
        cluster.close()


def test_two_hosts(finished: Run) -> None:
    cluster, _plan, results = finished
    assert {name: (found["state"], found["changed"]) for name, found in results.items()} == {"n1": ("finished", False), "n2": ("finished", False)}
    found = sorted(records(results), key=lambda record: record["id"])
    assert [(record["id"], record["kind"], record["status"], record["context"]) for record in found] == [
        ("r1/p0001/forward/1", "rdma", "ok", {"round": 1, "rail": 0}), ("r1/p0002/forward/1", "rdma", "ok", {"round": 1, "rail": 1})]
    first, second = found
    assert (first["source"]["host"], first["target"]["host"]) == (second["target"]["host"], second["source"]["host"])
    assert (first["tool"], first["operation"], first["measure"]) == ({"name": "ib_write_bw"}, "write", "bandwidth")
    assert first["options"] == {"size_bytes": 65536, "iterations": 1000}
    (sample,) = first["samples"]
    assert (sample["size_bytes"], sample["iterations"]) == (65536, 1000)
    assert 0 < sample["bandwidth_gbit_s"] <= 0.22
    assert first["command"][1:] == [
        "-i", "0", "-roce_test", "ib_write_bw", "-s", "65536", "-n", "1000", "address", first["target"]["address"], "-tcp"]
    assert "error" not in first
    assert cluster.nothing_left("n1", "n2")


def test_run_id_of_a_finished_run_is_refused(finished: Run) -> None:
    cluster, plan, _results = finished
    refused = result(cluster.perf("n1", plan))
    assert refused["error"]["message"] == f"run r1 is in {cluster.root('n1')}/runs already (finished)"


def test_no_progress_without_reporters(finished: Run) -> None:
    cluster, _plan, _results = finished
    assert cluster.info("n1", fabric=True)["fabric"] is None
    assert not os.path.exists(f"{cluster.root('n1')}/runs/r1/fabric.json")


def test_damaged_old_journal_does_not_stop_a_later_run(make: Callable[..., Cluster]) -> None:
    """Runner and guard of the old run were killed: the devices that its first line names are reset, and malformed lines are counted."""
    cluster = make(2, 1)
    old = Path(cluster.root("n1")) / "runs" / "old"
    old.mkdir(parents=True, mode=0o700)
    start = {"type": "start", "started_at": time.time(), "pid": "4711", "identity": "another boot/1", "devices": [0, "one"],
             "hccn_tool": f"{cluster.root('n1')}/bin/counted"}
    lines = [start, [1], "text", 7, None, {"type": "record"}, {"type": "record", "record": {"id": "old/p1", "status": "failed"}}]
    (old / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    results = run(cluster, cluster.plan())
    assert [found["state"] for found in results.values()] == ["finished", "finished"]
    assert cluster.calls("n1")[0] == "0 reset"
    known = cluster.info("n1", run_id="old")
    assert (known["state"], known["odd_lines"]) == ("failed", 7)
    assert f"{old}/journal.jsonl: 7 lines are malformed" in str(known["warnings"])  # the type of warnings depends on the release of ansible-core
    assert known["error"]["message"] == "the runner died during the run: 0 of 0 pairs are in the journal (7 lines are malformed)"


def test_latency_of_devices_that_are_measured_one_at_a_time(make: Callable[..., Cluster]) -> None:
    cluster = make(2, 2)
    found = records(run(cluster, cluster.plan(), operation="read", measure="latency", size=None, iterations=50, parallel="none"))
    assert [record["status"] for record in found] == ["ok", "ok"]
    busy = [call for call in cluster.calls("n1") if not call.endswith("reset")]
    assert len(busy) == 2
    for record in found:
        (sample,) = record["samples"]
        assert record["tool"] == {"name": "ib_read_lat"}
        assert set(sample) == {"size_bytes", "iterations", "latency_us"}
        assert sample["latency_us"]["min"] <= sample["latency_us"]["typical"] <= sample["latency_us"]["max"]


def test_unreachable_host_is_reported(make: Callable[..., Cluster]) -> None:
    cluster = make(3, 1)
    plan = cluster.plan("full")
    processes = {name: cluster.perf(name, plan, meeting_timeout=8) for name in ("n1", "n2")}
    results = {name: result(process) for name, process in processes.items()}
    by_hosts = {frozenset((record["source"]["host"], record["target"]["host"])): record for record in records(results)}
    assert by_hosts[frozenset(("n1", "n2"))]["status"] == "ok"
    dead = [record for record in records(results) if record["target"]["host"] == "n3"]
    assert len(dead) == 1
    assert dead[0]["error"]["code"] == "peer_unreachable"
    assert dead[0]["error"]["message"] == f"the runner of n3 (127.0.0.1 port {cluster.ports['n3']}) cannot be reached: connection refused"
    found = diagnose(["n1", "n2", "n3"], {**results, "n3": None})
    verdicts = {verdict.host: verdict.verdict for verdict in found.verdicts}
    assert verdicts == {"n1": "good", "n2": "good", "n3": "unreachable"}
    assert cluster.nothing_left("n1", "n2")


def test_host_that_starts_late_is_measured(make: Callable[..., Cluster]) -> None:
    cluster = make(2, 1)
    plan = cluster.plan()
    (source,) = {entry["source"]["host"] for entry in plan["rounds"][0]}
    (target,) = set(cluster.ports) - {source}
    early = cluster.perf(source, plan)
    until(lambda: cluster.journal(source))
    late = cluster.perf(target, plan)
    assert result(late)["state"] == "finished"
    (record,) = result(early)["measurements"]
    assert record["status"] == "ok"


def test_initiator_that_was_given_up_is_served_when_it_comes(make: Callable[..., Cluster]) -> None:
    """n2 gives up n1, and still works on a pair with n3 when n1 starts."""
    cluster = make(3, 2, measure_seconds=20)
    cluster.set_state("n3", "1.rate_mbit=25")
    plan = cluster.plan("pairs", pairs=[{"source": {"host": source, "device": device}, "target": {"host": "n2", "device": device}}
                                        for source, device in (("n1", 0), ("n3", 1))])
    options = {"meeting_timeout": 3, "pair_timeout": 60, "iterations": None, "duration": 20}
    processes = {name: cluster.perf(name, plan, **options) for name in ("n2", "n3")}
    time.sleep(14)  # three calls without an answer after the three seconds of meeting_timeout
    processes["n1"] = cluster.perf("n1", plan, **options)
    found = {(record["source"]["host"], record["target"]["host"]): record["status"] for record in records({
        name: result(process) for name, process in processes.items()})}
    assert found == {("n1", "n2"): "ok", ("n3", "n2"): "ok"}


def test_hung_host_does_not_block_the_others(make: Callable[..., Cluster]) -> None:
    cluster = make(3, 1)
    plan = cluster.plan("full")
    hung = cluster.perf("n3", plan, meeting_timeout=5)
    pid = until(lambda: cluster.journal("n3"))[0]["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        processes = {name: cluster.perf(name, plan, meeting_timeout=0) for name in ("n1", "n2")}
        results = {name: result(process) for name, process in processes.items()}
    finally:
        os.kill(pid, signal.SIGCONT)
    by_target = {record["target"]["host"]: record for record in records(results)}
    assert by_target["n3"]["error"]["code"] == "peer_unreachable"
    assert by_target["n3"]["error"]["message"] == f"the runner of n3 (127.0.0.1 port {cluster.ports['n3']}) does not answer: no answer in time"
    assert [record["status"] for record in records(results) if "n3" not in (record["source"]["host"], record["target"]["host"])] == ["ok"]
    assert result(hung)["state"] == "finished"


@pytest.mark.parametrize("victim", ["source", "target"])
def test_killed_runner_leaves_no_process(make: Callable[..., Cluster], victim: str) -> None:
    cluster = make(2, 1, measure_seconds=30.0)
    plan = cluster.plan()
    ends = {side: plan["rounds"][0][0][side]["host"] for side in ("source", "target")}
    dead, other = ends[victim], ends["target" if victim == "source" else "source"]
    processes = {name: cluster.perf(name, plan, duration=30, iterations=None) for name in cluster.ports}
    until(lambda: "0 client" in cluster.calls(ends["source"]) and cluster.testing(ends["source"]))
    until(lambda: len(cluster.processes(ends["source"])) >= 2)
    processes[dead].kill()
    processes[dead].wait(10)
    left = result(processes[other])
    until(lambda: cluster.nothing_left("n1", "n2"))
    assert cluster.calls(dead)[-1] == cluster.calls(other)[-1] == "0 reset"
    after = cluster.info(dead)
    assert (after["state"], after["error"]["code"], after["measurements"]) == ("failed", "runner_died", [])
    if victim == "target":
        (record,) = left["measurements"]
        assert record["error"]["code"] == "peer_lost"
        assert record["context"]["failed_end"] == "target"
        assert record["error"]["message"].startswith(f"the runner of {dead} (127.0.0.1 port {cluster.ports[dead]}) disappeared during the pair: ")


def test_background_run(make: Callable[..., Cluster]) -> None:
    cluster = make(2, 1)
    plan = cluster.plan()
    started = result(cluster.perf("n1", plan, wait=False))
    assert (started["run_id"], started["state"], started["measurements"]) == ("r1", "running", [])
    assert cluster.info("n1")["state"] == "running"
    assert cluster.info("n2")["state"] == "unknown"
    result(cluster.perf("n2", plan, wait=False))
    over = {name: cluster.info(name, wait=60) for name in cluster.ports}
    assert {name: found["state"] for name, found in over.items()} == {"n1": "finished", "n2": "finished"}
    assert [record["status"] for record in records(over)] == ["ok"]
    assert sum(found["progress"]["pairs_done"] for found in over.values()) == 1
    until(lambda: cluster.nothing_left("n1", "n2"))


def test_killed_background_run_is_reported(make: Callable[..., Cluster]) -> None:
    cluster = make(2, 1, measure_seconds=30.0)
    plan = cluster.plan()
    for name in cluster.ports:
        result(cluster.perf(name, plan, wait=False, duration=30, iterations=None))
    until(lambda: any("0 client" in cluster.calls(name) for name in cluster.ports) and all(cluster.testing(name) for name in cluster.ports))
    for name in cluster.ports:
        os.kill(cluster.journal(name)[0]["pid"], signal.SIGKILL)
    until(lambda: cluster.nothing_left("n1", "n2"))
    assert {cluster.info(name)["state"] for name in cluster.ports} == {"failed"}


def test_background_run_can_be_ended(make: Callable[..., Cluster]) -> None:
    cluster = make(2, 1, measure_seconds=30.0)
    plan = cluster.plan()
    for name in cluster.ports:
        result(cluster.perf(name, plan, wait=False, duration=30, iterations=None))
    until(lambda: all(cluster.testing(name) for name in cluster.ports))
    ended = cluster.absent("n1")
    assert (ended["changed"], cluster.testing("n1"), cluster.processes("n1")) == (True, False, [])
    assert cluster.absent("n1")["changed"] is False
    info = cluster.info("n1")
    assert (info["state"], info["error"]["code"]) == ("failed", "run_cancelled")
    assert cluster.info("n2", wait=30)["state"] == "finished"
    until(lambda: cluster.nothing_left("n1", "n2"))


def test_second_run_is_refused(make: Callable[..., Cluster]) -> None:
    """The lock of the host reveals the first run. To a second run with a different state_dir, only the port reveals it."""
    cluster = make(2, 1)
    plan = cluster.plan()
    result(cluster.perf("n1", plan, wait=False, meeting_timeout=120))
    (first,) = [line["pid"] for line in cluster.journal("n1") if line["type"] == "start"]
    before = cluster.calls("n1")
    refused = result(cluster.perf("n1", plan, run_id="r2"))
    assert refused["failed"] is True
    assert refused["error"]["code"] == "host_in_use"
    assert refused["error"]["message"].startswith("run r1 (pid ")
    assert not (Path(cluster.root("n1")) / "runs" / "r2").exists()
    assert cluster.calls("n1") == before
    known = result(cluster.start("rdma_perf_info", {"state_dir": f"{cluster.root('n1')}/runs"}))
    assert (known["state"], known["run_id"], known["holder"]["run_id"]) == ("running", "r1", "r1")
    elsewhere = result(cluster.perf("n1", plan, run_id="r2", state_dir=f"{cluster.root('n1')}/others"))
    assert elsewhere["error"]["code"] == "control_port_in_use"
    assert elsewhere["error"]["message"].startswith(f"127.0.0.1 port {cluster.ports['n1']} is in use on this host by pid {first} (")
    assert cluster.absent("n1")["changed"] is True
    assert result(cluster.start("rdma_perf_info", {"state_dir": f"{cluster.root('n1')}/runs"}))["state"] == "idle"


FAULTS = (
    ("target", "perf_start=2", "start_refused", "target"),
    ("source", "perf_start=2", "start_refused", "source"),
    ("target", "free_mem=3000", "device_memory_low", "target"),
    ("source", "busy=1", "tool_busy", "source"),
    ("source", "dead=1", "device_failed", "source"),
    ("source", "fail.report=-5", "no_report", "source"),
    ("target", "link=0", "connection_refused", None),
)
"""End of the pair, its fault, and code and end of the error."""


def test_failing_devices_are_reported(make: Callable[..., Cluster]) -> None:
    """Each of the pairs, which are measured at the same time, has another fault."""
    cluster = make(2, len(FAULTS))
    plan = cluster.plan()
    pairs = {entry["source"]["device"]: entry for entry in plan["rounds"][0]}
    for device, (end, state, _code, _failed_end) in enumerate(FAULTS):
        cluster.set_state(pairs[device][end]["host"], f"{device}.{state}")
    found = {record["source"]["device"]: record for record in records(run(cluster, plan, qps=2))}
    assert [(found[device]["status"], found[device]["error"]["code"], found[device]["context"].get("failed_end")) for device in range(len(FAULTS))] == [
        ("failed", code, failed_end) for _end, _state, code, failed_end in FAULTS]
    until(lambda: not cluster.processes())


BUSY = """case "$*" in *address*)
echo "Dsmi get perftest status end. (status=2)"
printf 'Roce perftest is doing, please try later.\\nCmd execute failed!\\n' >&2
exit 2;;
esac"""


def test_busy_device_is_not_measured(make: Callable[..., Cluster]) -> None:
    cluster = make(2, 1)
    plan = cluster.plan()
    source = plan["rounds"][0][0]["source"]["host"]
    cluster.instrument(source, BUSY)
    results = run(cluster, plan)
    (record,) = records(results)
    assert (record["error"]["code"], record["context"]["failed_end"]) == ("roce_test_running", "source")
    assert {verdict.host: verdict.verdict for verdict in diagnose([source], results).verdicts} == {source: "busy"}


def test_client_that_starts_too_early_tries_again(make: Callable[..., Cluster]) -> None:
    cluster = make(2, 1)
    plan = cluster.plan()
    source, target = (plan["rounds"][0][0][side]["host"] for side in ("source", "target"))
    marker = cluster.folder / "client was here"
    early = f"case \"$*\" in *reset*|*address*|*qp_info*) ;; *) n=0; while [ ! -e '{marker}' ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done;; esac"
    cluster.instrument(target, early)
    listening = f"grep -qs '\"ready\": true' '{cluster.root(target)}/state/roce_test_0.json'"
    late = (f"case \"$*\" in *address*) if [ -e '{marker}' ]; then n=0; until {listening} || [ $n -gt 500 ]; do sleep 0.02; n=$((n+1)); done;"
            f" else {cluster.root(source)}/bin/hccn_tool \"$@\"; code=$?; touch '{marker}'; exit $code; fi;; esac")
    cluster.instrument(source, late)
    (record,) = records(run(cluster, plan))
    assert (record["id"], record["status"]) == ("r1/p0001/forward/2", "ok")
    assert cluster.calls(source).count("0 client") == 2
    assert cluster.calls(target).count("0 server") == 1


def test_hosts_with_different_keys_do_not_measure(make: Callable[..., Cluster]) -> None:
    cluster = make(2, 1)
    plan = cluster.plan()
    source, target = (plan["rounds"][0][0][side]["host"] for side in ("source", "target"))
    result(cluster.perf(target, plan, key="f" * 32, wait=False, meeting_timeout=60))
    (record,) = result(cluster.perf(source, plan, meeting_timeout=0))["measurements"]
    assert record["error"]["code"] == "wrong_key"
    assert record["error"]["message"] == f"another runner answers at {target} (127.0.0.1 port {cluster.ports[target]}): a line signed with another key"
    assert cluster.absent(target)["changed"] is True
