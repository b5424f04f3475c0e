"""Check the project as a whole: playbooks in AWX, the action group, registered exceptions, versions, time limits of tasks."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.hccn.cluster.plugins.plugin_utils._trust.sent_options import ROLE_PREFIXES
from tests.lib.project import COLLECTION, REGISTER, ROOT, SIMULATOR

JOBS = ["adopt", "bring_up", "check_collective", "check_fabric", "check_fabric_pods", "check_reachability", "compare", "conclude_slices", "container_mapping",
        "datadist_ready", "nic_switch", "perf_tools", "quarantine", "rank_table", "report", "restore", "retest", "site", "switch_upgrade", "tls", "validate"]
STAGES = ("bring_up", "check_collective", "check_fabric", "check_fabric_pods", "check_reachability", "rank_table")
PARTS = ["begin", "conclude", *(f"plays/{stage}" for stage in STAGES)]
"""Playbooks that the collection's playbooks import. AWX lists each file that contains plays."""
DEVICES_GROUP = ["device_info", "device_network", "device_ping", "device_state", "device_tls", "hccn_conf", "rdma_perf"]

SMOKE = re.compile(r"@pytest\.mark\.smoke\(([^)]*)\)")

# From awx/main/utils/ansible.py: which files of a project are offered as playbooks, and which folders are ignored.
AWX_PLAYBOOK = re.compile(r"^\s*?-?\s*?(?:hosts|(ansible\.builtin\.)?include|(ansible\.builtin\.)?import_playbook):\s*?.*?$")
AWX_SKIPS = {"roles", "tasks", "group_vars", "host_vars"}
NOT_IN_A_CHECKOUT = {"build", "history"}


def documentation(plugin: Path) -> dict[str, Any]:
    for node in ast.parse(plugin.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DOCUMENTATION":
            return yaml.safe_load(ast.literal_eval(node.value))
    raise AssertionError(f"{plugin.name} has no DOCUMENTATION")


def awx_playbooks(project: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(project):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in AWX_SKIPS]
        if Path(folder) == project:
            folders[:] = [name for name in folders if name not in NOT_IN_A_CHECKOUT]
        for path in (Path(folder, name) for name in files if name.endswith((".yml", ".yaml"))):
            text = path.read_text()
            if text.startswith("$ANSIBLE_VAULT;") or any(AWX_PLAYBOOK.match(line) for line in text.splitlines()):
                yield str(path.relative_to(project))


def test_awx_offers_the_playbooks_and_nothing_else() -> None:
    nested = "collections/ansible_collections/hccn/cluster/playbooks"
    wanted = ["playbooks/awx.yml", "playbooks/demo.yml"] + [f"{folder}/{job}.yml" for folder in ("playbooks", nested) for job in JOBS]
    wanted += [f"{nested}/awx.yml", *(f"{nested}/{part}.yml" for part in PARTS)]
    assert sorted(awx_playbooks(ROOT)) == sorted(wanted)


def test_playbooks_of_the_project_import_those_of_the_collection() -> None:
    for path in sorted((ROOT / "playbooks").glob("*.yml")):
        if path.name != "demo.yml":
            (play,) = yaml.safe_load(path.read_text())
            assert isinstance(play.pop("name"), str)
            assert play == {"ansible.builtin.import_playbook": f"hccn.cluster.{path.stem}"}
            assert (COLLECTION / f"playbooks/{path.name}").is_file()


def test_every_playbook_has_a_run_in_make_test() -> None:
    marks = [SMOKE.findall(path.read_text()) for path in (ROOT / "tests/integration").rglob("test_*.py")]
    assert sorted(name for found in marks for mark in found for name in re.findall(r"\w+", mark)) == JOBS


@pytest.mark.parametrize(
    ("path", "text", "offered"),
    [
        ("site.yml", "- hosts: all\n", True),
        ("deep/other.yaml", "---\n- import_playbook: x.yml\n", True),
        ("vault.yml", "$ANSIBLE_VAULT;1.1;AES256\n", True),
        ("roles/r/tasks/main.yml", "hosts: all\n", False),
        (".ci/ci.yml", "hosts: all\n", False),
        ("inventories/demo/hosts", "npu:\n  hosts:\n", False),
        ("vars.yml", "a: 1\n", False),
    ],
)
def test_awx_playbook_rules(tmp_path: Path, path: str, text: str, offered: bool) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    assert list(awx_playbooks(tmp_path)) == ([path] if offered else [])


def test_action_group_contains_the_modules_that_document_it() -> None:
    groups = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text())["action_groups"]
    assert groups == {"devices": [f"hccn.cluster.{name}" for name in DEVICES_GROUP]}

    documented = {
        module.stem
        for module in (COLLECTION / "plugins/modules").glob("*.py")
        if "hccn.cluster._attributes.devices_group" in documentation(module).get("extends_documentation_fragment", [])
    }
    assert sorted(documented) == DEVICES_GROUP


