"""Real runs of ansible-playbook with the callback, and what they left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.lib.project import ROOT

HERE = Path(__file__).resolve().parent
DEADLINE = 120


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Nothing of the caller's settings: a home, temporary files and a history of its own. An empty value takes a setting away."""
    settings = folder / "ansible.cfg"
    settings.touch()
    (folder / "home").mkdir(exist_ok=True)
    variables = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "HOME": str(folder / "home"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "ANSIBLE_CONFIG": str(settings),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
        "ANSIBLE_REMOTE_TMP": str(folder / "remote"),
        "ANSIBLE_ASYNC_DIR": str(folder / "async"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
        "ANSIBLE_ACTION_PLUGINS": str(HERE / "action"),
        "ANSIBLE_LIBRARY": str(HERE / "library"),
        "ANSIBLE_CALLBACKS_ENABLED": "hccn.cluster.results",
        "HCCN_RESULTS_PATH": str(folder / "history"),
        **more,
    }
    return {name: value for name, value in variables.items() if value}


def command(folder: Path, tasks: str, *arguments: str, hosts: str = "n1,", name: str = "measure.yml") -> list[str]:
    """The command that plays ``tasks`` (YAML) on local hosts, one after the other."""
    playbook = folder / name
    indented = "".join(f"    {line}\n" for line in tasks.strip("\n").splitlines())
    playbook.write_text(f"- hosts: all\n  gather_facts: false\n  connection: local\n  tasks:\n{indented}")
    # The interpreter of the tests is that of ansible-core: under another core, this runs the other core.
    interpreter = ["-e", f"ansible_python_interpreter={sys.executable}"]
    return [sys.executable, "-m", "ansible", "playbook", "--forks", "1", "-i", hosts, *interpreter, *arguments, str(playbook)]


def play(folder: Path, tasks: str, *arguments: str, hosts: str = "n1,", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Plays ``tasks`` to the end. stdout and stderr are texts."""
    return run(folder, command(folder, tasks, *arguments, hosts=hosts), env)


def run(folder: Path, argv: list[str], env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command of Ansible to its end."""
    return subprocess.run(argv, env=environment(folder, **(env or {})), text=True, capture_output=True, timeout=DEADLINE, cwd=folder)


def wait_until_alone(folder: Path) -> None:
    """Ansible's own watcher of a background job looks every five seconds whether it is over: it is not left behind."""
    deadline = time.monotonic() + DEADLINE
    while any(str(folder).encode() in _command_line(process) for process in Path("/proc").glob("[0-9]*")):
        if time.monotonic() > deadline:
            raise AssertionError(f"processes of {folder} are still there")
        time.sleep(0.2)


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def files(folder: Path) -> list[Path]:
    """All files of the history, in the order of their names."""
    return sorted(path for path in (folder / "history").rglob("*") if path.is_file())


def kept(path: Path) -> list[str]:
    """The lines of a history file, without its header, with the times taken out, and what ansible-core says before a message since 2.19."""
    lines = [json.loads(line) for line in path.read_text().replace("Task failed: ", "").splitlines()[1:]]
    return [json.dumps({key: value for key, value in line.items() if key not in ("at", "finished_at")}) for line in lines]


def header(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text().splitlines()[0])
