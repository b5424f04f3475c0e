"""The role check_collective in Kubernetes: plans, and, if kubernetes.core is installed, whole runs with a simulated API server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.check_collective.mpi import mpirun, nccl_programs, programs
from tests.integration.kubernetes_jobs.cluster import Cluster
from tests.lib.playbook import run_playbook

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: hccn.cluster.check_collective
"""
JOB = {"image": "registry/hccl:1", "replicas": 2, "name": "check-1", "namespace": "lab", "start_timeout": 20}


def play(folder: Path, *arguments: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    """Run the role on two unreachable hosts: all work has to be done on the controller."""
    (folder / "play.yml").write_text(PLAY)
    (folder / "hosts").write_text("[npu]\nh1 ansible_host=192.0.2.1\nh2 ansible_host=192.0.2.2\n")
    (folder / "vars.json").write_text(json.dumps({"check_collective_launcher": "volcano", "__check_collective_poll": 1, **variables}))
    return run_playbook("play.yml", "hosts", "-e", "@vars.json", *arguments, cwd=folder, HCCN_RESULTS_PATH=str(folder / "history"),
                        ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results")


def test_plan_only_prints_the_manifest(tmp_path: Path) -> None:
    done = play(tmp_path, check_collective_plan_only=True, check_collective_job={"image": "registry/hccl:1", "nodes": ["a", "b"]},
                check_collective_operation="all_gather")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "apiVersion: batch.volcano.sh/v1alpha1" in done.stdout.replace('"', "")
    assert "all_gather_test" in done.stdout
    assert "TASK [hccn.cluster.check_collective : Create the job]" not in done.stdout


def test_invalid_job_is_not_sent(tmp_path: Path) -> None:
    """test_runners.py does the same with an invalid namespace."""
    done = play(tmp_path, check_collective_launcher="mpijob", check_collective_job={"replicas": 2})
    assert done.returncode != 0
    assert "mpi_job: image is missing" in done.stdout + done.stderr


def test_missing_kubernetes_core_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ANSIBLE_COLLECTIONS_SCAN_SYS_PATH hides an installed kubernetes.core from Ansible."""
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_SCAN_SYS_PATH", "false")
    done = play(tmp_path, check_collective_job=JOB)
    assert done.returncode != 0
    output = " ".join((done.stdout + done.stderr).split())
    assert "The launcher volcano needs the collection kubernetes.core (ansible-galaxy collection install kubernetes.core)" in output
    assert "Create the job" not in output


def measured(cluster: Cluster, tmp_path: Path, *arguments: str, **variables: Any) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """Run the role with the simulated API server. Return the process and the records of collectives in the history."""
    tool = variables.get("check_collective_tool", "hccl_test")
    folder = programs(tmp_path) if tool == "hccl_test" else nccl_programs(tmp_path)
    common = {"check_collective_sizes": {"begin": "8K", "end": "16K", "factor": 2}, "check_collective_iterations": 2, "check_collective_warmup": 1,
              "check_collective_ranks_per_host": 2, "check_collective_timeout_s": 30, "hccn_kubernetes": {"kubeconfig": cluster.kubeconfig()},
              "check_collective_log": str(tmp_path / "launcher.log"),
              "check_collective_job": {**JOB, "mpirun": mpirun(), "tool_dir": str(folder), **variables.pop("job", {})}}
    done = play(tmp_path, *arguments, **{**common, **variables})
    files = list((tmp_path / "history").rglob("*.jsonl"))
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    return done, [line for line in lines if line.get("kind") == "collective"]


@pytest.mark.parametrize(("launcher", "tool", "kind"), [
    ("volcano", "hccl_test", "Job"), ("mpijob", "hccl_test", "MPIJob"), ("volcano", "nccl_tests", "Job"),
])
def test_collective_is_measured(cluster: Cluster, tmp_path: Path, launcher: str, tool: str, kind: str) -> None:
    done, records = measured(cluster, tmp_path, check_collective_launcher=launcher, check_collective_tool=tool,
                             job={"rank_table": launcher == "mpijob"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(one["status"], one["hosts"], one["ranks"], len(one["samples"])) for one in records] == [("ok", ["node-2", "node-1"], 4, 2)]
    assert f"{kind}/check-1" in cluster.created
    assert ("ConfigMap/rings-config-check-1" in cluster.created) is (launcher == "mpijob")
    assert "all_reduce over 2 hosts, 4 ranks: ok" in " ".join(done.stdout.split())
    assert (tmp_path / "launcher.log").read_text() in cluster.logs.values()
    assert cluster.objects == {}


def test_keys_of_the_job_override_the_variables_of_the_role(cluster: Cluster, tmp_path: Path) -> None:
    """Both the manifest and the record have the values of the job."""
    done, records = measured(cluster, tmp_path, job={
        "operation": "all_gather", "ranks_per_host": 3, "sizes": {"begin": "12K", "end": "12K", "factor": 2}, "data_type": "int8"})
    assert done.returncode == 0, done.stdout + done.stderr
    (one,) = records
    assert (one["operation"], one["tool"]["name"], one["ranks"], len(one["samples"])) == ("all_gather", "all_gather_test", 6, 1)
    assert (one["options"]["ranks_per_host"], one["options"]["data_type"]) == (3, "int8")
    sample = one["samples"][0]
    assert sample["busbw_gbyte_s"] / sample["algbw_gbyte_s"] == pytest.approx(5 / 6, abs=1e-3)
    assert "all_gather over 2 hosts, 6 ranks: ok" in " ".join(done.stdout.split())


def test_job_sets_the_tool_and_the_role_the_floor(cluster: Cluster, tmp_path: Path) -> None:
    """The floor classifies the result as slow, which fails the role."""
    folder = nccl_programs(tmp_path)
    done, records = measured(cluster, tmp_path, job={"tool": "nccl_tests", "tool_dir": str(folder), "gpus_per_process": 2},
                             check_collective_floor_gbyte_s=90000.5, hccn_fail_on="slow")
    assert done.returncode != 0
    assert [(one["tool"]["name"], one["status"], one["ranks"], one["hosts"]) for one in records] == [
        ("all_reduce_perf", "ok", 4, ["node-2", "node-1"])]
    assert "Slow: below 90000.5 GB/s." in " ".join((done.stdout + done.stderr).split())


def test_failed_job_is_recorded_from_its_log_and_deleted(cluster: Cluster, tmp_path: Path) -> None:
    cluster.environment = {"SIM_HCCL_CORRUPT": "1", "SIM_HCCL_RANKS": "3"}
    done, records = measured(cluster, tmp_path)
    assert done.returncode != 0
    assert [(one["status"], one["error"]["code"], one["hosts"]) for one in records] == [("failed", "check_failed", ["node-2", "node-1"])]
    assert cluster.objects == {}


def test_worker_that_refuses_logins(cluster: Cluster, tmp_path: Path) -> None:
    cluster.environment = {"SIM_SSH_DOWN": "127.77.0.2"}
    done, records = measured(cluster, tmp_path, job={"start_timeout": 1})
    assert [one["error"]["code"] for one in records] == ["host_unreachable"]
    assert "The job check-1 is Aborted." in " ".join(done.stdout.split())
    assert cluster.objects == {}


def test_job_that_is_not_scheduled_is_deleted_with_the_reason(cluster: Cluster, tmp_path: Path) -> None:
    cluster.placed = False
    done, records = measured(cluster, tmp_path, check_collective_queue_timeout_s=2)
    assert done.returncode != 0
    assert [one["error"]["code"] for one in records] == ["no_table"]
    text = " ".join((done.stdout + done.stderr).split())
    assert "its pods were not scheduled: 0/2 nodes are available: 2 Insufficient npu." in text
    assert cluster.objects == {}


def test_check_mode_leaves_no_objects(cluster: Cluster, tmp_path: Path) -> None:
    done, records = measured(cluster, tmp_path, "--check")
    assert (done.returncode, records, cluster.objects) == (0, [], {}), done.stdout + done.stderr
    assert "all_reduce would be run over 2 hosts." in " ".join(done.stdout.split())
