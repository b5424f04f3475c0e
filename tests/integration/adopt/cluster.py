"""Simulated hosts with an inventory folder, and runs of the project's playbooks on them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.lib.hosts import node, tools
from tests.lib.playbook import recap, run_playbook, unfolded
from tests.lib.project import ROOT

DEADLINE = 300


@dataclass(frozen=True)
class Done:
    """``output``: the output with long lines unfolded; ``hosts``: the counts of the recap by host."""

    code: int
    output: str
    hosts: dict[str, dict[str, int]]

    def count(self, what: str) -> dict[str, int]:
        return {host: numbers[what] for host, numbers in self.hosts.items()}


@dataclass(frozen=True)
class Cluster:
    """``inventory`` is the folder of the inventory, beside the folders of the hosts."""

    folder: Path
    nodes: dict[str, Path]

    @property
    def inventory(self) -> Path:
        return self.folder / "site"

    def conf(self, host: str) -> Path:
        return self.nodes[host] / "etc/hccn.conf"

    def host_vars(self, host: str) -> Path:
        return self.inventory / f"host_vars/{host}.yml"

    def play(self, job: str | Path, *arguments: str) -> Done:
        path = ROOT / f"playbooks/{job}.yml" if isinstance(job, str) else job
        done = run_playbook(path, self.inventory / "hosts", "--forks", "2", *arguments, cwd=self.folder, timeout=DEADLINE)
        output = unfolded(done.stdout) + done.stderr
        return Done(done.returncode, output, recap(done.stdout))


def make(folder: Path, hosts: dict[str, list[str]], **variables: Any) -> Cluster:
    """Return a cluster of hosts with two NPUs. ``hosts``: further arguments of the simulator's ``init``, by host."""
    nodes = {}
    for number, (name, arguments) in enumerate(hosts.items(), 1):
        nodes[name] = node(folder / name, "--address-template", f"10.78.{number}.1{{device}}", "--netmask", "255.255.0.0", "--switch-address", "10.78.0.1",
                           "--state", "*.gateway=10.78.0.1", "--state", "*.netdetect=10.78.0.1", *arguments, devices=2)
    cluster = Cluster(folder, nodes)
    cluster.inventory.mkdir()
    common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **variables}
    content = {"npu": {"vars": common, "hosts": {name: tools(path) for name, path in nodes.items()}}}
    (cluster.inventory / "hosts").write_text(yaml.safe_dump(content, sort_keys=False))
    return cluster
