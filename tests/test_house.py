# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for the project as a whole: what AWX lists, who is in the action group, which exceptions stand, which versions are meant."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import COLLECTION, REGISTER, ROOT, SIMULATOR

JOBS = ["adopt", "bring_up", "check_collective", "check_fabric", "datadist_ready", "nic_switch", "perf_tools", "quarantine", "rank_table", "report",
        "restore", "retest", "site", "switch_upgrade", "tls", "validate"]
DEVICES_GROUP = ["device_info", "device_network", "device_ping", "device_tls", "hccn_conf", "rdma_perf"]

# awx/main/utils/ansible.py: which files of a project are offered as playbooks, and the folders where it does not look.
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
    assert sorted(awx_playbooks(ROOT)) == sorted(wanted)


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
def test_the_rules_of_awx(tmp_path: Path, path: str, text: str, offered: bool) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    assert list(awx_playbooks(tmp_path)) == ([path] if offered else [])


def test_the_action_group_is_those_modules_that_document_it() -> None:
    groups = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text())["action_groups"]
    assert groups == {"devices": [f"hccn.cluster.{name}" for name in DEVICES_GROUP]}

    documented = {
        module.stem
        for module in (COLLECTION / "plugins/modules").glob("*.py")
        if "hccn.cluster._attributes.devices_group" in documentation(module).get("extends_documentation_fragment", [])
    }
    assert sorted(documented) == DEVICES_GROUP


def test_every_skip_and_exception_has_a_name_a_reason_and_an_issue() -> None:
    register = yaml.safe_load(REGISTER.read_text())
    assert sorted(register) == ["exceptions", "skips"]
    entries = register["skips"] + register["exceptions"]
    assert [entry for entry in entries if sorted(entry) != ["issue", "name", "reason"]] == []
    assert [entry for entry in entries if len(entry["reason"].split()) < 4 or not isinstance(entry["issue"], int)] == []
    names = [entry["name"] for entry in entries]
    assert len(names) == len(set(names))


def test_what_ansible_test_is_told_to_ignore_is_registered() -> None:
    ignored = {line.split("#")[0].strip() for file in COLLECTION.glob("tests/sanity/ignore-*.txt") for line in file.read_text().splitlines()}
    registered = {entry["name"] for entry in yaml.safe_load(REGISTER.read_text())["exceptions"]}
    assert ignored - {""} - registered == set()


def test_the_simulator_imports_nothing_of_the_product() -> None:
    files = [path for path in SIMULATOR.rglob("*") if path.is_file() and not path.name.startswith(("test_", "conftest"))]
    programs = [path for path in files if path.suffix == ".py" or path.read_bytes().startswith(b"#!/usr/bin/env python3")]
    assert {"hccn_tool", "npu-smi"} <= {path.name for path in programs}
    assert [str(path.relative_to(SIMULATOR)) for path in programs if "ansible" in imports(path)] == []


def imports(path: Path) -> set[str]:
    """The first parts of all imported names; ``ansible`` stands for Ansible and for collections."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.append(node.module or "")
    return {"ansible" if name.startswith("ansible") else name.split(".")[0] for name in names}


def test_the_versions_stand_together() -> None:
    texts = [(ROOT / name).read_text() for name in ("requirements.txt", "requirements-clusterd.txt")]
    pins = dict(line.split("==") for text in texts for line in text.splitlines() if "==" in line)
    cores = yaml.safe_load((ROOT / "tests/versions.yml").read_text())["cores"]
    assert [core["release"] for core in cores if core.get("demo")] == [cores[0]["release"], pins["ansible-core"]]
    floor = ".".join(cores[0]["release"].split(".")[:2])
    assert yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text())["requires_ansible"] == f">={floor}.0"

    environment = yaml.safe_load((ROOT / "execution-environment.yml").read_text())["dependencies"]
    assert environment["ansible_core"]["package_pip"] == f"ansible-core=={pins['ansible-core']}"
    assert set(environment["python"]) == {f"{name}=={version}" for name, version in pins.items() if name != "ansible-core"}


def test_make_demo_lays_the_cluster_out_and_ends_with_the_report() -> None:
    recipe = (ROOT / "Makefile").read_text().split("\ndemo:")[1].split("\n\n")[0].splitlines()[1:]
    assert recipe[0] == "\tansible-playbook -i inventories/demo/hosts playbooks/demo.yml"
    assert recipe[-1].startswith('\t@echo "Report: ')


def test_texts_are_numbers_in_one_place() -> None:
    """str.isdigit and str.isdecimal like texts that int() refuses: module_utils/_core/numbers.py says what a number is."""
    plugins = COLLECTION / "plugins"
    found = [str(path.relative_to(plugins)) for folder in ("module_utils", "plugin_utils") for path in sorted((plugins / folder).rglob("*.py"))
             if re.search(r"\.is(digit|decimal|numeric)\(\)", path.read_text())]
    assert found == ["module_utils/_core/numbers.py"]
