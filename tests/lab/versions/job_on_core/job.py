"""One run of the matrix: an ansible-core on a controller's Python, with simulated nodes that use the Pythons of hosts that it supports.

The hosts pass through the whole job (hccn.cluster.site) and then through tasks/main.yml, which compares values. A combination passes if its host did not fail
anywhere.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.lab.versions import cores
from tests.lib.hosts import node
from tests.lib.playbook import KEPT
from tests.lib.project import ROOT, SIMULATOR

DEADLINE = 900
LOG = """\
the minbytes is 8192, maxbytes is 16384, iters is 5, warmup_iters is 2
data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:
8192              | 31.00          | 0.26426              | success
16384             | 32.25          | 0.50803              | success
"""


@dataclass
class Run:
    """``hosts`` are the available Pythons of hosts, ``lacking`` the missing ones."""

    release: str
    controller: str
    hosts: list[str]
    lacking: list[str]

    @property
    def place(self) -> Path:
        return ROOT / f".cache/matrix/{self.release}-{self.controller}"

    def passed(self, interpreters: Mapping[str, Path]) -> list[str]:
        """Run the combinations and return the Pythons of those that passed. The output is in ``place``/log."""
        hosts = self._hosts(interpreters)
        self._lay_out(hosts)
        venv = cores.core(self.release, interpreters[self.controller])
        environment = {
            "PATH": f"{venv / 'bin'}:{os.environ['PATH']}", "HOME": str(self.place), **KEPT, "LC_ALL": "C.UTF-8",
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "HCCN_RESULTS_PATH": str(self.place / "history"), "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
        with (self.place / "log").open("w") as log:
            subprocess.run([venv / "bin/ansible-playbook", "-i", "hosts.yml", "play.yml"], cwd=self.place, env=environment, stdin=subprocess.DEVNULL,
                           stdout=log, stderr=subprocess.STDOUT, timeout=DEADLINE)
        done = {match[1] for match in re.finditer(r"^(\S+) +: ok=[1-9].* unreachable=0 +failed=0 ", (self.place / "log").read_text(), re.MULTILINE)}
        return [version for version in self.hosts if {name for name, host in hosts.items() if host["cell_python"] == version} <= done]

    def failures(self) -> list[str]:
        return [line[:500] for line in (self.place / "log").read_text().splitlines() if re.match(r"fatal:|failed:|ERROR|\[ERROR\]", line)]

    def _hosts(self, interpreters: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
        # A measurement needs two hosts.
        versions = self.hosts if len(self.hosts) > 1 else self.hosts * 2
        return {
            f"py{version}-{number}": {
                "demo_number": number, "cell_python": version, "cell_peer": f"10.78.{100 + (number - 99) % len(versions)}.10",
                "ansible_python_interpreter": str(interpreters[version])}
            for number, version in enumerate(versions, 100)}

    def _lay_out(self, hosts: dict[str, dict[str, Any]]) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        for name, host in hosts.items():
            node(self.place / "nodes" / name, "--address-template", f"10.78.{host['demo_number']}.1{{device}}", "--netmask", "255.255.0.0",
                 "--switch-address", "10.78.0.1", "--state", "*.gateway=10.78.0.1", "--state", "*.netdetect=10.78.0.1",
                 "--state", "*.rate_mbit=40", devices=2)
        (self.place / "all_reduce.log").write_text(LOG)
        # The variables of the demo's hosts, except for their paths.
        variables = yaml.safe_load((ROOT / "inventories/demo/hosts").read_text())["npu"]["vars"]
        variables |= {
            "demo_folder": str(self.place / "nodes"), "cell_core": self.release, "cell_log": str(self.place / "all_reduce.log"),
            "check_collective_hccl_test_dir": str(SIMULATOR / "hccl_test"),
            "check_collective_environment": {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(SIMULATOR / "bin/sim-ssh")}}
        (self.place / "hosts.yml").write_text(json.dumps({"npu": {"hosts": hosts, "vars": variables}}))
        tools = {name: f"{{{{ {name} }}}}" for name in ("hccn_tool", "npu_smi", "hccn_conf")}
        play = [
            # First of all: after a set_fact with run_once, ansible-core 2.21.5 gives the facts of one host to all.
            {"name": "Which Python this is", "hosts": "npu", "gather_facts": True, "gather_subset": ["!all", "!min", "python"]},
            {"name": "The whole job", "ansible.builtin.import_playbook": "hccn.cluster.site"},
            {"name": "The other modules", "hosts": "npu", "gather_facts": False, "module_defaults": {"group/hccn.cluster.devices": tools},
             "tasks": [{"ansible.builtin.include_tasks": str(ROOT / "tests/lab/versions/job_on_core/tasks/main.yml")}]},
        ]
        (self.place / "play.yml").write_text(json.dumps(play))