def test_every_module_runs_as_an_action() -> None:
    plugins = COLLECTION / "plugins"
    modules, actions = ({path.stem for path in (plugins / folder).glob("*.py")} for folder in ("modules", "action"))
    routed = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text())["plugin_routing"]["modules"]
    assert routed == {name: {"action_plugin": "hccn.cluster.bounded"} for name in modules - actions}
    assert actions - modules == {"bounded"}


def test_role_variables_have_a_known_prefix() -> None:
    names = {name for path in COLLECTION.glob("roles/*/meta/argument_specs.yml") for entry in yaml.safe_load(path.read_text())["argument_specs"].values()
             for name in entry.get("options", {})}
    assert len(names) > 120
    # Variables of the role awx belong to localhost. AWX passes variables of its own with that prefix, such as awx_job_id, to every job.
    assert [name for name in sorted(names) if not name.startswith((*ROLE_PREFIXES, "awx_"))] == []


def test_variables_of_several_roles_have_one_specification() -> None:
    """How ClusterD and Kubernetes are reached, and what fails a job, is the same for all roles; whether it is required is not."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(COLLECTION.glob("roles/*/meta/argument_specs.yml")):
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            for name, option in entry.get("options", {}).items():
                if name.startswith("hccn_"):
                    found.setdefault(name, []).append({key: value for key, value in option.items() if key != "required"})
    assert {name: len(options) for name, options in found.items()} == {"hccn_clusterd": 3, "hccn_conf": 2, "hccn_fail_on": 7, "hccn_kubernetes": 6}
    assert [name for name, options in found.items() if any(option != options[0] for option in options)] == []


UNSET = ("", 0.0, -1)
"""Values that must not stand for 'not set'; a whole 0 may be a number of seconds or the id of a super pod."""


def test_unset_variables_of_roles_are_not_defined() -> None:
    defaults: dict[str, Any] = {}
    for path in [*COLLECTION.glob("roles/*/defaults/main.yml"), *(ROOT / "roles").glob("*/defaults/main.yml")]:
        defaults.update(yaml.safe_load(path.read_text()))
    assert len(defaults) > 80
    assert [name for name, value in defaults.items() if any(value == unset and type(value) is type(unset) for unset in UNSET)] == []


def test_results_that_fail_a_job_have_one_scale() -> None:
    found = {name: option["choices"] for path in COLLECTION.glob("roles/*/meta/argument_specs.yml")
             for entry in yaml.safe_load(path.read_text())["argument_specs"].values()
             for name, option in entry.get("options", {}).items() if name.endswith("fail_on")}
    assert found == dict.fromkeys(("hccn_fail_on", "report_fail_on"), ["never", "failed", "slow", "any"])


def test_every_skip_and_exception_has_a_name_a_reason_and_an_issue() -> None:
    register = yaml.safe_load(REGISTER.read_text())
    assert sorted(register) == ["exceptions", "skips"]
    entries = register["skips"] + register["exceptions"]
    assert [entry for entry in entries if sorted(entry) != ["issue", "name", "reason"]] == []
    assert [entry for entry in entries if len(entry["reason"].split()) < 4 or not isinstance(entry["issue"], int)] == []
    names = [entry["name"] for entry in entries]
    assert len(names) == len(set(names))


def test_ignored_sanity_checks_are_registered() -> None:
    ignored = {line.split("#")[0].strip() for file in COLLECTION.glob("tests/sanity/ignore-*.txt") for line in file.read_text().splitlines()}
    registered = {entry["name"] for entry in yaml.safe_load(REGISTER.read_text())["exceptions"]}
    assert ignored - {""} - registered == set()


def test_simulator_imports_nothing_of_the_product() -> None:
    files = [path for path in SIMULATOR.rglob("*") if path.is_file() and not path.name.startswith(("test_", "conftest"))]
    programs = [path for path in files if path.suffix == ".py" or path.read_bytes().startswith(b"#!/usr/bin/env -S python3")]
    assert {"hccn_tool", "npu-smi"} <= {path.name for path in programs}
    assert [str(path.relative_to(SIMULATOR)) for path in programs if "ansible" in imports(path)] == []


def imports(path: Path) -> set[str]:
    """Return the first parts of all imported names; ``ansible`` stands for Ansible and for collections."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.append(node.module or "")
    return {"ansible" if name.startswith("ansible") else name.split(".")[0] for name in names}


