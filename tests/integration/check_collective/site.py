"""Call a module that measures a collective as Ansible does, and list the processes and files that it leaves."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

from tests.integration.check_collective.mpi import CALL_SECONDS, TOKEN, carrying, hosts_on_this_machine, mpirun
from tests.lib.playbook import KEPT
from tests.lib.project import ROOT

MODULES = "ansible_collections.hccn.cluster.plugins.modules."


class Site:
    """The folder of a test, and a module with options for all calls. Every child process of a call has ``token`` in its environment."""

    def __init__(self, folder: Path, module: str, **options: object) -> None:
        self.folder = folder
        self.module = module
        self.token = uuid.uuid4().hex
        self.scratch = folder / "tmp"
        self.scratch.mkdir()
        (folder / "ansible.cfg").write_text("")
        self.options = {"mpirun": mpirun(), "run_id": "t", **options}

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HCCL_", "NCCL_", "HYDRA_", "SIM_", "ANSIBLE_"))}
        return {**kept, **hosts_on_this_machine(), TOKEN: self.token, "TMPDIR": str(self.scratch), **more}

    def ansible_environment(self) -> dict[str, str]:
        return {
            "ANSIBLE_CONFIG": str(self.folder / "ansible.cfg"), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_INVENTORY": "localhost,", "ANSIBLE_STDOUT_CALLBACK": "minimal", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
            **KEPT, "ANSIBLE_LOCAL_TEMP": str(self.scratch / "local"), "ANSIBLE_REMOTE_TEMP": str(self.scratch / "remote"),
        }

    def ansible(self, faults: dict[str, str] | None = None, **options: object) -> dict:
        """Return the result of one ad-hoc call of Ansible."""
        arguments = ["-m", f"hccn.cluster.{self.module}", "-a", json.dumps({**self.options, **options})]
        interpreter = f"ansible_python_interpreter={sys.executable}"
        done = subprocess.run([sys.executable, "-m", "ansible", "adhoc", "localhost", "-c", "local", "-e", interpreter, *arguments],
                              capture_output=True, text=True, timeout=CALL_SECONDS, check=False, stdin=subprocess.DEVNULL, cwd=self.folder,
                              env=self.environment(**self.ansible_environment(), **(faults or {})))
        match = re.search(r"^localhost \| (\w+)!? => (\{.*)", done.stdout, re.MULTILINE | re.DOTALL)
        assert match, done.stdout + done.stderr
        return {"failed": match.group(1) == "FAILED", **json.loads(match.group(2))}

    def start(self, faults: dict[str, str] | None = None, **options: object) -> subprocess.Popen[str]:
        """Start the module as a process, as Ansible does."""
        argv = [sys.executable, "-m", MODULES + self.module]
        child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                 env=self.environment(PYTHONPATH=str(ROOT / "collections"), **(faults or {})), cwd=self.folder)
        child.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": {**self.options, **options}}))
        child.stdin.close()
        child.stdin = None
        return child

    def call(self, faults: dict[str, str] | None = None, **options: object) -> dict:
        """Return the result of the module, without Ansible."""
        return json.loads(self.start(faults, **options).communicate(timeout=CALL_SECONDS)[0])

    def run(self, argv: list[str], **more: str) -> str:
        """Return the standard output of a command."""
        return subprocess.run(argv, capture_output=True, text=True, timeout=CALL_SECONDS, check=True, stdin=subprocess.DEVNULL,
                              env=self.environment(**more), cwd=self.folder).stdout

    def left(self) -> tuple[dict[int, str], list[str]]:
        """Return processes and host files that are left."""
        return carrying(self.token), [path.name for path in self.scratch.glob("hccn-hostfile-*")]
