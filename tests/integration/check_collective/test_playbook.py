"""The playbook check_collective on three simulated A3 servers of two super pods, with a real mpirun: the order of ranks and the choice of the tool."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.integration.check_collective.mpi import hosts_on_this_machine, mpirun, nccl_programs, programs
from tests.lib.hosts import node, tools, write_inventory
from tests.lib.playbook import run_playbook

POD = {"n1": 3, "n2": 4, "n3": 3}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    mpirun()
    folder = tmp_path_factory.mktemp("cluster")
    hosts = {}
    for place, (name, pod) in enumerate(POD.items(), 1):
        root = node(folder / name, "--product", "A3", "--server-index", str(place), "--super-pod-id", str(pod), devices=2)
        hosts[name] = {**tools(root), "ansible_host": f"127.77.0.{place}"}
    write_inventory(folder, hosts)
    programs(folder)
    nccl_programs(folder)
    return folder


def measured(cluster: Path, **variables: Any) -> tuple[dict[str, Any], str]:
    """Run the playbook. Return the record of the collective and the output."""
    history = cluster / f"history-{len(list(cluster.glob('history-*')))}"
    whole = {"check_collective_mpirun": mpirun(), "check_collective_ranks_per_host": 2, "check_collective_sizes": {"begin": "8K", "end": "16K", "factor": 2},
             "check_collective_iterations": 2, "check_collective_warmup": 1, "check_collective_timeout_s": 60,
             "check_collective_environment": hosts_on_this_machine(), "check_collective_hccl_test_dir": str(cluster / "hccl_test"),
             "check_collective_nccl_tests_dir": str(cluster / "nccl-tests"), **variables}
    done = run_playbook("hccn.cluster.check_collective", cluster / "hosts", "-e", json.dumps(whole), ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results",
                        HCCN_RESULTS_PATH=str(history))
    assert done.returncode == 0, done.stdout + done.stderr
    records = [json.loads(line) for path in history.rglob("*.jsonl") for line in path.read_text().splitlines()]
    return next(record for record in records if record.get("kind") == "collective"), " ".join((done.stdout + done.stderr).split())


def test_ranks_of_a_super_pod_are_consecutive(cluster: Path) -> None:
    record, output = measured(cluster)
    assert (record["tool"]["name"], record["status"], record["hosts"], record["ranks"]) == ("all_reduce_test", "ok", ["n1", "n3", "n2"], 6)
    assert "all_reduce over 3 hosts, 6 ranks: ok" in output


def test_host_that_cannot_be_probed_ends_no_other_play(cluster: Path) -> None:
    """The report of a whole run is therefore written whatever the result of the collective."""
    (cluster / "two.yml").write_text(json.dumps([
        {"import_playbook": "hccn.cluster.check_collective"},
        {"hosts": "npu", "gather_facts": False, "tasks": [{"ansible.builtin.debug": {"msg": "next on {{ inventory_hostname }}"}}]}]))
    hosts = (cluster / "hosts").read_text()
    (cluster / "hosts-broken").write_text(hosts.replace(str(cluster / "n2/bin"), str(cluster / "nowhere")))
    done = run_playbook(cluster / "two.yml", cluster / "hosts-broken", "-e", "hccn_fail_on=never")
    output = " ".join(done.stdout.split())
    assert done.returncode == 0, output
    assert "all_reduce: not run, a host is not ready: n2: " in output
    assert [f"next on {name}" in output for name in POD] == [True, True, True]
    assert run_playbook(cluster / "two.yml", cluster / "hosts-broken").returncode == 2


def test_nccl_tests_in_the_given_order(cluster: Path) -> None:
    record, output = measured(cluster, check_collective_tool="nccl_tests", check_collective_rank_order="given", check_collective_allow_busy=True)
    assert (record["tool"]["name"], record["status"], record["hosts"], record["ranks"]) == ("all_reduce_perf", "ok", ["n1", "n2", "n3"], 6)
    assert "all_reduce over 3 hosts, 6 ranks: ok" in output


def test_busy_gpus_of_all_hosts_stop_the_collective(cluster: Path) -> None:
    """nvidia-smi reports a process on n2 only, which is not the launching host."""
    folder = cluster / "gpus"
    folder.mkdir()
    (folder / "nvidia-smi").write_text("#!/bin/sh\ncase \"$HCCN_TEST_HOST\" in n2) echo '4711, /usr/bin/python3' ;; esac\n")
    (folder / "nvidia-smi").chmod(0o755)
    (cluster / "gpus.yml").write_text(json.dumps([{
        "hosts": "npu", "gather_facts": False, "environment": {"HCCN_TEST_HOST": "{{ inventory_hostname }}", "PATH": f"{folder}:{os.environ['PATH']}"},
        "roles": ["hccn.cluster.check_collective"]}]))
    options = {"check_collective_tool": "nccl_tests", "check_collective_mpirun": mpirun(), "check_collective_nccl_tests_dir": str(cluster / "nccl-tests")}
    done = run_playbook(cluster / "gpus.yml", cluster / "hosts", "-e", json.dumps(options))
    output = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, output
    assert "all_reduce: not run, GPUs are at work: n2 GPUs (pid 4711)" in output
