"""A run that was killed: the next call cleans up after it, and a resumed run measures only the missing pairs."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.check_fabric.cluster import Cluster, result, run
from tests.integration.check_fabric.role import FAILED, play
from tests.lib.waiting import until


def governor_of(root: Path) -> Path:
    """Make a simulated sysfs with one CPU and return the path of its governor."""
    path = root / "sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text("powersave\n")
    return path


def test_next_call_cleans_up_after_a_dead_run(make: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make(2, 1, measure_seconds=60.0)
    plan = cluster.plan()
    cpu = {name: governor_of(tmp_path / name) for name in cluster.ports}
    for name in cluster.ports:
        result(cluster.perf(name, plan, wait=False, duration=50, iterations=None, cpu_governor="performance", root=str(tmp_path / name)))
    until(lambda: all(cluster.testing(name) for name in cluster.ports))
    assert [path.read_text() for path in cpu.values()] == ["performance", "performance"]
    for name in cluster.ports:
        start = cluster.journal(name)[0]
        os.kill(start["guard"], signal.SIGKILL)
        os.kill(start["pid"], signal.SIGKILL)
    assert all(cluster.testing(name) for name in cluster.ports), "no process is left that could reset the NPU"
    for name in cluster.ports:
        # A run without pairs, which ends at once.
        after = result(cluster.perf(name, plan, run_id="r2", devices=["7"], root=str(tmp_path / name)))
        assert (after["state"], after["measurements"]) == ("finished", [])
    assert [path.read_text() for path in cpu.values()] == ["powersave", "powersave"]
    assert cluster.nothing_left("n1", "n2")
    dead = cluster.info("n1")
    assert (dead["state"], dead["error"]["code"]) == ("failed", "runner_died")
    assert dead["error"]["hint"].startswith("the next call on this host has ended its tools and reset its NPUs")


def test_cpu_governor_is_restored(make: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make(2, 1)
    cpu = governor_of(tmp_path)
    cluster.instrument("n1", f"case \"$*\" in *reset*) ;; *-roce_test*) cat '{cpu}' > '{tmp_path}/seen';; esac")
    plan = cluster.plan()
    processes = {name: cluster.perf(name, plan, cpu_governor="performance" if name == "n1" else "keep", root=str(tmp_path)) for name in cluster.ports}
    assert {result(process)["state"] for process in processes.values()} == {"finished"}
    assert ((tmp_path / "seen").read_text(), cpu.read_text()) == ("performance", "powersave")
    assert not (Path(cluster.root("n1")) / "runs" / "r1" / "governor.json").exists()


def test_resumed_run_measures_only_missing_pairs(make: Callable[..., Cluster]) -> None:
    cluster = make(3, 1)
    plan = cluster.plan("full")
    cluster.set_state("n3", "0.perf_start=2")
    first = run(cluster, plan)
    good = {record["id"]: record for found in first.values() for record in found["measurements"] if record["status"] == "ok"}
    assert len(good) == 1
    cluster.set_state("n3", "0.perf_start=")
    before = {name: len(cluster.calls(name)) for name in cluster.ports}
    second = run(cluster, plan, run_id="r2", resume="last", server_start_delay=2)
    found = {record["id"]: record for entry in second.values() for record in entry["measurements"]}
    assert [record["status"] for record in found.values()] == ["ok", "ok", "ok"]
    assert {name: record for name, record in found.items() if name.startswith("r1/")} == good
    tests = {name: [call for call in cluster.calls(name)[before[name]:] if not call.endswith("reset")] for name in cluster.ports}
    assert {name: len(calls) for name, calls in tests.items()} == {"n1": 1, "n2": 1, "n3": 2}
    assert {found["progress"]["pairs_done"] == found["progress"]["pairs_total"] for found in second.values()} == {True}
    refused = result(cluster.perf("n1", plan, run_id="r3", resume="r2", size="128K"))
    assert refused["error"]["message"] == "run r2 cannot be resumed: its options are not those of this run"


def folder(tmp_path: Path, name: str) -> Path:
    path = tmp_path / name
    path.mkdir()
    return path


@pytest.mark.long
def test_resumed_check_measures_the_pairs_of_a_repaired_host(make: Callable[..., Cluster], tmp_path: Path) -> None:
    """The last run of the repaired host is older than that of the others, so its results from before the repair do not count."""
    cluster = make(4, 1)
    full = {"check_fabric_plan": "full", "check_fabric_confirm": False}
    play(cluster, folder(tmp_path, "before"), of_hosts={"n3": {}, "n4": {}}, **full)
    play(cluster, folder(tmp_path, "without"), of_hosts={"n1": {}, "n2": {}, "n3": {}}, **full)
    before = {name: len(cluster.calls(name)) for name in cluster.ports}
    output = play(cluster, folder(tmp_path, "repaired"), check_fabric_resume="last", **full)
    assert "6 of 6 pairs done, 0 failed" in output
    tests = {name: [call for call in cluster.calls(name)[before[name]:] if not call.endswith("reset")] for name in cluster.ports}
    assert {name: len(calls) for name, calls in tests.items()} == {"n1": 1, "n2": 1, "n3": 1, "n4": 3}


@pytest.mark.long
def test_refused_resume_is_no_verdict_on_hosts(make: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make(2, 1)
    play(cluster, folder(tmp_path, "first"))
    [earlier] = [path.name for path in Path(cluster.root("n1"), "runs").iterdir() if path.is_dir()]
    output = play(cluster, folder(tmp_path, "second"), code=FAILED, check_fabric_resume="last", check_fabric_size="128K")
    assert re.search(r'"msg": \[ "(Result: .*?)", "(failed run: .*?)",', output).groups() == (
        "Result: failed. 2 hosts: 2 not measured.",
        f"failed run: run {earlier} cannot be resumed: its options are not those of this run -> Run again without check_fabric_resume to measure all pairs")