def test_versions_are_consistent() -> None:
    texts = [(ROOT / name).read_text() for name in ("requirements.txt", "requirements-clusterd.txt")]
    pins = dict(line.split("==") for text in texts for line in text.splitlines() if "==" in line)
    cores = yaml.safe_load((ROOT / "tests/lab/versions/versions.yml").read_text())["cores"]
    oldest = cores[0]["release"]
    assert [core["release"] for core in cores if core.get("demo")] == [oldest]
    assert pins["ansible-core"] in [core["release"] for core in cores]
    assert yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text())["requires_ansible"].split(",")[0] == f">={oldest}"
    assert f"ansible-core>={oldest}\n" in (ROOT / "examples/ci/requirements.txt").read_text()

    environment = yaml.safe_load((ROOT / "execution-environment.yml").read_text())["dependencies"]
    assert environment["ansible_core"]["package_pip"] == f"ansible-core=={pins['ansible-core']}"
    assert set(environment["python"]) == {f"{name}=={version}" for name, version in pins.items() if name != "ansible-core"}


def test_execution_environment_for_kubernetes_only_adds_to_the_other_one() -> None:
    plain, extended = (yaml.safe_load((ROOT / name).read_text()) for name in ("execution-environment.yml", "execution-environment-kubernetes.yml"))
    tested = [line for line in (ROOT / "requirements-k8s.txt").read_text().splitlines() if line.startswith(("kubernetes==", "jsonpatch=="))]
    assert len(tested) == 2
    added = extended["dependencies"]
    assert sorted(added["python"]) == sorted([*plain["dependencies"]["python"], *tested])
    assert sorted(added["system"]) == sorted([*plain["dependencies"]["system"], "kubectl [platform:rpm]"])
    assert added.pop("galaxy") == "collections/requirements.yml"
    (step,) = extended.pop("additional_build_steps")["prepend_base"]
    assert "https://pkgs.k8s.io/" in step and "gpgcheck=1" in step
    for content in (plain, extended):
        del content["dependencies"]["python"], content["dependencies"]["system"]
    assert extended == plain


def test_awx_installs_the_collections_that_roles_need() -> None:
    """The collection itself is part of the project, awx.awx is needed only where playbooks/awx.yml runs."""
    listed = yaml.safe_load((ROOT / "collections/requirements.yml").read_text())["collections"]
    assert [re.fullmatch(r"\d+\.\d+\.\d+", entry["version"]) is not None for entry in listed] == [True] * len(listed)
    text = "".join(path.read_text() for path in COLLECTION.glob("roles/*/tasks/*.yml"))
    used = set(re.findall(r"^\s*(?:- )?([a-z0-9_]+\.[a-z0-9_]+)\.[a-z0-9_]+:", text, re.MULTILINE))
    assert used - {"ansible.builtin", "hccn.cluster"} == {entry["name"] for entry in listed} == {"kubernetes.core"}


def test_make_demo_runs_the_demo_playbook() -> None:
    recipe = (ROOT / "Makefile").read_text().split("\ndemo:")[1].split("\n\n")[0].splitlines()[1:]
    assert recipe == ["\tansible-playbook -i inventories/demo/hosts playbooks/demo.yml"]
    # The callback prints the path of the report, also when the run failed.
    assert "callbacks_enabled = hccn.cluster.results" in (ROOT / "ansible.cfg").read_text()


def test_make_test_runs_all_unit_tests() -> None:
    """make test-rest does not collect them, which takes ten seconds for each of its processes."""
    marked = [path.name for path in (COLLECTION / "tests/unit").rglob("test_*.py") if re.search(r"\bmark\.(slow|long)\b", path.read_text())]
    assert marked == []


def test_numbers_are_parsed_in_one_place() -> None:
    """str.isdigit and str.isdecimal accept texts that int() refuses. module_utils/_core/numbers.py defines what a number is."""
    plugins = COLLECTION / "plugins"
    found = [str(path.relative_to(plugins)) for folder in ("module_utils", "plugin_utils") for path in sorted((plugins / folder).rglob("*.py"))
             if re.search(r"\.is(digit|decimal|numeric)\(\)", path.read_text())]
    assert found == ["module_utils/_core/numbers.py"]


