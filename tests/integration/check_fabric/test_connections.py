"""Connections and become methods: hosts with four different connections measure with each other, with one fork, after their modules have returned."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.integration.check_fabric import play
from tests.integration.check_fabric.cluster import KEY, Cluster
from tests.lib.waiting import until

PLAYBOOK = """
- hosts: all
  gather_facts: false
  vars:
    plan: "{{ hosts_of_test | hccn.cluster.pair_plan(plan='full', run_id='r1', seconds_per_pair=2) }}"
  tasks:
    - hccn.cluster.rdma_perf:
        run_id: r1
        plan: "{{ plan }}"
        host: "{{ inventory_hostname }}"
        key: "{{ key_of_test }}"
        hccn_tool: "{{ root }}/bin/counted"
        npu_smi: "{{ root }}/bin/npu-smi"
        state_dir: "{{ root }}/runs"
        server_start_delay: 0.5
        duration: 1
        reporters: [n4, n2]
        wait: false
      register: started
    - hccn.cluster.fabric_progress:
        run_id: r1
        plan: "{{ plan }}"
        state_dir: "{{ hostvars['n4'].root }}/runs"
        interval: 20
        timeout: 120
      delegate_to: n4
      run_once: true
      register: progress
    - hccn.cluster.rdma_perf_info:
        run_id: r1
        state_dir: "{{ root }}/runs"
        wait: 60
      register: rdma
    - ansible.builtin.copy:
        content: >-
          {%- set found = {} -%}
          {%- for host in ansible_play_hosts -%}
          {%- set _done = found.update({host: {'started': hostvars[host].started, 'rdma': hostvars[host].rdma}}) -%}
          {%- endfor -%}
          {{ {'hosts': found, 'progress': progress} | to_json }}
        dest: "{{ root }}/results.json"
        mode: "0600"
      run_once: true
"""


def test_different_connections_and_become(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "cluster", 4, poll_seconds=0.1)
    become = {"ansible_become": True, "ansible_become_method": "su"} if os.getuid() == 0 else {}  # root needs no password for it
    try:
        with play.sshd(tmp_path / "ssh") as ssh:
            connections = {"n1": {}, "n2": {"ansible_pipelining": False, **become}, "n3": ssh, "n4": {**ssh, "ansible_pipelining": False, **become}}
            play.write(tmp_path, PLAYBOOK, cluster, {"hosts_of_test": cluster.hosts(), "key_of_test": KEY}, connections)
            running = play.start(tmp_path)
            output, _none = running.communicate(timeout=420)
        assert running.returncode == 0, output
        whole = json.loads((Path(cluster.root("n1")) / "results.json").read_text())
        found, progress = whole["hosts"], whole["progress"]
        assert {name: results["started"]["state"] for name, results in found.items()} == dict.fromkeys(cluster.ports, "running")
        assert {name: results["rdma"]["state"] for name, results in found.items()} == dict.fromkeys(cluster.ports, "finished")
        records = [record for results in found.values() for record in results["rdma"]["measurements"]]
        assert [record["status"] for record in records] == ["ok"] * 6
        assert (progress["state"], progress["reporter"], progress["progress"]["hosts_heard"], progress["progress"]["pairs_done"]) == ("over", "n4", 4, 6)
        assert progress["msg"].startswith("6 of 6 pairs done, 0 failed, slowest ")
        assert [line for line in progress["lines"] if line not in output] == [], "each line is printed as it arrives"
        until(lambda: not any(cluster.processes(name) or cluster.testing(name) for name in cluster.ports))
        until(lambda: not _runners(cluster))
    finally:
        cluster.close()


def _runners(cluster: Cluster) -> list[int]:
    """Return the pids of living runners in the journals."""
    return [line["pid"] for name in cluster.ports for line in cluster.journal(name)[:1] if Path(f"/proc/{line['pid']}").exists()]
