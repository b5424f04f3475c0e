"""Run a job as AWX does: a private data folder with a clone of the project, and the commands transmit, worker and process of ansible-runner.

The settings are those of awx/main/tasks/jobs.py. Instead of a container, the worker is a process of this machine with a separate environment
and a temporary home folder.
"""

from __future__ import annotations

import configparser
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import ansible_runner
import yaml

from tests.lib.playbook import KEPT
from tests.lib.project import ROOT

DEADLINE = 300
BIN = Path(sys.executable).parent
# Environment variable, setting of ansible.cfg, folder that AWX puts before it, defaults that AWX puts after it.
PATHS = [("ANSIBLE_COLLECTIONS_PATH", "collections_path", "requirements_collections", "~/.ansible/collections:/usr/share/ansible/collections"),
         ("ANSIBLE_ROLES_PATH", "roles_path", "requirements_roles", "~/.ansible/roles:/usr/share/ansible/roles:/etc/ansible/roles")]
# A callback that newer releases of AWX add to each job, before the callbacks of the project.
COUNTING = "from ansible.plugins.callback import CallbackBase\nclass CallbackModule(CallbackBase):\n    CALLBACK_NEEDS_ENABLED = True\n"

NOT_SENT = ("contract", "docs", "examples", "integration", "lab", "unit")
"""Folders of the project that no job reads, to send the half."""


class Unsafe(str):
    """A text of the user of AWX (an answer of a survey), which must not be evaluated as a template."""


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text)))


@dataclass
class Outcome:
    """The result of a job in AWX."""

    status: str  # as AWX shows it
    explanation: str
    rc: int | None
    events: list[dict[str, Any]] = field(default_factory=list)

    def named(self, event: str) -> list[dict[str, Any]]:
        return [entry["event_data"] for entry in self.events if entry["event"] == event]

    @property
    def artifacts(self) -> dict[str, Any]:
        """The artifacts that the next job of a workflow receives."""
        stats = self.named("playbook_on_stats")
        return stats[-1]["artifact_data"] if stats else {}

    @property
    def output(self) -> str:
        return "\n".join(entry["stdout"] for entry in self.events)


