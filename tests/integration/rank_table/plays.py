"""Run ansible-playbook with hosts that are all this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.lib.playbook import isolated_environment

HERE = Path(__file__).resolve().parent
DEADLINE = 120

Task = dict[str, Any]


def device(number: int, address: str | None, *errors: dict[str, str]) -> dict[str, Any]:
    """Return a device like device_info."""
    return {"id": number, "address": address, "netmask": "255.255.255.0", "link": "up", "errors": list(errors)}


def node(*devices: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a result like device_info."""
    return {"changed": False, "failed": False, "product": "A2", "dialect": "910", "side_effects": [], "devices": list(devices), **more}


def play(folder: Path, hosts: dict[str, dict[str, Any]], tasks: list[Task], *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """Return exit status, output, and each registered result that the task of ``keep`` wrote."""
    inventory, playbook, results = folder / "hosts", folder / "play.yml", folder / "results.json"
    # sys.executable imports the ansible-core under test, so that the tests also run with other releases of ansible-core.
    common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory.write_text(json.dumps({"all": {"vars": common, "hosts": hosts}}))
    playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    results.unlink(missing_ok=True)
    ran = subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", "--forks", "2", "-i", str(inventory), *arguments, str(playbook)],
        env=isolated_environment(folder, ANSIBLE_LIBRARY=str(HERE / "library")), text=True, capture_output=True, timeout=DEADLINE, cwd=folder)
    kept = json.loads(results.read_text()) if results.exists() else {}
    return ran.returncode, ran.stdout + ran.stderr, kept


def once(name: str, module: str, options: dict[str, Any], **more: Any) -> Task:
    """Return a task on the first host that registers its result as ``name``, even if it fails."""
    return {module: options, "run_once": True, "register": name, "ignore_errors": True, **more}


def keep(folder: Path, *names: str) -> Task:
    """Return the last task, which writes the registered results for ``play``."""
    content = "{{ {" + ", ".join(f"'{name}': {name}" for name in names) + "} | to_json }}"
    return {"ansible.builtin.copy": {"content": content, "dest": str(folder / "results.json")}, "run_once": True, "check_mode": False, "diff": False}
