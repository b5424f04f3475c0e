"""The command of the launcher on this machine, with a real mpirun over a simulated ssh; hccl_perf evaluates its log."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.filter.mpi_job import mpi_job
from ansible_collections.hccn.cluster.plugins.filter.volcano_job import volcano_job
from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_tool import CollectiveOptions
from tests.integration.check_collective.mpi import CALL_SECONDS, mpirun, programs
from tests.integration.kubernetes_jobs.container import HOSTS, here


@pytest.fixture
def job(tmp_path: Path) -> dict[str, Any]:
    return {"image": "here", "replicas": 2, "ranks_per_host": 2, "sizes": {"begin": "8K", "end": "16K"}, "iterations": 2, "warmup": 1, "mpirun": mpirun(),
            "tool_dir": str(programs(tmp_path)), "start_timeout": 1, "timeout": 30}


def launcher(planned: dict[str, Any]) -> dict[str, Any]:
    spec = planned["objects"][-1]["spec"]
    template = spec["tasks"][0]["template"] if planned["kind"] == "Job" else spec["mpiReplicaSpecs"]["Launcher"]["template"]
    return template["spec"]["containers"][0]


def run(folder: Path, container: dict[str, Any], **environment: str) -> subprocess.CompletedProcess[str]:
    argv, whole = here(folder, container, **environment)
    return subprocess.run(argv, capture_output=True, text=True, timeout=CALL_SECONDS, check=False, stdin=subprocess.DEVNULL, cwd=folder, env=whole)


def judged(job: dict[str, Any], done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    options = CollectiveOptions(ranks_per_host=2, begin="8K", end="16K")
    return collective.judge_log(collective.Request(options, hosts=HOSTS, names=("node-a", "node-b")), done.stdout + done.stderr, sizes_given=True).record


def test_volcano(job: dict[str, Any], tmp_path: Path) -> None:
    done = run(tmp_path, launcher(volcano_job(job)))
    record = judged(job, done)
    assert (done.returncode, record["status"], record.get("error")) == (0, "ok", None)
    assert (record["hosts"], record["ranks"], len(record["samples"])) == (["node-a", "node-b"], 4, 2)
    assert (tmp_path / "hostfile").read_text() == "127.77.0.1:2\n127.77.0.2:2\n"


def test_mpi_job(job: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "operator").write_text("127.77.0.1:2\n127.77.0.2:2\n")
    done = run(tmp_path, launcher(mpi_job(job)), HYDRA_HOST_FILE=str(tmp_path / "operator"))
    assert (done.returncode, judged(job, done)["status"]) == (0, "ok")


def test_worker_that_refuses_logins_is_named(job: dict[str, Any], tmp_path: Path) -> None:
    done = run(tmp_path, launcher(volcano_job(job)), SIM_SSH_DOWN=HOSTS[1])
    record = judged(job, done)
    assert (done.returncode, record["error"]["code"]) == (70, "host_unreachable")
    assert record["error"]["message"] == "node-b: ssh: connect to host 127.77.0.2 port 22: Connection refused"


@pytest.mark.parametrize(("address", "arguments"), [
    ("", ["-D", "-e", "-p", "2222"]), ("10.0.0.7", ["-D", "-e", "-p", "2222", "-o", "SetEnv=HCCL_IF_IP=10.0.0.7"])])
def test_sshd_of_the_workers(tmp_path: Path, address: str, arguments: list[str]) -> None:
    """sshd passes the address of the host to logins that start ranks. Its folder is made first."""
    sshd = tmp_path / "sshd"
    sshd.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/arguments\n')
    sshd.chmod(0o755)
    spec = volcano_job({"image": "x", "replicas": 1, "host_network": True, "sshd": str(sshd)})["objects"][-1]["spec"]
    command = spec["tasks"][1]["template"]["spec"]["containers"][0]["command"]
    script = command[2].replace("/run/sshd", str(tmp_path / "run"))
    subprocess.run([*command[:2], script, *command[3:]], check=True, timeout=20, env={**os.environ, "HCCL_IF_IP": address})
    assert (tmp_path / "arguments").read_text().splitlines() == arguments
    assert (tmp_path / "run").is_dir()
