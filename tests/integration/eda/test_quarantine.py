"""The playbook quarantine runs one command for the host of the event, and only if it is enabled."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.lib.playbook import run_playbook


def quarantine(inventory: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_playbook("hccn.cluster.quarantine", inventory, *arguments, cwd=folder, HOME=str(folder))


@pytest.mark.smoke("quarantine")
@pytest.mark.parametrize(("enabled", "arguments", "message", "made"), [
    (False, [], "n3: nothing was done, since quarantine_enabled is false; the command would be: touch", []),
    (True, [], "n3: taken out of service by: touch", ["n3"]),
    (True, ["--check"], "n3: would be taken out of service by: touch", [])])
def test_command_runs_only_if_it_is_enabled(tmp_path: Path, enabled: bool, arguments: list[str], message: str, made: list[str]) -> None:
    """A list of words as the command is also run by test_hostile_host.py."""
    (tmp_path / "out").mkdir()
    path = f"{tmp_path}/out/{{{{ inventory_hostname }}}}"
    variables = {"ansible_eda": {"event": {"host": "n3"}}, "quarantine_enabled": enabled, "quarantine_command": f"touch,{path}" if enabled else ["touch", path]}
    done = quarantine("n2,n3", tmp_path, "-e", json.dumps(variables), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert message in done.stdout
    assert [path.name for path in (tmp_path / "out").iterdir()] == made


@pytest.mark.parametrize(("variables", "host"), [
    ({"ansible_eda": {"event": {"host": "all"}}}, "all"),
    ({"quarantine_host": "n2:n3"}, "n2:n3"),
])
def test_only_one_host_of_the_inventory_is_drained(tmp_path: Path, variables: dict[str, Any], host: str) -> None:
    """The unit tests of one_host.py check all forms of groups and patterns, and an empty name."""
    command = ["touch", f"{tmp_path}/{{{{ inventory_hostname }}}}.out"]
    (tmp_path / "hosts").write_text("[npu]\nn2\nn3\n")
    done = quarantine("hosts", tmp_path, "-e", json.dumps({**variables, "quarantine_enabled": True, "quarantine_command": command}))
    assert done.returncode != 0, done.stdout
    output = " ".join((done.stdout + done.stderr).split())
    assert f"{host!r} is not the name of one host of the inventory, so nothing is done" in output
    assert list(tmp_path.glob("*.out")) == []


def test_playbook_without_a_host_is_valid(tmp_path: Path) -> None:
    done = quarantine("n2,n3", tmp_path, "--syntax-check")
    assert done.returncode == 0, done.stdout + done.stderr
