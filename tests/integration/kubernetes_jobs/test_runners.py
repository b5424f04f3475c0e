"""The fabric check in pods: manifests and, if kubernetes.core is installed, whole runs with a simulated API server and simulated hosts as pods."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.check_fabric.cluster import Cluster as Nodes
from tests.integration.clusterd.api import Api
from tests.integration.kubernetes_jobs.cluster import Cluster
from tests.lib.playbook import ansible_environment, run_playbook

PLAY = """
- hosts: npu
  gather_facts: false
  module_defaults:
    group/hccn.cluster.devices:
      hccn_tool: "{{ root_of_test }}/bin/counted"
      npu_smi: "{{ root_of_test }}/bin/npu-smi"
      hccn_conf: "{{ root_of_test }}/etc/hccn.conf"
  tasks:
    - ansible.builtin.import_role:
        name: hccn.cluster.check_fabric
        tasks_from: kubernetes
"""
PODS = {"image": "registry/python:3.11", "namespace": "lab", "queue": "checks", "name": "fabric-1"}


def play(folder: Path, hosts: dict[str, dict[str, Any]], **variables: Any) -> subprocess.CompletedProcess[str]:
    (folder / "play.yml").write_text(PLAY)
    (folder / "hosts.json").write_text(json.dumps({"npu": {"hosts": hosts}}))
    (folder / "vars.json").write_text(json.dumps({"check_fabric_pods": PODS, **variables}))
    (folder / "bin").mkdir()
    shutil.copy(Path(__file__).with_name("kubectl"), folder / "bin")
    path = f"{folder / 'bin'}{os.pathsep}{ansible_environment()['PATH']}"
    return run_playbook("play.yml", "hosts.json", "-e", "@vars.json", cwd=folder, HCCN_RESULTS_PATH=str(folder / "history"),
                        ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results", HCCN_TEST_KUBECTL=str(folder / "calls"), PATH=path)


def test_plan_only_prints_the_manifests(tmp_path: Path) -> None:
    done = play(tmp_path, {"n1": {"check_fabric_node": "node-a"}, "n2": {}}, check_fabric_plan_only=True)
    assert done.returncode == 0, done.stdout + done.stderr
    text = done.stdout.replace('"', "").replace(",", "")
    assert ("kind: PodGroup" in text, text.count("kind: Pod\n"), "fabric-1-1" in text, "- node-a" in text or "node-a\n" in text) == (True, 2, True, True)
    assert "hccn.cluster/host: n2" in text
    assert "Create the pods" not in [line for line in done.stdout.splitlines() if line.startswith(("ok", "changed", "fatal"))]
    assert "failed=0" in done.stdout and "unreachable=0" in done.stdout


def test_invalid_pods_are_not_sent(tmp_path: Path) -> None:
    done = play(tmp_path, {"n1": {}, "n2": {}}, check_fabric_pods={**PODS, "namespace": "Lab_1"})
    assert done.returncode != 0
    assert "'Lab_1' is not a namespace name" in done.stdout + done.stderr


def job(folder: Path, hosts: dict[str, dict[str, Any]], *arguments: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    """Run the playbook check_fabric_pods, which prints the manifests only."""
    (folder / "hosts.json").write_text(json.dumps({"npu": {"hosts": hosts}}))
    (folder / "vars.json").write_text(json.dumps({"check_fabric_pods": {**PODS, "queue": ""}, "check_fabric_plan_only": True, **variables}))
    return run_playbook("hccn.cluster.check_fabric_pods", "hosts.json", "-e", "@vars.json", *arguments, cwd=folder,
                        HCCN_RESULTS_PATH=str(folder / "history"), ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results")


def words_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [word.strip("\"',") for word in done.stdout.split()]


@pytest.mark.smoke("check_fabric_pods")
def test_playbook_selects_the_nodes_by_label(tmp_path: Path) -> None:
    nodes = [{"metadata": {"name": name, "namespace": "", "labels": {"kubernetes.io/hostname": name, "pool": pool}}}
             for name, pool in (("node-10", "train"), ("node-9", "train"), ("node-1", "test"))]
    api = Api(tmp_path, {"nodes": nodes})
    try:
        done = job(tmp_path, {"n1": {}}, check_fabric_node_selector="pool=train", hccn_kubernetes={"kubeconfig": api.kubeconfig()})
        assert done.returncode == 0, done.stdout + done.stderr
        assert [word for word in words_of(done) if word in ("node-1", "node-9", "node-10")].count("node-1") == 0
        assert {"node-9", "node-10", "fabric-1-0", "fabric-1-1"} <= set(words_of(done))
        assert api.requests == ["GET /api/v1/nodes"]
        none = job(tmp_path, {"n1": {}}, check_fabric_node_selector="pool=none", hccn_kubernetes={"kubeconfig": api.kubeconfig()})
        assert none.returncode == 2
        assert "No node has the label pool=none." in " ".join(none.stdout.split())
    finally:
        api.close()


def test_pods_of_perftest_have_no_files_of_the_npu_driver(tmp_path: Path) -> None:
    pods = {**PODS, "queue": "", "resources": {"rdma/hca_shared_devices_a": "1"}}
    done = job(tmp_path, {"n1": {}, "n2": {}}, check_fabric_tool="perftest", check_fabric_pods=pods)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rdma/hca_shared_devices_a" in done.stdout and "IPC_LOCK" in done.stdout
    assert [text for text in ("Ascend", "hccn.conf", "hccn-tool") if text in done.stdout] == []
    refused = job(tmp_path, {"n1": {}, "n2": {}}, check_fabric_tool="perftest")
    assert refused.returncode == 2
    assert "perftest needs the RDMA device of the node in the pod" in " ".join(refused.stdout.split())


def test_missing_kubernetes_core_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_SCAN_SYS_PATH", "false")
    done = play(tmp_path, {"n1": {}, "n2": {}})
    assert done.returncode != 0
    assert "Pods need the collection kubernetes.core (ansible-galaxy collection install kubernetes.core)" in " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path / "nodes", 3, 2)
    yield made
    made.close()


def checked(cluster: Cluster, nodes: Nodes, tmp_path: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, str], set[str]]:
    """Run the check. Return the process, the class of each host, and the pods that were used. All pods have the same address, each with a tool of its host."""
    hosts = {name: {"check_fabric_node": f"node-{name}", "check_fabric_control_port": port, "check_fabric_state_dir": f"{nodes.root(name)}/runs",
                    "root_of_test": nodes.root(name), "ansible_host": "192.0.2.1"} for name, port in nodes.ports.items()}
    done = play(tmp_path, hosts, hccn_kubernetes={"kubeconfig": cluster.kubeconfig()}, check_fabric_advanced={"server_start_delay_s": 0.3},
                check_fabric_iterations=500, check_fabric_relative_floor=0.3, check_fabric_queue_timeout_s=4, check_fabric_pod_python=sys.executable,
                check_fabric_timeout_s=60)
    lines = [json.loads(line) for path in (tmp_path / "history").rglob("*.jsonl") for line in path.read_text().splitlines()]
    classes = {line["source"]["host"]: line["samples"][0]["class"] for line in lines if line.get("kind") == "verdict" and "source" in line}
    calls = (tmp_path / "calls").read_text().split() if (tmp_path / "calls").exists() else []
    return done, classes, {word for word in calls if word.startswith("fabric-1-")}


def test_fabric_check_in_pods(cluster: Cluster, nodes: Nodes, tmp_path: Path) -> None:
    done, classes, used = checked(cluster, nodes, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert classes == {"n1": "good", "n2": "good", "n3": "good"}
    assert used == {"fabric-1-0", "fabric-1-1", "fabric-1-2"}
    assert cluster.created == ["PodGroup/fabric-1", "Pod/fabric-1-0", "Pod/fabric-1-1", "Pod/fabric-1-2"]
    assert cluster.objects == {}


def test_node_with_busy_devices_is_skipped(cluster: Cluster, nodes: Nodes, tmp_path: Path) -> None:
    cluster.taken = {"node-n2"}
    done, classes, used = checked(cluster, nodes, tmp_path)
    assert done.returncode != 0
    assert "The pod fabric-1-1 is Pending: 1 Insufficient huawei.com/Ascend910." in " ".join((done.stdout + done.stderr).split())
    assert (classes["n1"], classes["n3"], used) == ("good", "good", {"fabric-1-0", "fabric-1-2"})
    assert cluster.objects == {}
