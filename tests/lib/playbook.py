"""Run ansible-playbook on this checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.lib.project import ROOT

ANSIBLE_PLAYBOOK = str(Path(sys.executable).with_name("ansible-playbook"))
BYTECODE = ROOT / "tests/lib/bytecode"
CALLBACKS = ROOT / "tests/lib/callbacks"
KEPT = {"PYTHONPATH": str(BYTECODE), "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS)}
"""With these variables, a run keeps and uses what earlier runs have compiled. They save time only."""


def ansible_environment(**more: str) -> dict[str, str]:
    """Return the environment of an Ansible command that uses this checkout, without settings of the user or the history of another run in this process."""
    own = {"ANSIBLE_CONFIG": str(ROOT / "tests/ansible.cfg"), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), "ANSIBLE_NOCOLOR": "true",
           **KEPT, "ANSIBLE_PYTHON_INTERPRETER": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, [str(BYTECODE), os.environ.get("PYTHONPATH")]))}
    outside = {name: value for name, value in os.environ.items() if not name.startswith("HCCN_RESULTS_")}
    return {**outside, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]), **own, **more}


def isolated_environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of an Ansible command without settings of the caller, with home and temporary files in ``folder``."""
    settings = folder / "ansible.cfg"
    settings.touch()
    (folder / "home").mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1", "ANSIBLE_CONFIG": str(settings),
            **KEPT, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), **more}


def run_playbook(playbook: str | Path, inventory: str | Path, *arguments: str, cwd: str | Path = ROOT, timeout: float = 300,
                 **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a playbook (a path, or ``hccn.cluster.NAME``) and return its exit status and output. ``environment``: variables to set or replace."""
    argv = [ANSIBLE_PLAYBOOK, "-i", str(inventory), str(playbook), *arguments]
    return subprocess.run(argv, cwd=cwd, env=ansible_environment(**environment), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)


def unfolded(output: str) -> str:
    """Return the output of ansible-playbook with each long message on one line."""
    return re.sub(r"\n {8}", " ", output)


def recap(output: str) -> dict[str, dict[str, int]]:
    """Return the numbers of tasks by host from the recap of a run: ``ok``, ``changed``, ``unreachable``, ``failed``, ..."""
    found = {}
    for line in output.split("PLAY RECAP")[-1].partition("\n\n")[0].splitlines():
        name, _, counts = line.partition(":")
        if "ok=" in counts:
            found[name.strip()] = {key: int(value) for key, value in (word.split("=") for word in counts.split())}
    return found


def final_screen(output: str) -> list[str]:
    """Return the lines that the callback prints after Ansible's recap."""
    return output.partition("PLAY RECAP")[2].partition("\n\n")[2].strip().splitlines()
