"""Call modules in this process with hostile options, and record the commands of child processes instead of starting them.

hccn_tool and npu-smi are functions of the simulator, so that the modules get as far as changing settings.
"""

from __future__ import annotations

import copy
import importlib
import io
import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.hccn.cluster.plugins.module_utils._core import guard

from tests.simulator.hccn_sim import npu_smi, tool
from tests.simulator.hccn_sim.node import Node
from tests.lib.project import COLLECTION

MARK = "hostile"
LINE = MARK + "_line=1"
VALUES = (f"$(touch {MARK})", f"'; touch {MARK} #", f"`touch {MARK}` | {MARK} > {MARK}", f"{MARK}\n{LINE}\n", f"-{MARK}", f"--{MARK}=1",
          f"../../{MARK}", f"{MARK}\0")
"""Hostile values for a shell, a file of lines, the options of a tool, a path and the kernel."""

MODULES = "ansible_collections.hccn.cluster.plugins.modules."
RULES = ("mutually_exclusive", "required_together", "required_one_of", "required_if", "required_by")
SHELLS = ("sh", "bash", "dash", "env")
Spec = dict[str, Any]
Path_ = tuple[str | int, ...]


class ModuleExit(Exception):
    """The module has exited."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(result.get("msg"))
        self.result = result


class Module:
    """The part of AnsibleModule that modules use. ``spec_only``: raise Over with the argument spec instead of running."""

    params: dict[str, Any] = {}
    check_mode = False
    spec_only = False
    _diff = False

    def __init__(self, argument_spec: Spec, supports_check_mode: bool = False, **rules: Any) -> None:
        if Module.spec_only:
            raise ModuleExit(argument_spec)
        assert set(rules) <= set(RULES)
        checked = ArgumentSpecValidator(argument_spec, **rules).validate(copy.deepcopy(Module.params))
        if checked.error_messages:
            self.fail_json(msg="; ".join(checked.error_messages))
        self.params = checked.validated_parameters

    def exit_json(self, **result: Any) -> NoReturn:
        json.dumps(result)
        raise ModuleExit(result)

    def fail_json(self, **result: Any) -> NoReturn:
        assert result["msg"], "a failure needs a message"
        self.exit_json(failed=True, **result)

    def warn(self, message: str) -> None:
        pass

    def backup_local(self, path: str) -> str:
        return shutil.copy(path, path + ".backup")


class Child:
    """A child process that has already exited."""

    def __init__(self, argv: tuple[str, ...], rc: int) -> None:
        self.args, self.returncode, self.pid = argv, rc, 2**22 + 1

    def poll(self) -> int:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        return self.returncode

    def communicate(self, *_: Any, **__: Any) -> tuple[None, None]:
        return None, None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: Any) -> None:
        pass


class Children:
    """Replacement for subprocess.Popen. ``argvs``: the recorded command lines."""

    def __init__(self, node: Path) -> None:
        self._node = Node(str(node))
        self.argvs: list[tuple[str, ...]] = []

    def start(self, argv: Any, **how: Any) -> Child:
        assert isinstance(argv, (list, tuple)) and not how.get("shell"), f"a command must be a list, not a string for a shell: {argv!r}"
        words = tuple(argv)
        if any("\0" in word for word in [*words, *(how.get("env") or {}).values()]):
            raise ValueError("embedded null byte")
        self.argvs.append(words)
        rc, out, err = self._answer(words)
        for stream, text in ((how.get("stdout"), out), (how.get("stderr"), err)):
            if hasattr(stream, "write"):
                stream.write(text.encode())
        return Child(words, rc)

    def _answer(self, words: tuple[str, ...]) -> tuple[int, str, str]:
        name, out, err = Path(words[0]).name, io.StringIO(), io.StringIO()
        if words[0].endswith("bin/hccn_tool"):
            return tool.main(list(words), self._node, io.StringIO(), out, err, {}), out.getvalue(), err.getvalue()
        if words[0].endswith("bin/npu-smi"):
            return npu_smi.main(list(words), self._node, out, {}), out.getvalue(), ""
        if name == "mpirun":
            return 0, _mpirun(words), ""
        if name == "ssh-keygen":
            Path(words[words.index("-f") + 1] + ".pub").write_text("ssh-ed25519 AAAA comment\n")
        if MARK in words[0]:
            raise FileNotFoundError(words[0])
        return 0, "", ""


def _mpirun(words: tuple[str, ...]) -> str:
    if words[1:] == ("--version",):
        return "HYDRA build details:\n    Version:      4.1.2\n"
    if "-f" in words:
        lines = Path(words[words.index("-f") + 1]).read_text().splitlines()
        assert LINE not in lines
        if "printenv" in words:
            return "".join(f"{line.split(':')[0]}\n" * int(line.split(":")[1]) for line in lines)
    return ""


def judge(argv: tuple[str, ...]) -> list[str]:
    """Return the reasons why a command line treats a hostile value as more than a value."""
    found = [f"an option: {word!r}" for word in argv[1:] if MARK in word and word.startswith("-")]
    if Path(argv[0]).name in SHELLS and any(MARK in word for word in argv[1:]):
        found.append("an argument of a shell")
    if Path(argv[0]).name == "ssh":
        found += [f"not quoted for the shell of the host: {word!r}" for word in shlex.split(argv[-1], posix=False) if MARK in word and word[0] != "'"]
    return [f"{reason} in {argv!r}" for reason in found]


def modules() -> list[str]:
    """Return the names of modules that run on hosts; the others only document actions."""
    return sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py") if "def main(" in path.read_text())


def spec_of(name: str) -> Spec:
    module = importlib.import_module(MODULES + name)
    Module.spec_only = True
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "AnsibleModule", Module)
            module.main()
    except ModuleExit as captured:
        return captured.result
    finally:
        Module.spec_only = False
    raise AssertionError(f"{name} did not create an AnsibleModule")


def string_options(spec: Spec, before: Path_ = ()) -> Iterator[Path_]:
    """Yield the path of every option that takes a free text."""
    for name, option in spec.items():
        kind, where = option.get("type", "str"), (*before, name)
        if option.get("choices"):
            continue
        if kind in ("str", "path", "raw", "json"):
            yield where
        elif kind == "list" and option.get("elements", "str") in ("str", "path", "raw"):
            yield (*where, 0)
        elif kind in ("list", "dict") and "options" in option:
            yield from string_options(option["options"], (*where, 0) if kind == "list" else where)


def texts_in(value: Any, before: Path_ = ()) -> Iterator[Path_]:
    """Yield the path of every text in the parameters, including dictionaries without a spec. A path that ends with ``:key`` means the name of a key."""
    if isinstance(value, str):
        yield before
    elif isinstance(value, dict):
        for name, one in value.items():
            yield (*before, name, ":key")
            yield from texts_in(one, (*before, name))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from texts_in(one, (*before, place))


def with_value(params: dict[str, Any], where: Path_, value: str) -> dict[str, Any]:
    """Return the parameters with ``value`` at the path; missing containers are made."""
    whole = copy.deepcopy(params)
    if where[-1] == ":key":
        *way, name, _ = where
        target = _at(whole, tuple(way))
        if isinstance(target, dict) and name in target:
            target[value] = target.pop(name)
        return whole
    target = _at(whole, where[:-1], where[-1])
    if isinstance(target, list):
        target[:1] = [value]
    else:
        target[where[-1]] = value
    return whole


def _at(whole: Any, way: Path_, last: str | int = "") -> Any:
    for place, step in enumerate(way):
        following = (*way, last)[place + 1]
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            if not whole:
                whole.append(empty)
            whole = whole[step]
        else:
            if whole.get(step) is None:
                whole[step] = empty
            whole = whole[step]
    return whole


def call(name: str, params: dict[str, Any], children: Children, check_mode: bool = False) -> dict[str, Any]:
    """Return the result of a module. It raises any exception other than the module's exit, which is a defect."""
    module = importlib.import_module(MODULES + name)
    Module.params, Module.check_mode = params, check_mode
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AnsibleModule", Module)
        patch.setattr(subprocess, "Popen", children.start)
        patch.setattr(guard.Guard, "__enter__", lambda self: self)
        patch.setattr(guard.Guard, "__exit__", lambda self, *_: self._run_cleanup())
        try:
            module.main()
        except ModuleExit as exited:
            return exited.result
    raise AssertionError(f"{name} did not return a result")
