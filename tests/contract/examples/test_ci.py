"""Check the example repository of examples/ci: its pipelines pass unchanged and find faults of an inventory without contacting a host."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.lib.playbook import ansible_environment
from tests.lib.project import ROOT, skip

pytestmark = pytest.mark.slow

INSTALLS = ["pip install --requirement requirements.txt", "ansible-galaxy collection install --requirements-file requirements.yml"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples/ci", tmp_path / "repository"))


def run(repository: Path, line: str) -> subprocess.CompletedProcess[str]:
    environment = ansible_environment(HOME=str(repository.parent), NO_COLOR="1")
    return subprocess.run(line.split(), cwd=repository, env=environment, capture_output=True, text=True, timeout=240)


def pipelines() -> list[list[str]]:
    github = yaml.safe_load((ROOT / "examples/ci/.github/workflows/inventory.yml").read_text())
    gitlab = yaml.safe_load((ROOT / "examples/ci/.gitlab-ci.yml").read_text())
    return [[step["run"] for step in github["jobs"]["validate"]["steps"] if "run" in step], gitlab["inventory"]["script"]]


def test_pipelines_are_equal_and_pass(repository: Path) -> None:
    github, gitlab = pipelines()
    assert github == gitlab
    assert github[:2] == INSTALLS
    runs = [run(repository, line) for line in github[2:]]
    assert [done.returncode for done in runs] == [0, 0], runs[0].stdout + runs[1].stdout
    assert "Inventory: 4 hosts, 32 NPUs, 32 addresses; rank table: 4 servers, 32 ranks" in runs[0].stdout
    assert "Inventory: 2 hosts, 32 NPUs, 32 addresses; rank table: 2 servers, 32 ranks" in runs[1].stdout


@pytest.mark.parametrize(("right", "wrong", "sentences"), [
    ("bring_up_tls_state: disabled", "bring_up_tls_state: off\n    bring_up_tls_stat: disabled", [
        "all 4 hosts: bring_up_tls_state is False, but must be one of unchanged, enabled, disabled",
        "all 4 hosts: bring_up_tls_stat is not a variable of the collection. Did you mean bring_up_tls_state?"]),
    ("cidr: 10.10.0.0/16", "cidr: 10.10.0.0/28", ["10.10.0.0/28"]),
])
def test_wrong_inventory_is_reported(repository: Path, right: str, wrong: str, sentences: list[str]) -> None:
    inventory = repository / "inventories/site/hosts"
    inventory.write_text(inventory.read_text().replace(right, wrong))
    done = run(repository, pipelines()[0][2])
    assert done.returncode != 0
    output = " ".join((done.stdout + done.stderr).split())
    assert [sentence for sentence in sentences if sentence not in output] == []


def test_wrong_hosts_are_all_reported(repository: Path) -> None:
    inventory = repository / "inventories/site/hosts"
    twice = "bring_up_network: [{id: 0, address: 10.10.9.9, netmask: 255.255.0.0}]"
    hosts = ["a2-01: {bring_up_tls_stat: x}", f"a2-02: {{{twice}}}", f"a2-03: {{{twice}}}"]
    inventory.write_text(inventory.read_text().replace("a2-[01:04]:", "\n        ".join(hosts)))
    done = run(repository, pipelines()[0][2])
    output = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0
    assert "a2-01: bring_up_tls_stat is not a variable of the collection. Did you mean bring_up_tls_state?" in output
    assert "a2-03 NPU 0: 10.10.9.9 is also the address of a2-02 NPU 0" in output
    assert "has no attribute" not in output


def test_variables_of_all_entry_points_are_known(repository: Path) -> None:
    inventory = repository / "inventories/site/hosts"
    inventory.write_text(inventory.read_text().replace("a2-[01:04]:", "a2-[01:04]: {check_fabric_node: node-1}"))
    done = run(repository, pipelines()[0][2])
    assert done.returncode == 0, done.stdout + done.stderr


def test_molecule_scenario_passes(repository: Path) -> None:
    if not Path(sys.executable).with_name("molecule").exists():
        skip("molecule")
    done = run(repository, "molecule test -s inventory")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Inventory: 4 hosts, 32 NPUs" in done.stdout
