"""Run a module of the collection as a host runs it, and import files that are not part of a package."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.lib.project import ROOT


def call_module(name: str, options: dict[str, Any], *, check: bool = False, diff: bool = False, timeout: float = 120) -> dict[str, Any]:
    """Run a module in a process that reads its arguments and prints its result, without Ansible's controller, and return the result."""
    arguments = {**options, "_ansible_check_mode": check, "_ansible_diff": diff}
    argv = [sys.executable, "-m", f"ansible_collections.hccn.cluster.plugins.modules.{name}"]
    done = subprocess.run(argv, env={**os.environ, "PYTHONPATH": str(ROOT / "collections")}, input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
                          capture_output=True, text=True, timeout=timeout)
    start = done.stdout.find("{")
    assert start >= 0, done.stdout + done.stderr
    return json.loads(done.stdout[start:])


def import_file(path: Path) -> ModuleType:
    """Import a Python file, such as a filter of a role or an event source."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