CONTROLLER_ACTIONS = {"add_host", "assert", "debug", "fail", "meta", "set_fact", "set_stats", "validate_argument_spec",
                      "include_tasks", "include_role", "import_tasks", "import_role"}
"""Actions of ansible.builtin that open no connection."""
KEYWORDS = {"name", "when", "vars", "register", "loop", "loop_control", "run_once", "delegate_to", "become", "changed_when", "failed_when", "no_log",
            "check_mode", "diff", "ignore_errors", "until", "retries", "delay", "environment", "module_defaults", "any_errors_fatal", "connection", "timeout"}


def tasks_of(entries: list[dict[str, Any]], delegated: str | None = None) -> Iterator[tuple[str, dict[str, Any], str | None]]:
    """Yield each task of a file: its action, the task, and the host that it is delegated to."""
    for task in entries:
        to = task.get("delegate_to", delegated)
        if "block" in task:
            for part in ("block", "rescue", "always"):
                yield from tasks_of(task.get(part, []), to)
        else:
            (action,) = set(task) - KEYWORDS
            yield action, task, to


def waits_without_limit(action: str, task: dict[str, Any], delegated: str | None) -> bool:
    """Return True if the task may wait for a connection without a time limit. Modules that run only on the controller have their own time limits."""
    namespace, _dot, name = action.rpartition(".")
    if namespace == "hccn.cluster":
        return name not in bounded_actions() and delegated != "localhost"
    if namespace == "ansible.builtin":
        return name not in CONTROLLER_ACTIONS and delegated != "localhost"
    return "timeout" not in task or delegated != "localhost"


def bounded_actions() -> set[str]:
    """Return the names of actions that have a time limit for hosts, or contact none."""
    routed = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text())["plugin_routing"]["modules"]
    assert {name for name, route in routed.items() if route != {"action_plugin": "hccn.cluster.bounded"}} == set()
    texts = {plugin.stem: plugin.read_text() for plugin in (COLLECTION / "plugins/action").glob("*.py")}
    own = {name for name, text in texts.items() if "class ActionModule(BoundedAction" in text or "class ActionModule(ControllerAction" in text}
    assert set(texts) - own == set(), "an action that calls a host must be a BoundedAction"
    return set(routed) | own


def test_role_tasks_wait_with_a_time_limit() -> None:
    found = {f"{path.parent.parent.name}: {task['name']}" for path in COLLECTION.glob("roles/*/tasks/*.yml")
             for action, task, delegated in tasks_of(yaml.safe_load(path.read_text())) if waits_without_limit(action, task, delegated)}
    assert found == set()
    assert waits_without_limit("ansible.builtin.copy", {}, None), "the file is copied to a host"
    plays = [play for path in COLLECTION.glob("playbooks/*.yml") for play in yaml.safe_load(path.read_text()) if "hosts" in play]
    assert {play["gather_facts"] for play in plays} == {False}, "gathering facts has no time limit"
    assert {name for play in plays for action, task, delegated in tasks_of(play.get("tasks", [])) for name in [action]} <= {
        "ansible.builtin.include_role", "ansible.builtin.import_role", "ansible.builtin.debug", "hccn.cluster.validate_job"}


def test_host_modules_have_a_time_limit() -> None:
    modules = {module.stem for module in (COLLECTION / "plugins/modules").glob("*.py")}
    assert modules - bounded_actions() == set()


PROGRAM = re.compile(r"\{%-?\s*(?:for|set)\b|\.append\(")
"""A loop or an accumulation in a template."""


def test_roles_and_playbooks_contain_no_programs() -> None:
    files = [(folder, path) for folder in (COLLECTION, ROOT) for part in ("roles", "playbooks") for path in sorted((folder / part).rglob("*.yml"))]
    assert len(files) > 100
    assert [str(path.relative_to(folder)) for folder, path in files if PROGRAM.search(path.read_text())] == []


@pytest.mark.parametrize(("text", "found"), [
    ("{% for host in hosts %}", True), ("{%- for host in hosts -%}", True), ("{%set x = 1%}", True), ("{{ names.append(1) }}", True),
    ("{{ names | map('upper') }}", False), ("for_all: '{{ set }}'", False),
])
def test_programs_in_templates_are_detected(text: str, found: bool) -> None:
    assert bool(PROGRAM.search(text)) is found
