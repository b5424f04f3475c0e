"""The playbook check_collective on three simulated A3 servers of two super pods, with a real mpirun: the order of ranks and the choice of the tool."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.integration.check_collective.mpi import hosts_on_this_machine, mpirun, nccl_programs, programs
from tests.lib.hosts import node, tools, write_inventory
from tests.lib.playbook import run_playbook
from tests.lib.project import COLLECTION

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


def collectives(cluster: Path, code: int = 0, **variables: Any) -> tuple[list[dict[str, Any]], str]:
    """Run the playbook. Return the records of collectives and the output. The value None removes a variable."""
    history = cluster / f"history-{len(list(cluster.glob('history-*')))}"
    whole = {"check_collective_mpirun": mpirun(), "check_collective_ranks_per_host": 2, "check_collective_sizes": {"begin": "8K", "end": "16K", "factor": 2},
             "check_collective_iterations": 2, "check_collective_warmup": 1, "check_collective_timeout_s": 60,
             "check_collective_environment": hosts_on_this_machine(), "check_collective_hccl_test_dir": str(cluster / "hccl_test"),
             "check_collective_nccl_tests_dir": str(cluster / "nccl-tests"), **variables}
    whole = {name: value for name, value in whole.items() if value is not None}
    done = run_playbook("hccn.cluster.check_collective", cluster / "hosts", "-e", json.dumps(whole), ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results",
                        HCCN_RESULTS_PATH=str(history))
    assert done.returncode == code, done.stdout + done.stderr
    records = [json.loads(line) for path in history.rglob("*.jsonl") for line in path.read_text().splitlines()]
    return [record for record in records if record.get("kind") == "collective"], " ".join((done.stdout + done.stderr).split())


def measured(cluster: Path, **variables: Any) -> tuple[dict[str, Any], str]:
    """Return the record of the only collective and the output."""
    (record,), output = collectives(cluster, **variables)
    return record, output


def argv_of(record: dict[str, Any]) -> list[str]:
    """Return the arguments of the program."""
    command = record["command"]
    return command[next(place for place, word in enumerate(command) if word.endswith(record["tool"]["name"])) + 1:]


def test_ranks_of_a_super_pod_are_consecutive_and_options_reach_hccl_test(cluster: Path) -> None:
    record, output = measured(cluster, check_collective_operation="reduce", check_collective_data_type="fp16", check_collective_reduction="max",
                              check_collective_root=1, check_collective_check=False)
    assert (record["tool"]["name"], record["status"], record["hosts"], record["ranks"]) == ("reduce_test", "ok", ["n1", "n3", "n2"], 6)
    assert argv_of(record) == ["-p", "2", "-b", "8K", "-e", "16K", "-f", "2", "-d", "fp16", "-o", "max", "-n", "2", "-w", "1", "-r", "1", "-c", "0"]
    assert "reduce over 3 hosts, 6 ranks: ok" in output


def test_nccl_tests_in_the_given_order_with_options(cluster: Path) -> None:
    record, output = measured(cluster, check_collective_tool="nccl_tests", check_collective_rank_order="given", check_collective_allow_busy=True,
                              check_collective_operation="reduce", check_collective_data_type="half", check_collective_reduction="max",
                              check_collective_root=1, check_collective_check=False)
    assert (record["tool"]["name"], record["status"], record["hosts"], record["ranks"]) == ("reduce_perf", "ok", ["n1", "n2", "n3"], 6)
    assert argv_of(record) == ["-b", "8K", "-e", "16K", "-f", "2", "-g", "1", "-d", "half", "-o", "max", "-r", "1", "-n", "2", "-w", "1", "-c", "0"]
    assert "reduce over 3 hosts, 6 ranks: ok" in output


def test_host_that_cannot_be_probed_ends_no_other_play(cluster: Path) -> None:
    """The report of a whole run is therefore written whatever the result of the collective."""
    (cluster / "two.yml").write_text(json.dumps([
        {"import_playbook": "hccn.cluster.begin"}, {"import_playbook": str(COLLECTION / "playbooks/plays/check_collective.yml")},
        {"hosts": "npu", "gather_facts": False, "tasks": [{"ansible.builtin.debug": {"msg": "next on {{ inventory_hostname }}"}}]},
        {"import_playbook": "hccn.cluster.conclude"}]))
    hosts = (cluster / "hosts").read_text()
    (cluster / "hosts-broken").write_text(hosts.replace(str(cluster / "n2/bin"), str(cluster / "nowhere")))
    done = run_playbook(cluster / "two.yml", cluster / "hosts-broken")
    output = " ".join(done.stdout.split())
    assert done.returncode == 2, output
    assert "all_reduce: not run, a host is not ready: n2: " in output
    assert [f"next on {name}" in output for name in POD] == [True, True, True]


@pytest.mark.long
def test_option_that_the_operation_does_not_have_is_refused(cluster: Path) -> None:
    records, output = collectives(cluster, code=2, check_collective_operation="all_gather", check_collective_reduction="max")
    assert records == []
    assert "all_gather: failed. reduction is max, but all_gather has no reduction" in output
    records, output = collectives(cluster, code=2, check_collective_data_type="half")
    assert records == []
    assert "all_reduce: failed. value of data_type must be one of: int8, int16, int32, fp16, fp32" in output


@pytest.mark.long
def test_acceptance_measures_four_operations(cluster: Path) -> None:
    records, output = collectives(cluster, check_collective_profile="acceptance")
    assert [(record["operation"], record["status"]) for record in records] == [
        ("all_reduce", "ok"), ("all_gather", "ok"), ("reduce_scatter", "ok"), ("alltoall", "ok")]
    assert "Result: good. 3 hosts: 3 good." in output


SIZES = {
    ("hccl_test", "quick"): ["-b", "8K", "-e", "64M", "-f", "2"], ("nccl_tests", "quick"): ["-b", "32M", "-e", "512M", "-f", "2"],
    ("hccl_test", "acceptance"): ["-b", "8K", "-e", "2G", "-f", "2"], ("nccl_tests", "acceptance"): ["-b", "32M", "-e", "2G", "-f", "2"],
}


def test_jobs_in_kubernetes_have_the_sizes_of_tool_and_profile_and_one_operation(tmp_path: Path) -> None:
    """The manifest of a job contains the command line, and nothing is measured. The last play lacks an operation."""
    plays = [{"hosts": "localhost", "gather_facts": False, "roles": ["hccn.cluster.check_collective"], "vars": {
        "check_collective_job": {"image": "hccl-test:8.2", "replicas": 2, "tool": tool}, "check_collective_profile": profile, **operation}}
        for tool, profile, operation in [*((*case, {"check_collective_operation": "all_reduce"}) for case in SIZES), ("hccl_test", "acceptance", {})]]
    (tmp_path / "play.yml").write_text(json.dumps(plays))
    options = {"check_collective_launcher": "volcano", "check_collective_plan_only": True}
    done = run_playbook("play.yml", "localhost,", "-e", json.dumps(options), cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    words = [word.strip("'\",") for word in done.stdout.split() if word != "-"]
    assert [words[place:place + 6] for place, word in enumerate(words) if word == "-b"] == list(SIZES.values())
    assert ("check_collective_profile acceptance measures all_reduce, all_gather, reduce_scatter, alltoall, but a job in Kubernetes measures one operation. "
            "Set check_collective_operation to one of them") in " ".join((done.stdout + done.stderr).split())


BROKEN = """#!/bin/sh
echo "api_token=s3cret-of-the-tool"
for line in $(seq 1 1000); do echo "line $line"; done
echo "cannot open /dev/davinci9"
exit 3
"""


def test_output_of_a_failed_tool_is_kept(cluster: Path) -> None:
    (cluster / "broken/bin").mkdir(parents=True)
    (cluster / "broken/bin/all_reduce_test").write_text(BROKEN)
    (cluster / "broken/bin/all_reduce_test").chmod(0o755)
    _records, output = collectives(cluster, code=2, check_collective_hccl_test_dir=str(cluster / "broken"), hccn_hosts="n1")
    history = max(cluster.glob("history-*"), key=lambda path: path.stat().st_mtime)
    lines = [json.loads(line) for path in history.rglob("*.jsonl") for line in path.read_text().splitlines()]
    (record,) = [line for line in lines if line.get("kind") == "collective"]
    (finding,) = [line["samples"][0] for line in lines if line.get("kind") == "finding"]
    assert (record["error"]["code"], record["error"]["hint"]) == ("rank_exited", "see the first error in the output of this rank")
    for kept in (record["error"]["output"], finding["output"]):
        assert "line 1000\ncannot open /dev/davinci9" in kept
        assert "line 1\n" not in kept and len(kept) < 4200
    path = Path(record["error"]["output_file"])
    assert path.parent.parent == history / "logs"
    assert path.stat().st_mode & 0o777 == 0o640
    whole = gzip.decompress(path.read_bytes()).decode()
    assert "line 1\nline 2\n" in whole and "cannot open /dev/davinci9" in whole
    assert "s3cret" not in whole
    page = next(path for path in (history / "reports").glob("*.html") if path.name != "index.html").read_text()
    assert "cannot open /dev/davinci9" in page
    assert "see the output" not in output


def test_busy_gpus_of_all_hosts_stop_the_collective(cluster: Path) -> None:
    """nvidia-smi reports a process on n2 only, which is not the launching host n1."""
    folder = cluster / "gpus"
    folder.mkdir()
    (folder / "nvidia-smi").write_text("#!/bin/sh\ncase \"$HCCN_TEST_HOST\" in n2) echo '4711, /usr/bin/python3' ;; esac\n")
    (folder / "nvidia-smi").chmod(0o755)
    (cluster / "gpus.yml").write_text(json.dumps([{
        "hosts": "npu", "gather_facts": False, "environment": {"HCCN_TEST_HOST": "{{ inventory_hostname }}", "PATH": f"{folder}:{os.environ['PATH']}"},
        "roles": ["hccn.cluster.check_collective"]}]))
    options = {"check_collective_tool": "nccl_tests", "check_collective_mpirun": mpirun(), "check_collective_nccl_tests_dir": str(cluster / "nccl-tests")}
    done = run_playbook(cluster / "gpus.yml", cluster / "hosts", "--limit", "n1:n2", "-e", json.dumps(options))
    output = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, output
    assert "all_reduce: not run, GPUs are at work: n2 GPUs (pid 4711)" in output
