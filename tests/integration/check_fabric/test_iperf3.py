"""A measuring tool of the host: real iperf3 between loopback addresses, without hccn_tool."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.check_fabric.cluster import Cluster
from tests.integration.check_fabric.play import results
from tests.integration.evidence.history import records
from tests.lib.playbook import run_playbook
from tests.lib.project import skip
from tests.lab.testbed import Unavailable, packages
from tests.lib.waiting import until

PLAYBOOK = """
- hosts: all
  gather_facts: false
  roles: [hccn.cluster.check_fabric]
  post_tasks:
    - ansible.builtin.copy:
        content: "{{ {'result': check_fabric_result, 'verdict': check_fabric_verdict} | to_json }}"
        dest: "{{ root }}/results.json"
        mode: "0600"
"""


@pytest.fixture(autouse=True)
def _iperf3() -> None:
    try:
        packages.ensure({"iperf3": "iperf3"}, "the test")
    except Unavailable as reason:
        skip("iperf3", str(reason))


def play(cluster: Cluster, folder: Path, **extra: Any) -> dict[str, dict[str, Any]]:
    """Run the role check_fabric on all hosts and return its registered results by host."""
    network = 10 + os.getpid() % 200
    hosts = {name: {"root": cluster.root(name), "check_fabric_addresses": [f"127.{network}.1.{number}"], "check_fabric_state_dir": f"{cluster.root(name)}/runs",
                    "check_fabric_control_address": "127.0.0.1", "check_fabric_control_port": port}
             for number, (name, port) in enumerate(cluster.ports.items(), 1)}
    variables = {"ansible_connection": "local", "check_fabric_tool": "iperf3", "check_fabric_duration_s": 1, "check_fabric_plan": "full",
                 "check_fabric_relative_floor": 0.01}
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts, "vars": variables}}))
    (folder / "play.yml").write_text(PLAYBOOK)
    done = run_playbook("play.yml", "hosts.json", "--forks", "2", "-e", json.dumps(extra), cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return results(cluster)


@pytest.mark.long
def test_role_with_iperf3_and_resume(make: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make(3, 1)
    first = play(cluster, tmp_path)
    assert first["n1"]["verdict"]["hosts"]["good"] == ["n1", "n2", "n3"]
    measured = [record for found in first.values() for record in found["result"]["measurements"]]
    assert [(record["status"], record["tool"]["name"]) for record in measured] == [("ok", "iperf3")] * 3
    again = play(cluster, tmp_path, check_fabric_resume="last")
    assert {name: found["result"]["measurements"] for name, found in again.items()} == {name: found["result"]["measurements"] for name, found in first.items()}
    assert again["n1"]["result"]["run_id"] != first["n1"]["result"]["run_id"]
    until(lambda: not cluster.processes())


def test_playbook_on_hosts_without_npus_speaks_of_ports(make: Callable[..., Cluster], tmp_path: Path) -> None:
    """With iperf3, no pair waits for server_start_delay_s, and none needs a second attempt."""
    cluster = make(3, 1)
    network = 10 + os.getpid() % 200
    addresses = {"n1": f"127.{network}.2.1", "n2": f"127.{network}.2.2", "n3": "198.51.100.3"}
    hosts = {name: {"check_fabric_addresses": [addresses[name]], "check_fabric_state_dir": f"{cluster.root(name)}/runs",
                    "check_fabric_control_address": "127.0.0.1", "check_fabric_control_port": port} for name, port in cluster.ports.items()}
    variables = {"ansible_connection": "local", "check_fabric_tool": "iperf3", "check_fabric_duration_s": 1, "check_fabric_plan": "full",
                 "check_fabric_advanced": {"server_start_delay_s": 30, "pair_timeout_s": 45}, "check_fabric_size": "64K",
                 "check_fabric_relative_floor": 0.01, "report_path": str(tmp_path / "page.html")}
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts, "vars": variables}}))
    done = run_playbook("hccn.cluster.check_fabric", "hosts.json", "-e", "hccn_hosts=all", cwd=tmp_path, ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results",
                        HCCN_RESULTS_PATH=str(tmp_path / "history"))
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout.splitlines()[-3:] == [
        "Result: failed. 3 hosts: 1 failed, 2 good.", "failed n3 port 0: it fails with n1, n2 (no_such_address) -> On n3: ip -s link",
        f"Report: {tmp_path / 'page.html'}"]
    good = [record for record in records(tmp_path / "history", "rdma") if record["status"] == "ok"]
    assert {"n1", "n2"} in [{record["source"]["host"], record["target"]["host"]} for record in good]
    assert {(record["tool"]["name"], record["operation"], record["command"][0]) for record in good} == {("iperf3", "write", "iperf3")}
    assert all(record["samples"][0]["bandwidth_gbit_s"] > 0 and record["samples"][0]["size_bytes"] == 65536 for record in good)
    assert [record["duration_s"] for record in good if record["duration_s"] >= 30] == []
    assert [cluster.calls(name) for name in cluster.ports] == [[], [], []]
    page = (tmp_path / "page.html").read_text()
    assert re.findall(r"\bNPUs?\b", done.stdout + page) == []
    assert "n3 port 0" in page and "端口" in page
    until(lambda: not cluster.processes())
