"""Run the combinations of tests/lab/versions/versions.yml for which this machine has the interpreters, and print which ones were not run and why.

Before that, run the unit tests of module_utils on each Python of hosts, with the standard library and pytest only.

``--list`` runs nothing. ``--oldest`` runs the unit tests on the oldest Python, and the oldest ansible-core on this Python with hosts of the two oldest.
``--demo`` prints the releases that the demo runs on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from tests.lab.versions import cores
from tests.lab.versions.job_on_core.job import Run
from tests.lab.versions.interpreters import found
from tests.lib.project import ROOT

VERSIONS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("versions.yml").read_text())
UNIT_TESTS = "collections/ansible_collections/hccn/cluster/tests/unit/plugins/module_utils"
DEADLINE = 900


def planned(here: dict[str, Path]) -> list[Run]:
    runs = []
    for core in VERSIONS["cores"]:
        for controller in core["controller"]:
            hosts = [target for target in core["target"] if controller in here and target in here]
            runs.append(Run(core["release"], controller, hosts, [target for target in core["target"] if target not in hosts]))
    return runs


def oldest(runs: list[Run]) -> list[Run]:
    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    chosen = next(run for run in runs if run.controller == this)
    return [Run(chosen.release, this, chosen.hosts[:2], [])]


def unit_tests(version: str, python: Path) -> bool:
    """Run the unit tests of module_utils on this Python, print the result and return True if they pass."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT / "collections"), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [cores.pytest(VERSIONS["pytest"][version], python) / "bin/python", "-W", "error::DeprecationWarning", "-W", "error::SyntaxWarning",
            "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", UNIT_TESTS, "--confcutdir", UNIT_TESTS, "--import-mode=importlib",
            "-p", "no:cacheprovider", UNIT_TESTS]
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=DEADLINE)
    print(f"  Python {version:4}  {(done.stdout.strip().splitlines() or ['nothing'])[-1]}", flush=True)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-2000:])
    return done.returncode == 0


def imports(run: Run, here: dict[str, Path]) -> bool:
    """Let ansible-test of this ansible-core compile and import everything with the oldest Python of hosts, print the result and return True if it passes."""
    binaries = cores.core(run.release, here[run.controller]) / "bin"
    argv = [binaries / "python", "tests/lab/versions/ansible_test.py", "sanity", "--test", "compile", "--test", "import", "--python", run.hosts[0]]
    done = subprocess.run(argv, cwd=ROOT, env={**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}, capture_output=True, text=True, timeout=DEADLINE)
    print(f"  ansible-core {run.release}, Python {run.hosts[0]}: {'FAILED' if done.returncode else 'ok'}", flush=True)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-2000:])
    return done.returncode == 0


def cells(run: Run, here: dict[str, Path]) -> int:
    """Run the combinations, print the result and return the number of failures."""
    start = time.monotonic()
    messages: list[str] = []
    try:
        passed = run.passed(here)
    except subprocess.SubprocessError as error:
        passed, messages = [], [str(error)]
    words = [f"{version} {'ok' if version in passed else 'FAILED'}" for version in run.hosts]
    print(f"  ansible-core {run.release:8} controller {run.controller:4}  hosts {', '.join(words)}  ({time.monotonic() - start:.0f} s)", flush=True)
    failed = len(run.hosts) - len(passed)
    for line in messages or (run.failures() if failed else []):
        print(f"    {line}")
    return failed


def list_cells(runs: list[Run]) -> None:
    for run in runs:
        lacking = f"  (cannot run here: {' '.join(run.lacking)})" if run.lacking else ""
        print(f"  ansible-core {run.release:8} controller {run.controller:4}  hosts {' '.join(run.hosts) or '-'}{lacking}")


def main(option: str = "") -> int:
    versions = sorted({version for core in VERSIONS["cores"] for version in core["controller"] + core["target"]}, key=lambda text: int(text[2:]))
    here = found(versions)
    every = planned(here)
    missing = " ".join(version for version in versions if version not in here)
    cannot = f"{sum(len(run.lacking) for run in every)} cannot run here (missing interpreters: {missing or 'none'})."
    if option == "--list":
        list_cells(every)
        print(f"{sum(len(run.hosts) for run in every)} cells can run here, {cannot}")
        return 0
    runs = oldest(every) if option == "--oldest" else [run for run in every if run.hosts]
    list_cells([run for run in every if run.lacking])
    print("Unit tests of module_utils")
    alone = runs[0].hosts[:1] if option == "--oldest" else [version for version in versions if any(version in run.hosts for run in runs)]
    failed = sum(not unit_tests(version, here[version]) for version in alone)
    print("Sanity: compile and import")
    failed += sum(not imports(run, here) for run in oldest(every))
    print("Cells", flush=True)
    failed_cells = sum(cells(run, here) for run in runs)
    print(f"{sum(len(run.hosts) for run in runs) - failed_cells} cells passed, {failed_cells} failed, {cannot}")
    return 1 if failed or failed_cells else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--demo"]:
        print(*(core["release"] for core in VERSIONS["cores"] if core.get("demo")))
    else:
        sys.exit(main(*sys.argv[1:]))
