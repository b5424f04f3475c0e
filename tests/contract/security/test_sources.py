"""Check the sources: processes start in one place only, no code is made from text, no task uses a shell, and bandit and pip-audit find nothing new."""

from __future__ import annotations

import ast
import functools
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.lib.project import COLLECTION, ROOT, skip

PLUGINS = COLLECTION / "plugins"
PROCESSES = {"module_utils/_core/process.py", "module_utils/_core/guard.py"}
FORKS = {"module_utils/_core/detach.py", "module_utils/_core/guard.py"}
STARTS = {"subprocess", "pty", "multiprocessing"}
OF_OS = {"system", "popen", "execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp", "execlpe", "spawnv", "spawnl", "spawnvp", "spawnlp",
         "posix_spawn", "posix_spawnp", "startfile"}
CODE = {"eval", "exec", "compile", "__import__"}
UNSAFE = {"pickle", "marshal", "shelve", "dill", "telnetlib", "ftplib"}
TASKS = {"shell", "raw", "script", "expect", "command"}


KNOWN = {
    ("module_utils/_device/parse_network.py", "B104"): "0.0.0.0 is what a tool prints for no address",
    ("plugin_utils/_jobs/pods.py", "B108"): "a folder of a pod, not of this host",
    ("plugin_utils/_jobs/volcano.py", "B108"): "a folder of a pod, not of this host",
    ("plugin_utils/_report/charts.py", "B704"): "markup of its own around text that is escaped: test_page.py and the unit tests of _report",
    ("plugin_utils/_report/html.py", "B704"): "markup of its own around text that is escaped: test_page.py and the unit tests of _report",
    ("plugin_utils/_report/pictures.py", "B704"): "markup of its own around text that is escaped: test_page.py and the unit tests of _report",
}
"""What bandit finds (from medium severity), with the reason why it is accepted."""


def sources() -> list[Path]:
    return sorted(PLUGINS.rglob("*.py"))


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def names(path: Path) -> set[str]:
    """Return the imported modules, the used functions of os and yaml, and the names of called functions."""
    found: set[str] = set()
    for one in ast.walk(tree(path)):
        if isinstance(one, ast.Import):
            found |= {alias.name.split(".")[0] for alias in one.names}
        elif isinstance(one, ast.ImportFrom) and one.module and not one.level:
            found.add(one.module.split(".")[0])
        elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id in ("os", "yaml"):
            found.add(f"{one.value.id}.{one.attr}")
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
            found.add(f"{one.func.id}()")
    return found


def test_processes_start_in_one_place() -> None:
    """The only files that start processes pass lists of arguments, never a command for a shell."""
    found = {str(path.relative_to(PLUGINS)): names(path) for path in sources()}
    assert {path for path, used in found.items() if used & STARTS} == PROCESSES
    assert {path for path, used in found.items() if "os.fork" in used} == FORKS
    assert {path: used & {f"os.{name}" for name in OF_OS} for path, used in found.items() if used & {f"os.{name}" for name in OF_OS}} == {}
    shells = [f"{path}:{one.lineno}" for path in sources() for one in ast.walk(tree(path))
              if isinstance(one, ast.keyword) and one.arg == "shell"]
    assert shells == []


def test_no_code_from_text() -> None:
    found = {str(path.relative_to(PLUGINS)): names(path) for path in sources()}
    assert {path: used & ({f"{name}()" for name in CODE} | UNSAFE) for path, used in found.items()
            if used & ({f"{name}()" for name in CODE} | UNSAFE)} == {}
    assert {path for path, used in found.items() if used & {"yaml.load", "yaml.unsafe_load", "yaml.full_load"}} == set()


class TagIgnoringLoader(yaml.SafeLoader):
    """Reads the value behind a tag such as !unsafe or !vault."""


TagIgnoringLoader.add_multi_constructor("!", lambda loader, _suffix, one: loader.construct_scalar(one) if isinstance(one, yaml.ScalarNode) else None)


def tasks(entries: object) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            found.append(entry)
            for key in ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks", "handlers"):
                found += tasks(entry.get(key))
    return found


def test_no_task_uses_a_shell() -> None:
    """A command is a list of arguments (argv)."""
    files = [path for folder in (COLLECTION / "roles", COLLECTION / "playbooks", ROOT / "roles", ROOT / "playbooks") for path in folder.rglob("*.yml")]
    used = [(path.name, task[name]) for path in files for task in tasks(yaml.load(path.read_text(), TagIgnoringLoader))
            for name in task if str(name).rpartition(".")[2] in TASKS]
    assert len(files) > 100
    assert [name for name, options in used if not isinstance(options, dict) or "argv" not in options] == []


@pytest.mark.slow
def test_bandit() -> None:
    if importlib.util.find_spec("bandit") is None:
        skip("bandit")
    done = subprocess.run([sys.executable, "-m", "bandit", "--quiet", "--recursive", "--format", "json", "--severity-level", "medium", str(PLUGINS),
                           str(COLLECTION / "extensions"), str(ROOT / "roles")], capture_output=True, text=True, timeout=120)
    report = json.loads(done.stdout)
    assert report["errors"] == []
    found = {(str(Path(one["filename"]).relative_to(PLUGINS)), one["test_id"]) for one in report["results"]}
    assert found == set(KNOWN), report["results"]


@pytest.mark.slow
@pytest.mark.parametrize("requirements", ["requirements.txt", "requirements-clusterd.txt"])
def test_pip_audit(requirements: str) -> None:
    """Check the few packages that the collection requires, in the pinned versions."""
    if importlib.util.find_spec("pip_audit") is None:
        skip("pip-audit")
    done = subprocess.run([sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--progress-spinner", "off", "--timeout", "10", "--format", "json",
                           "--requirement", str(ROOT / requirements)], capture_output=True, text=True, timeout=120)
    if not done.stdout.lstrip().startswith("{"):
        skip("pip-audit", done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "no answer")
    audited = json.loads(done.stdout)["dependencies"]
    unknown = [one for one in audited if "skip_reason" in one]
    if unknown:
        skip("pip-audit", unknown[0]["skip_reason"])
    assert [f"{one['name']} {one['version']}: {advisory['id']}" for one in audited for advisory in one["vulns"]] == []
