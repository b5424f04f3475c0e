"""The Slurm prolog of docs/howto/before_a_job.rst: it drains the slow host of a job, and the job cannot start; good hosts start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.docs.pages import File, steps
from tests.integration.check_fabric.cluster import Cluster
from tests.integration.eda.test_quarantine_providers import SCONTROL, SINFO
from tests.lib.playbook import ansible_environment

HOSTNAMES = """case "$1 $2" in "show hostnames") echo "$3" | tr ' ' '\\n'; exit ;; esac
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster", 4, 1)
    yield made
    made.close()


def prolog(folder: Path, *hosts: str) -> tuple[int, str]:
    path = os.pathsep.join([f"{folder}/bin", str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = ansible_environment(SLURM_JOB_NODELIST=" ".join(hosts), PATH=path)
    done = subprocess.run(["bash", str(folder / "prolog-npu.sh")], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_prolog_of_the_page(cluster: Cluster, tmp_path: Path) -> None:
    for step in steps("howto/before_a_job.rst"):
        if isinstance(step, File):
            (tmp_path / step.path).write_text(step.text)
    (tmp_path / "bin").mkdir()
    (tmp_path / "state").mkdir()
    first, rest = SCONTROL.split("\n", 1)
    for name, text in (("scontrol", f"{first}\n{HOSTNAMES}{rest}"), ("sinfo", SINFO)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    hosts = {}
    for entry in cluster.hosts():
        (tmp_path / "state" / entry["host"]).write_text("   State=IDLE ThreadsPerCore=1\n")
        hosts[entry["host"]] = {"root": cluster.root(entry["host"]), "check_fabric_control_port": entry["control_port"]}
    common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "check_fabric_control_address": "127.0.0.1",
              "hccn_tool": "{{ root }}/bin/counted", "npu_smi": "{{ root }}/bin/npu-smi", "hccn_conf": "{{ root }}/etc/hccn.conf",
              "check_fabric_state_dir": "{{ root }}/runs", "check_fabric_advanced": {"server_start_delay_s": 0.3}, "check_fabric_relative_floor": 0.2,
              "check_fabric_iterations": 1000, "check_fabric_timeout_s": 60}
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/hosts.json").write_text(json.dumps({"npu": {"hosts": hosts, "vars": common}}))

    cluster.set_state("n2", "0.rate_mbit=20")
    code, output = prolog(tmp_path, "n1", "n2", "n3", "n4")
    assert code != 0, output
    states = {name: "DRAIN" in (tmp_path / "state" / name).read_text() for name in hosts}
    assert states == {"n1": False, "n2": True, "n3": False, "n4": False}, output
    assert "Reason=hccn.cluster: check_fabric: slow" in (tmp_path / "state/n2").read_text()
    code, output = prolog(tmp_path, "n1", "n3")
    assert code == 0, output
    assert prolog(tmp_path, "n1")[0] == 0
