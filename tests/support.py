# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests of the project share: where things lie, and the one register of skips."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from tests.simulator.hccn_sim.node import Node
from tests.simulator.hccn_sim.schedule import schedule

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = ROOT / "collections/ansible_collections/hccn/cluster"
SIMULATOR = ROOT / "tests/simulator"
BYTECODE = ROOT / "tests/bytecode"
REGISTER = ROOT / "tests/exceptions.yml"


def skip(name: str, detail: str = "") -> NoReturn:
    """Skips the test for the reason registered under ``name`` in tests/exceptions.yml; an unregistered name fails it."""
    entries = {entry["name"]: entry for entry in yaml.safe_load(REGISTER.read_text())["skips"]}
    if name not in entries:
        pytest.fail(f"skip {name!r} is not registered in {REGISTER.name}")
    reason = entries[name]["reason"]
    pytest.skip(f"{name}: {reason}{' (' + detail + ')' if detail else ''}")


def shared(path: str) -> Path:
    """A file or folder of the reference material, which lies beside the checkout or where HCCN_SHARED says."""
    folder = Path(os.environ.get("HCCN_SHARED") or ROOT.parent / "shared")
    if not (folder / path).exists():
        skip("reference-material", path)
    return folder / path


def node(root: Path, *arguments: str, devices: int = 8) -> Path:
    """A simulated node below ``root``, its devices in the loopback fabric, hccn.conf as they are."""
    argv = [sys.executable, "-m", "hccn_sim", "init", str(root), "--devices", str(devices), "--fabric", "loopback", "--poll-seconds", "0.05",
            "--conf-from-state", *arguments]
    subprocess.run(argv, env={**os.environ, "PYTHONPATH": str(SIMULATOR)}, check=True, timeout=30, stdout=subprocess.DEVNULL)
    return root


def set_state(root: Path, *state: str) -> None:
    """Changes the state of a simulated node's devices: ``3.link=0``."""
    argv = [sys.executable, "-m", "hccn_sim", "set", str(root), *state]
    subprocess.run(argv, env={**os.environ, "PYTHONPATH": str(SIMULATOR)}, check=True, timeout=30, stdout=subprocess.DEVNULL)


def set_state_after(root: Path, commands: int, *state: str, matching: str = "") -> None:
    """Changes the state of a simulated node when so many more calls of its tools have ended; ``matching``: calls that hold these words in a row."""
    schedule(Node(str(root)), list(state), commands, matching)


def tools(root: Path) -> dict[str, Any]:
    """The options by which a module finds a simulated node."""
    return {"hccn_tool": str(root / "bin/hccn_tool"), "npu_smi": str(root / "bin/npu-smi"), "hccn_conf": str(root / "etc/hccn.conf")}


def ansible_environment(**more: str) -> dict[str, str]:
    """The environment of an Ansible command that sees this checkout, nothing of the user's, and no history that another run in this process published."""
    own = {"ANSIBLE_CONFIG": str(ROOT / "tests/ansible.cfg"), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), "ANSIBLE_NOCOLOR": "true",
           "ANSIBLE_PYTHON_INTERPRETER": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, [str(BYTECODE), os.environ.get("PYTHONPATH")]))}
    outside = {name: value for name, value in os.environ.items() if not name.startswith("HCCN_RESULTS_")}
    return {**outside, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]), **own, **more}


def call_module(name: str, options: dict[str, Any], *, check: bool = False, diff: bool = False, timeout: float = 120) -> dict[str, Any]:
    """One module as a host runs it: a process that reads its arguments and prints its result. What Ansible adds on the controller is not there."""
    arguments = {**options, "_ansible_check_mode": check, "_ansible_diff": diff}
    argv = [sys.executable, "-m", f"ansible_collections.hccn.cluster.plugins.modules.{name}"]
    done = subprocess.run(argv, env={**os.environ, "PYTHONPATH": str(ROOT / "collections")}, input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
                          capture_output=True, text=True, timeout=timeout)
    start = done.stdout.find("{")
    assert start >= 0, done.stdout + done.stderr
    return json.loads(done.stdout[start:])
