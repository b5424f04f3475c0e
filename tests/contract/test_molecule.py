"""Molecule at the root of the repository, as a user calls it: without a variable or an option that names settings. make molecule runs the scenarios."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.lib.project import ROOT, skip

SCENARIOS = ["default", "tls", "upgrade"]

pytestmark = pytest.mark.slow


def molecule(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("molecule")
    if not program.exists():
        skip("molecule")
    environment = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8", "NO_COLOR": "1"}
    return subprocess.run([program, *arguments], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)


def test_scenarios_are_found(tmp_path: Path) -> None:
    done = molecule(tmp_path, "list", "--format", "yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted({entry["Scenario Name"] for entry in yaml.safe_load(done.stdout)}) == SCENARIOS


@pytest.mark.parametrize("scenario", ["default", "tls"])
def test_playbooks_of_a_scenario_find_the_collection(tmp_path: Path, scenario: str) -> None:
    done = molecule(tmp_path, "syntax", "-s", scenario)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tmp_path / ".ansible").glob("collections/*")) == [], "nothing is installed"
