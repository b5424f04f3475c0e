"""Run ansible-playbook with the callback and read the history files that it writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.lib.playbook import isolated_environment
from tests.lib.processes import processes
from tests.lib.waiting import happens

HERE = Path(__file__).resolve().parent
DEADLINE = 120


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment without settings of the caller, with home, temporary files and history in ``folder``. An empty value removes a variable."""
    own = {
        "ANSIBLE_REMOTE_TMP": str(folder / "remote"),
        "ANSIBLE_ASYNC_DIR": str(folder / "async"),
        "ANSIBLE_ACTION_PLUGINS": str(HERE / "action"),
        "ANSIBLE_LIBRARY": str(HERE / "library"),
        "ANSIBLE_CALLBACKS_ENABLED": "hccn.cluster.results",
        "HCCN_RESULTS_PATH": str(folder / "history"),
    }
    variables = isolated_environment(folder, **{**own, **more})
    return {name: value for name, value in variables.items() if value}


def play_of(tasks: str, hosts: str = "all") -> str:
    """Return a play as YAML that runs ``tasks`` (YAML) on local hosts."""
    indented = "".join(f"    {line}\n" for line in tasks.strip("\n").splitlines())
    return f"- hosts: {hosts}\n  gather_facts: false\n  connection: local\n  tasks:\n{indented}"


def command(folder: Path, tasks: str, *arguments: str, hosts: str = "n1,", name: str = "measure.yml") -> list[str]:
    """Return the command that runs ``tasks`` (YAML) on local hosts, one after the other."""
    return playbook_command(folder, play_of(tasks), *arguments, hosts=hosts, name=name)


def playbook_command(folder: Path, playbook: str, *arguments: str, hosts: str, name: str = "measure.yml") -> list[str]:
    """Write a playbook (YAML) and return the command that runs it on local hosts, one after the other."""
    path = folder / name
    path.write_text(playbook)
    # sys.executable imports the ansible-core under test, so that the tests also run with other releases of ansible-core.
    interpreter = ["-e", f"ansible_python_interpreter={sys.executable}"]
    return [sys.executable, "-m", "ansible", "playbook", "--forks", "1", "-i", hosts, *interpreter, *arguments, str(path)]


def play(folder: Path, tasks: str, *arguments: str, hosts: str = "n1,", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``tasks`` (YAML) and return exit status, stdout and stderr."""
    return run(folder, command(folder, tasks, *arguments, hosts=hosts), env)


def run(folder: Path, argv: list[str], env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command of Ansible and return exit status, stdout and stderr."""
    return subprocess.run(argv, env=environment(folder, **(env or {})), text=True, capture_output=True, timeout=DEADLINE, cwd=folder)


def wait_until_alone(folder: Path) -> None:
    """Wait until no process of the run is left. Ansible's watcher of a background job polls every five seconds."""
    assert happens(lambda: not processes(str(folder), environment=False), DEADLINE), processes(str(folder), environment=False)


def files(folder: Path) -> list[Path]:
    """Return all files of the history, sorted by name."""
    return sorted(path for path in (folder / "history").rglob("*") if path.is_file())


def kept(path: Path) -> list[str]:
    """Return the lines of a history file without header, times and the prefix that ansible-core 2.19 and later add to messages."""
    lines = [json.loads(line) for line in path.read_text().replace("Task failed: ", "").splitlines()[1:]]
    return [json.dumps({key: value for key, value in line.items() if key not in ("at", "finished_at")}) for line in lines]


def header(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text().splitlines()[0])
