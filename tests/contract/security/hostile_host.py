"""Run playbooks on hosts whose answers a test chooses. Their connection (tests/lab/benchmarks/null) returns the content of files as results of modules."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment
from tests.lib.project import ROOT

ANSWERED = {"changed": False}
FACTS = [{"name": "Hosts answer", "hosts": "npu", "gather_facts": False, "tasks": [{"name": "Ask", "ansible.builtin.ping": {}}]}]


class Hosts:
    """Hosts with ``answers`` by host and module (``nothing`` for modules of Ansible). Options become variables of the inventory."""

    def __init__(self, folder: Path, answers: Mapping[str, Mapping[str, Any]], **options: Any) -> None:
        self.folder = folder
        self.answers = folder / "answers"
        self.answers.mkdir(parents=True)
        for module in ("nothing", "stat", "copy", "file"):
            (self.answers / f"{module}.json").write_text(json.dumps({**ANSWERED, "stat": {"exists": False}}))
        for host, modules in answers.items():
            (self.answers / host).mkdir()
            for module, answer in modules.items():
                (self.answers / host / f"{module}.json").write_text(json.dumps(answer))
        (folder / "site").mkdir()
        variables = {"ansible_connection": "canned", "ansible_python_interpreter": sys.executable, **options}
        (folder / "site/hosts").write_text(json.dumps({"npu": {"hosts": {host: {} for host in answers}, "vars": variables}}))

    def play(self, playbook: str | list[dict[str, Any]], *arguments: str, **environment: str) -> tuple[int, str]:
        """Return exit status and output of a playbook of the collection, or of plays. Before it, every host answers a module of Ansible."""
        plays: list[dict[str, Any]] = [*FACTS, *([{"import_playbook": f"hccn.cluster.{playbook}"}] if isinstance(playbook, str) else playbook)]
        (self.folder / "play.yml").write_text(json.dumps(plays))
        argv = [ANSIBLE_PLAYBOOK, "-i", "site", "play.yml", *arguments]
        more = {"ANSIBLE_CONNECTION_PLUGINS": str(ROOT / "tests/lab/benchmarks/null/connection"), "BENCH_ANSWERS": str(self.answers),
                "HOME": str(self.folder / "home"), "ANSIBLE_INJECT_FACT_VARS": "true", **environment}
        done = subprocess.run(argv, cwd=self.folder, env=ansible_environment(**more), capture_output=True, text=True, timeout=240)
        return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)


def device(number: int, address: str, **topics: Any) -> dict[str, Any]:
    """Return an element of ``devices`` of device_info."""
    return {"id": number, "address": address, "netmask": "255.255.0.0", "link": True, "processes": [], "speed": 200000, "errors": [], **topics}


def device_info_answer(*devices: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an answer of device_info."""
    return {"changed": False, "product": "A2", "dialect": "a2", "devices": list(devices), "measurements": [], "side_effects": [], **more}