def clone(project: Path) -> Path:
    """Copy all files of the project that git does not ignore."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, timeout=60)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, project / name, follow_symlinks=False)
    return project


def synchronised(project: Path, source: str) -> dict[str, Any]:
    """Return the inventory that AWX makes from a file of the project. Host variables are exported separately: users of AWX may change them."""
    argv = [str(BIN / "ansible-inventory"), "-i", str(project / source), "--list", "--export"]
    done = subprocess.run(argv, cwd=project, check=True, capture_output=True, text=True, timeout=60, env=worker_environment(project.parent))
    return json.loads(done.stdout)


def worker_environment(home: Path) -> dict[str, str]:
    """Return the environment of a container of an execution environment, without variables of this process."""
    return {"PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}


@dataclass
class Job:
    """``folder`` replaces /runner of the container; ``environment`` are variables of the job template's credential or of AWX's settings."""

    id: int
    folder: Path
    playbook: str
    inventory: dict[str, Any]
    variables: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    limit: str = ""
    forks: int = 5
    settings: dict[str, Any] = field(default_factory=dict)

    def run(self, project: Path, while_running: Callable[[], None] = lambda: None) -> Outcome:
        """Send the job to a worker, call ``while_running`` while it works, and return the result."""
        control = self.folder.with_name(f"{self.folder.name}_control")
        self._prepare(control, project)
        params = {"ident": str(self.id), "private_data_dir": str(control), "playbook": self.playbook, "inventory": str(control / "inventory/hosts"),
                  "envvars": self._variables_of_the_environment(project), "suppress_env_files": True}
        streams = control.with_name(f"{self.folder.name}_sent"), control.with_name(f"{self.folder.name}_received")
        with streams[0].open("wb") as sent:
            ansible_runner.interface.run(streamer="transmit", _output=sent, **params)
        self._work(*streams, while_running)
        with streams[1].open("rb") as received:
            return self._process(control, received)

    def _prepare(self, control: Path, project: Path) -> None:
        for name in ("env", "inventory"):
            (control / name).mkdir(parents=True)
        (control / "callbacks").mkdir()
        (control / "callbacks/indirect_instance_count.py").write_text(COUNTING)
        shutil.copytree(project, control / "project", symlinks=True, ignore=shutil.ignore_patterns(*NOT_SENT))
        script = control / "inventory/hosts"
        script.write_text(f"#! /usr/bin/env python3\n# -*- coding: utf-8 -*-\nprint({json.dumps(self.inventory)!r})\n")
        script.chmod(0o700)
        own = {"awx_job_id": self.id, "tower_job_id": self.id, "awx_job_launch_type": "manual", "awx_user_name": "admin"}
        (control / "env/extravars").write_text(yaml.dump({**self.variables, **own}, Dumper=_Dumper))
        arguments = [f"--forks={self.forks}", *(["-l", self.limit] if self.limit else [])]
        (control / "env/cmdline").write_text(shlex.join(arguments))
        settings = {"suppress_ansible_output": True, "suppress_output_file": True, "pexpect_timeout": 1, **self.settings}
        (control / "env/settings").write_text(json.dumps(settings))

    def _variables_of_the_environment(self, project: Path) -> dict[str, str]:
        config = configparser.ConfigParser()
        config.read(project / "ansible.cfg")
        defaults = config["defaults"]
        found = {
            "ANSIBLE_FORCE_COLOR": "True", "ANSIBLE_HOST_KEY_CHECKING": "False", "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True",
            "ANSIBLE_PARAMIKO_RECORD_HOST_KEYS": "False", "ANSIBLE_RETRY_FILES_ENABLED": "False", "AWX_HOST": "https://awx.example",
            "AWX_PRIVATE_DATA_DIR": str(self.folder), "JOB_ID": str(self.id), "INVENTORY_ID": "1", "MAX_EVENT_RES": "700000",
            "PROJECT_REVISION": "0" * 40, "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.folder / "cp"),
            "ANSIBLE_CALLBACK_PLUGINS": f"{self.folder}/callbacks:{KEPT['ANSIBLE_CALLBACK_PLUGINS']}", "PYTHONPATH": KEPT["PYTHONPATH"],
            "ANSIBLE_CALLBACKS_ENABLED": ",".join(filter(None, ["indirect_instance_count", defaults.get("callbacks_enabled", "")])),
        }
        for variable, setting, own, behind in PATHS:
            found[variable] = ":".join(filter(None, [str(self.folder / own), defaults.get(setting, ""), behind]))
        return {**found, **self.environment}

    def _work(self, sent: Path, received: Path, while_running: Callable[[], None]) -> None:
        home = self.folder.with_name(f"{self.folder.name}_home")
        home.mkdir()
        argv = [str(BIN / "ansible-runner"), "worker", "--private-data-dir", str(self.folder)]
        with sent.open("rb") as source, received.open("wb") as sink:
            with subprocess.Popen(argv, cwd=home, stdin=source, stdout=sink, env=worker_environment(home)) as worker:
                try:
                    while_running()
                    worker.wait(DEADLINE)
                finally:
                    worker.kill()
        # A container would be removed with all its files.
        shutil.rmtree(self.folder)
        shutil.rmtree(home)

    def _process(self, control: Path, received: BinaryIO) -> Outcome:
        events: list[dict[str, Any]] = []
        done = ansible_runner.interface.run(streamer="process", quiet=True, _input=received, private_data_dir=str(control), ident=str(self.id),
                                            event_handler=lambda event: bool(events.append(event)))
        explanation = f"Job terminated due to {done.status}" if done.status in ("timeout", "error") else ""
        return Outcome("failed" if done.status == "timeout" else done.status, explanation, self._rc(control), events)

    def _rc(self, control: Path) -> int | None:
        path = control / "artifacts" / str(self.id) / "rc"
        text = path.read_text() if path.exists() else "None"
        return None if text == "None" else int(text)
