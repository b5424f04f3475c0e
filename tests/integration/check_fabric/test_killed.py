"""SIGKILL of a guard or of the controller during a run. test_pairs.py and test_resume.py kill runners, alone and with their guards."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.integration.check_fabric import play
from tests.integration.check_fabric.cluster import Cluster, result
from tests.integration.check_fabric.test_resume import governor_of
from tests.lib.waiting import until


def test_killed_guard(make: Callable[..., Cluster], tmp_path: Path) -> None:
    """The runner survives, completes the run and cleans up itself."""
    cluster = make(2, measure_seconds=1.0)
    cpu = {name: governor_of(tmp_path / name) for name in cluster.ports}
    plan = cluster.plan()
    for name in cluster.ports:
        result(cluster.perf(name, plan, wait=False, duration=3, iterations=None, cpu_governor="performance", root=str(tmp_path / name)))
    until(lambda: all(cluster.testing(name) for name in cluster.ports))
    for name in cluster.ports:
        os.kill(cluster.journal(name)[0]["guard"], signal.SIGKILL)
    assert [path.read_text() for path in cpu.values()] == ["performance", "performance"]
    found = {name: cluster.info(name, wait=60) for name in cluster.ports}
    assert {name: entry["state"] for name, entry in found.items()} == {"n1": "finished", "n2": "finished"}
    assert [record["status"] for entry in found.values() for record in entry["measurements"]] == ["ok"]
    until(lambda: cluster.nothing_left("n1", "n2"))
    assert [path.read_text() for path in cpu.values()] == ["powersave", "powersave"]


PLAYBOOK = """
- hosts: all
  gather_facts: false
  module_defaults:
    group/hccn.cluster.devices: {hccn_tool: "{{ root }}/bin/counted"}
    hccn.cluster.device_info: {hccn_tool: "{{ root }}/bin/counted", npu_smi: "{{ root }}/bin/npu-smi"}
    hccn.cluster.rdma_perf: {hccn_tool: "{{ root }}/bin/counted", npu_smi: "{{ root }}/bin/npu-smi", root: "{{ root }}/host"}
  roles: [hccn.cluster.check_fabric]
  post_tasks:
    - ansible.builtin.copy:
        content: "{{ {'result': check_fabric_result, 'verdict': check_fabric_verdict} | to_json }}"
        dest: "{{ root }}/results.json"
        mode: "0600"
"""


def measured_by(cluster: Cluster) -> dict[str, int]:
    return {name: sum(not call.endswith("reset") for call in cluster.calls(name)) for name in cluster.ports}


def test_killed_controller(tmp_path: Path) -> None:
    """A runner is killed with it. The other runners complete the run, and the next check measures only the missing pairs."""
    cluster = Cluster(tmp_path / "cluster", 3, measure_seconds=0.5)
    cpu = {name: governor_of(Path(cluster.root(name)) / "host") for name in cluster.ports}
    of_hosts: dict[str, dict[str, Any]] = {
        name: {"check_fabric_control_port": port, "check_fabric_state_dir": f"{cluster.root(name)}/runs"} for name, port in cluster.ports.items()}
    variables = {"ansible_host": "127.0.0.1", "check_fabric_plan": "full", "check_fabric_duration_s": 1, "check_fabric_cpu_governor": "performance",
                 "check_fabric_advanced": {"server_start_delay_s": 1, "meeting_timeout_s": 20}, "check_fabric_relative_floor": 0.01,
                 "check_fabric_confirm": False}
    try:
        play.write(tmp_path, PLAYBOOK, cluster, variables, of_hosts)
        first = play.start(tmp_path)
        until(lambda: first.poll() is not None or any(line["type"] == "record" for name in cluster.ports for line in journal(cluster, name)))
        assert first.poll() is None, first.communicate()
        os.killpg(first.pid, signal.SIGKILL)
        victim = until(lambda: next((name for name in cluster.ports if cluster.testing(name)), None))
        os.kill(journal(cluster, victim)[0]["pid"], signal.SIGKILL)
        first.communicate(timeout=30)
        assert not list(Path(cluster.root("n1")).glob("results.json"))
        until(lambda: not any(running(cluster, name) or cluster.processes(name) or cluster.testing(name) for name in cluster.ports), 120)
        assert {path.read_text().strip() for path in cpu.values()} == {"powersave"}
        ended = {name: journal(cluster, name)[-1] for name in cluster.ports if name != victim}
        assert {line["state"] for line in ended.values()} == {"finished"}
        good = {line["record"]["id"]: line["record"] for name in cluster.ports for line in journal(cluster, name)
                if line["type"] == "record" and line["record"]["status"] == "ok"}
        assert 1 <= len(good) < 3
        before = measured_by(cluster)

        second = play.start(tmp_path, "-e", "check_fabric_resume=last")
        output, _none = second.communicate(timeout=420)
        assert second.returncode == 0, output
        found = play.results(cluster)
        records = {record["id"]: record for entry in found.values() for record in entry["result"]["measurements"]}
        assert [record["status"] for record in records.values()] == ["ok"] * 3
        assert {name: record for name, record in records.items() if name in good} == good
        assert sum(measured_by(cluster).values()) - sum(before.values()) == 2 * (3 - len(good)), "a server and a client for each pair that was missing"
        assert found["n1"]["verdict"]["hosts"]["good"] == ["n1", "n2", "n3"]
        until(lambda: not any(running(cluster, name) or cluster.processes(name) or cluster.testing(name) for name in cluster.ports))
        assert {path.read_text().strip() for path in cpu.values()} == {"powersave"}
    finally:
        cluster.close()


def journal(cluster: Cluster, name: str) -> list[dict[str, Any]]:
    """Return the lines of the journal of the only run on the host."""
    (path,) = list((Path(cluster.root(name)) / "runs").glob("*/journal.jsonl"))[:1] or [None]
    return [] if path is None else cluster.lines(path)


def running(cluster: Cluster, name: str) -> list[int]:
    """Return the living runners and guards of all runs on the host."""
    lines = [line for path in (Path(cluster.root(name)) / "runs").glob("*/journal.jsonl") for line in cluster.lines(path) if line["type"] == "start"]
    return [line[key] for line in lines for key in ("pid", "guard") if Path(f"/proc/{line[key]}").exists()]
