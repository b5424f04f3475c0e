"""Modules under Ansible: plan, background start with fewer forks than hosts, collection, classification. Runners outlive the removal of the modules."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.integration.check_fabric.cluster import KEY, Cluster
from tests.integration.check_fabric.play import results
from tests.lib.playbook import run_playbook
from tests.lib.waiting import until

PLAYBOOK = """
- hosts: all
  gather_facts: false
  tasks:
    - hccn.cluster.rdma_perf:
        run_id: r1
        plan: "{{ hosts_of_test | hccn.cluster.pair_plan(plan='full', seed=1, run_id='r1', compact=true) }}"
        host: "{{ inventory_hostname }}"
        key: "{{ key_of_test }}"
        hccn_tool: "{{ root }}/bin/counted"
        npu_smi: "{{ root }}/bin/npu-smi"
        state_dir: "{{ root }}/runs"
        server_start_delay: 0.3
        size: 64K
        iterations: 1000
        wait: false
      register: started
    - hccn.cluster.rdma_perf_info:
        run_id: r1
        state_dir: "{{ root }}/runs"
        wait: 60
      register: rdma
    - hccn.cluster.fabric_verdict:
        hosts: "{{ groups['all'] }}"
        register_name: rdma
        relative_floor: 0.2
        fail_on: slow
      run_once: true
      register: judged
      ignore_errors: true
    - ansible.builtin.copy:
        content: "{{ {'started': started, 'rdma': rdma, 'judged': judged} | to_json }}"
        dest: "{{ root }}/results.json"
        mode: "0600"
      check_mode: false
"""


def play(cluster: Cluster, tmp_path: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    """Return the registered results by host."""
    hosts = {name: {"root": cluster.root(name)} for name in cluster.ports}
    variables = {"ansible_connection": "local", "hosts_of_test": cluster.hosts(), "key_of_test": KEY}
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts, "vars": variables}}))
    (tmp_path / "play.yml").write_text(PLAYBOOK)
    done = run_playbook("play.yml", "hosts.json", "--forks", "2", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert KEY not in done.stdout + done.stderr
    return results(cluster)


def test_slow_device_is_found(make: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make(3, 2)
    cluster.set_state("n2", "0.rate_mbit=20")
    found = play(cluster, tmp_path, "-vvv")
    assert {name: results["started"]["state"] for name, results in found.items()} == dict.fromkeys(cluster.ports, "running")
    assert {name: results["rdma"]["state"] for name, results in found.items()} == dict.fromkeys(cluster.ports, "finished")
    judged = found["n1"]["judged"]
    assert judged["hosts"] == {"good": ["n1", "n3"], "slow": ["n2"], "failed": [], "busy": [], "unreachable": [], "not_measured": []}
    assert (judged["coverage"]["pairs_good"], judged["coverage"]["pairs_slow"]) == (4, 2)
    assert judged["failed"] is True
    assert judged["msg"].startswith("1 of 3 hosts: n2 slow: NPU 0 is slow with ")
    assert [len(verdict["evidence"]) for verdict in judged["verdicts"] if verdict["host"] == "n2"] == [2]
    assert [record["id"] for record in judged["measurements"]] == ["r1/verdict/n1", "r1/verdict/n2", "r1/verdict/n3"]
    until(lambda: not any(cluster.processes(name) or cluster.testing(name) for name in cluster.ports))


def test_check_mode_starts_nothing(make: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make(2, 2)
    found = play(cluster, tmp_path, "--check")
    assert {name: len(results["started"]["commands"]) for name, results in found.items()} == dict.fromkeys(cluster.ports, 2)
    assert {name: results["rdma"]["state"] for name, results in found.items()} == dict.fromkeys(cluster.ports, "unknown")
    assert set(found["n1"]["judged"]["hosts"]["not_measured"]) == set(cluster.ports)
    assert [cluster.calls(name) for name in cluster.ports] == [[], []]
