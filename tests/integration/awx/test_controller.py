"""Run the role awx twice on a stand-in for AWX's API: the first run makes everything, the second changes nothing, and a third removes only that."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.awx.collection import PLACE
from tests.integration.awx.controller import Controller
from ansible_collections.hccn.cluster.plugins.plugin_utils._awx import objects
from ansible_collections.hccn.cluster.plugins.plugin_utils._awx.jobs import JOBS
from tests.lib.playbook import run_playbook
from tests.lib.project import ROOT, skip

INVENTORY = """
npu:
  hosts:
    n1: {check_fabric_control_address: 192.0.2.1}
    n2:
  vars: {check_fabric_state_dir: /data/hccn, bring_up_tls_state: disabled}
"""
VARIABLES = {
    "awx_project_url": "https://git.example/hccn.git", "awx_inventory_path": "inventories/site/hosts", "awx_image": "registry.example/hccn-ee:1",
    "awx_history_path": "/srv/hccn/history", "awx_credential_inputs": {"username": "root", "ssh_key_data": "-----BEGIN"}, "awx_timezone": "Asia/Shanghai",
    "awx_notification_configuration": {"url": "https://hooks.example/x", "password": "geheim"},
    "awx_image_pull": "always", "awx_registry_credential": "registry", "awx_instance_groups": ["npu pods"], "awx_labels": ["npu"],
    "awx_run_teams": ["operators"], "awx_run_users": ["night"], "awx_change_teams": ["owners"], "awx_fabric_parts": ["pod1", "pod2"],
}
ONLY_PROJECT = {name: None for name in VARIABLES if name != "awx_project_url"}
"""Unsets all variables but that of the project, which is enough to remove everything."""
NO_CERTIFICATES = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": os.devnull}
"""The stand-in has no TLS, but Ansible loads the certificates of the system for each request, which takes three times as long as the request."""
ADMINISTRATOR = (("credentials", {"name": "registry"}), ("credentials", {"name": "vault"}), ("instance_groups", {"name": "npu pods"}),
                 ("teams", {"name": "operators"}), ("teams", {"name": "owners"}), ("users", {"username": "night"}), ("job_templates", {"name": "hccn backup"}),
                 ("notification_templates", {"name": "pager"}))
"""What an administrator made. The templates of the role refer to some of it."""
WORKFLOW, PARTS_WORKFLOW = "hccn from bare hosts to a proven fabric", "hccn fabric in parts"
NAMES = {f"hccn {job['name']}" for job in JOBS}


@dataclass
class Runs:
    controller: Controller
    folder: Path
    first: subprocess.CompletedProcess[str]
    second: subprocess.CompletedProcess[str]
    changes_of_second: list[tuple[str, str]]


def administrated() -> Controller:
    controller = stand_in()
    machine = next(iter(controller.objects["credential_types"]))
    organization = next(iter(controller.objects["organizations"]))
    for kind, fields in ADMINISTRATOR:
        controller.add(kind, **{"organization": organization}, **({"credential_type": machine} if kind == "credentials" else {}), **fields)
    return controller


def play(folder: Path, url: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    """Run the playbook awx.yml. A variable that is None is not set."""
    (folder / "hosts").write_text(INVENTORY)
    (folder / "vars.json").write_text(json.dumps({name: value for name, value in (VARIABLES | variables).items() if value is not None}))
    path = os.pathsep.join([str(ROOT / "collections"), str(PLACE)])
    return run_playbook(ROOT / "playbooks/awx.yml", folder / "hosts", "-e", f"@{folder}/vars.json", cwd=folder, ANSIBLE_COLLECTIONS_PATH=path,
                        ANSIBLE_ROLES_PATH=str(ROOT / "roles"), HOME=str(folder), CONTROLLER_HOST=url, ANSIBLE_PIPELINING="true",
                        CONTROLLER_OAUTH_TOKEN=Controller.token, **NO_CERTIFICATES)


def changed(done: subprocess.CompletedProcess[str]) -> int:
    return int(re.findall(r"changed=(\d+)", done.stdout)[-1])


def stand_in() -> Controller:
    """Return a stand-in for AWX. The test is skipped if the collection awx.awx is missing."""
    if not (PLACE / "ansible_collections/awx/awx/MANIFEST.json").exists():
        skip("awx-collection")
    return Controller()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    folder, controller = tmp_path_factory.mktemp("awx_role"), administrated()
    first = play(folder, controller.url)
    before = len(controller.changes)
    second = play(folder, controller.url)
    yield Runs(controller, folder, first, second, controller.changes[before:])
    controller.close()


def test_first_run_makes_everything_and_second_changes_nothing(runs: Runs) -> None:
    assert runs.first.returncode == 0, runs.first.stdout + runs.first.stderr
    assert "job_template hccn check_fabric" in runs.first.stdout.splitlines()
    assert changed(runs.first) == 1
    assert runs.second.returncode == 0, runs.second.stdout + runs.second.stderr
    assert changed(runs.second) == 0
    assert runs.changes_of_second == []


def test_every_job_has_a_template(runs: Runs) -> None:
    templates = runs.controller.named("job_templates")
    assert set(templates) == NAMES | {"hccn backup"}
    del templates["hccn backup"]
    for name, template in templates.items():
        assert template["playbook"] == f"playbooks/{name.removeprefix('hccn ')}.yml"
        parts = name == "hccn check_fabric"  # those of the fabric are measured at the same time
        assert (template["allow_simultaneous"], template["job_slice_count"], template["ask_variables_on_launch"]) == (parts, 1, True)
        assert runs.controller.linked_names("job_templates", name, "credentials") == ["hccn history", "hccn hosts"]
        assert runs.controller.linked_names("job_templates", name, "notification_templates_error") == ["hccn failures"]
        assert runs.controller.linked_names("job_templates", name, "labels") == ["npu"]
        assert runs.controller.linked_names("job_templates", name, "instance_groups") == ["npu pods"]
        assert runs.controller.may("job_templates", name) == {"execute_role": ["night", "operators"], "admin_role": ["owners"]}
    assert [name for name, template in templates.items() if template["ask_limit_on_launch"]] == []
    assert json.loads(templates["hccn tls"]["extra_vars"]) == {
        "switch_upgrade_state_file": "/srv/hccn/history/switch_upgrade.json", "adopt_inventory": "/srv/hccn/history/adopted"}
    assert json.loads(templates["hccn check_fabric"]["extra_vars"])["check_fabric_devices"] == (
        "{{ survey_check_fabric_devices | default('') | hccn.cluster.survey_value('check_fabric_devices') }}")


def test_survey_does_not_ask_for_variables_of_the_inventory(runs: Runs) -> None:
    template = runs.controller.named("job_templates")["hccn check_fabric"]
    variables = {question["variable"] for question in runs.controller.surveys[template["id"]]["spec"]}
    assert {"check_fabric_plan", "check_fabric_control_port"} <= variables
    assert variables & {"check_fabric_state_dir", "check_fabric_control_address"} == set()
    assert {"hccn_hosts", "hccn_fail_on"} <= variables
    quarantine = runs.controller.surveys[runs.controller.named("job_templates")["hccn quarantine"]["id"]]["spec"]
    assert [(question["variable"], question["required"], question["default"]) for question in quarantine] == [
        ("quarantine_host", True, ""), ("quarantine_state", False, "out"), ("quarantine_reason", False, "its link is bad")]
    site = runs.controller.named("job_templates")["hccn site"]
    questions = {question["variable"]: question for question in runs.controller.surveys[site["id"]]["spec"]}
    assert (site["survey_enabled"], list(questions)) == (True, ["hccn_hosts", "hccn_fail_on"])
    assert (questions["hccn_hosts"]["default"], questions["hccn_fail_on"]["choices"], questions["hccn_fail_on"]["default"]) == (
        "npu", ["never", "failed", "slow", "any"], "slow")


def nodes_of(controller: Controller, workflow: str) -> dict[str, dict[str, Any]]:
    number = controller.named("workflow_job_templates")[workflow]["id"]
    return {name: node for name, node in controller.named("workflow_job_template_nodes").items() if node["workflow_job_template"] == number}


def followers(controller: Controller, nodes: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    """Return which nodes follow each node, after its success or in any case."""
    return {name: {part: names for part in ("success_nodes", "always_nodes")
                   if (names := controller.linked_names("workflow_job_template_nodes", name, part))} for name in nodes}


def test_workflow_reports_whatever_a_check_finds(runs: Runs) -> None:
    nodes = nodes_of(runs.controller, WORKFLOW)
    assert followers(runs.controller, nodes) == {
        "bring_up": {"success_nodes": ["rank_table"]}, "rank_table": {"success_nodes": ["check_fabric"]},
        "check_fabric": {"always_nodes": ["fabric_page"]}, "fabric_page": {"success_nodes": ["check_collective"]},
        "check_collective": {"always_nodes": ["report"]}, "report": {}}
    assert nodes["report"]["extra_data"] == {"report_fail_on": "failed", "report_after": "check_collective"}
    assert nodes["fabric_page"]["extra_data"] == {"report_fail_on": "failed", "report_after": "check_fabric"}


def test_all_parts_of_the_fabric_are_measured_before_all_hosts(runs: Runs) -> None:
    """Both parts start at once. The verdict is made over all three runs, whatever they found."""
    nodes = nodes_of(runs.controller, PARTS_WORKFLOW)
    assert followers(runs.controller, nodes) == {
        "pod1": {"always_nodes": ["all hosts"]}, "pod2": {"always_nodes": ["all hosts"]}, "all hosts": {"always_nodes": ["conclude"]}, "conclude": {}}
    assert {name: node["extra_data"] for name, node in nodes.items()} == {
        "pod1": {"hccn_hosts": "pod1", "check_fabric_plan": "leaves"}, "pod2": {"hccn_hosts": "pod2", "check_fabric_plan": "leaves"},
        "all hosts": {"check_fabric_plan": "quick"}, "conclude": {"conclude_slices_of": "check_fabric"}}
    assert [name for name, node in nodes.items() if node.get("all_parents_must_converge")] == ["all hosts"]


def test_environment_is_pulled_with_a_credential(runs: Runs) -> None:
    environment = runs.controller.named("execution_environments")["hccn environment"]
    assert (environment["image"], environment["pull"], environment["credential"]) == (
        "registry.example/hccn-ee:1", "always", runs.controller.named("credentials")["registry"]["id"])


def test_roles_of_workflow_project_and_inventory(runs: Runs) -> None:
    controller = runs.controller
    assert controller.may("workflow_job_templates", WORKFLOW) == {"execute_role": ["night", "operators"], "admin_role": ["owners"]}
    assert controller.may("projects", "hccn project") == controller.may("inventories", "hccn hosts") == {"admin_role": ["owners"]}


def test_schedules(runs: Runs) -> None:
    schedules = runs.controller.named("schedules")
    assert {name: (schedule["rrule"], schedule["extra_data"], schedule["enabled"]) for name, schedule in schedules.items()} == {
        "hccn nightly quick check": (
            "DTSTART;TZID=Asia/Shanghai:20260101T020000 RRULE:FREQ=DAILY;INTERVAL=1", {"check_fabric_plan": "quick"}, True),
        "hccn weekly full check": (
            "DTSTART;TZID=Asia/Shanghai:20260101T040000 RRULE:FREQ=WEEKLY;INTERVAL=1;BYDAY=SU", {"check_fabric_plan": "full"}, True)}


def test_project_inventory_and_history(runs: Runs) -> None:
    controller = runs.controller
    project = controller.named("projects")["hccn project"]
    assert (project["scm_url"], project["scm_branch"]) == ("https://git.example/hccn.git", "main")
    source = controller.named("inventory_sources")["hccn hosts"]
    assert (source["source_path"], source["source_project"], source["overwrite_vars"]) == ("inventories/site/hosts", project["id"], True)
    kind = controller.named("credential_types")["hccn history"]
    assert kind["injectors"] == {"env": {"HCCN_RESULTS_PATH": "{{ path }}"}}
    assert controller.named("credentials")["hccn history"]["inputs"] == {"path": "/srv/hccn/history"}


@pytest.fixture
def controller() -> Iterator[Controller]:
    made = stand_in()
    yield made
    made.close()


@pytest.mark.long
def test_what_was_attached_by_hand_stays(controller: Controller, tmp_path: Path) -> None:
    """The role attaches a credential and a notification that an administrator made. A later run that names none leaves them attached."""
    machine = next(iter(controller.objects["credential_types"]))
    made = controller.add("credentials", name="root on all NPU hosts", credential_type=machine)
    controller.add("notification_templates", name="pager", organization=next(iter(controller.objects["organizations"])))
    unset = {name: None for name in VARIABLES if name not in ("awx_project_url", "awx_history_path")}
    named = play(tmp_path, controller.url, **unset, awx_credentials=["root on all NPU hosts"], awx_notifications=["pager"])
    assert named.returncode == 0, named.stdout + named.stderr
    assert set(controller.named("credentials")) == {"root on all NPU hosts", "hccn history"}
    linked = {name: controller.linked_names("job_templates", name, "credentials") for name in NAMES}
    assert linked == dict.fromkeys(NAMES, ["hccn history", "root on all NPU hosts"])

    before = len(controller.changes)
    refused = play(tmp_path, controller.url, **unset)
    assert refused.returncode == 2
    assert "name them in awx_credentials, or [] if there are none. Nothing was changed" in " ".join(refused.stdout.split())
    assert controller.changes[before:] == []

    silent = play(tmp_path, controller.url, **unset, awx_history_path=None)
    assert silent.returncode == 0, silent.stdout + silent.stderr
    assert controller.linked_names("job_templates", "hccn tls", "credentials") == ["hccn history", "root on all NPU hosts"]
    assert controller.linked_names("job_templates", "hccn tls", "notification_templates_error") == ["pager"]
    assert made["id"] in controller.objects["credentials"]

    removed, again = (play(tmp_path, controller.url, **ONLY_PROJECT, awx_state="absent") for _time in range(2))
    assert (removed.returncode, changed(removed), again.returncode, changed(again)) == (0, 1, 0, 0), removed.stdout + again.stdout
    assert set(controller.named("credentials")) == {"root on all NPU hosts"}


def test_removal_takes_only_what_the_role_made(runs: Runs) -> None:
    """Last, since it removes what the other tests look at. The settings with which the objects were created need not be given again."""
    removed = play(runs.folder, runs.controller.url, **ONLY_PROJECT, awx_state="absent")
    assert removed.returncode == 0, removed.stdout + removed.stderr
    left = {kind: set(runs.controller.named(kind)) for kind in runs.controller.objects if runs.controller.objects[kind]}
    assert left == {
        "organizations": {"Default"}, "credential_types": {"Machine"}, "credentials": {"registry", "vault"}, "instance_groups": {"npu pods"},
        "teams": {"operators", "owners"}, "users": {"night"}, "job_templates": {"hccn backup"}, "notification_templates": {"pager"}, "labels": {"npu"}}


def options_of(module: str) -> set[str]:
    """Return the options of a module of awx.awx, without those that name the server."""
    text = (PLACE / f"ansible_collections/awx/awx/plugins/modules/{module}.py").read_text()
    return set(yaml.safe_load(re.findall(r"DOCUMENTATION = '''(.*?)'''", text, re.DOTALL)[0])["options"])


def test_data_has_the_form_of_aap_configuration(tmp_path: Path) -> None:
    """The roles of infra.aap_configuration pass each element to the module of its kind. They join the braces of injectors; Ansible must not evaluate others."""
    if not (PLACE / "ansible_collections/awx/awx/MANIFEST.json").exists():
        skip("awx-collection")
    settings = {"awx_credential_inputs": None, "awx_notification_configuration": None, "awx_credentials": ["npu hosts"], "awx_notifications": ["pager"],
                "awx_fabric_parts": ["pod1", "pod2"], "awx_state": "data", "awx_data_path": str(tmp_path / "controller.yml")}
    done = play(tmp_path, "http://127.0.0.1:9", **settings)
    assert (done.returncode, changed(done)) == (0, 1), done.stdout + done.stderr
    assert changed(play(tmp_path, "http://127.0.0.1:9", **settings)) == 0

    (tmp_path / "read.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [
        {"ansible.builtin.copy": {"content": "{{ data | to_json }}", "dest": str(tmp_path / "data.json"), "mode": "0600"},
         "vars": {"data": {kind.variable: f"{{{{ {kind.variable} | default([]) }}}}" for kind in objects.KINDS}}}]}]))
    read = run_playbook(tmp_path / "read.yml", "localhost,", "-e", f"@{tmp_path / 'controller.yml'}", "-e", "ansible_connection=local")
    assert read.returncode == 0, read.stdout + read.stderr
    data = json.loads((tmp_path / "data.json").read_text())
    unknown = {f"{kind.variable}: {key}" for kind in objects.KINDS for one in data[kind.variable]
               for key in set(one) - options_of(kind.module) - {objects.NODES}}
    assert unknown == set()
    assert {key for one in data["controller_workflows"] for node in one[objects.NODES] for key in node} <= options_of("workflow_job_template_node")
    assert {kind: len(found) for kind, found in data.items()} == {
        "controller_labels": 1, "controller_execution_environments": 1, "controller_projects": 1, "controller_inventories": 1,
        "controller_inventory_sources": 1, "controller_credential_types": 1, "controller_credentials": 1, "controller_notifications": 0,
        "controller_templates": len(NAMES), "controller_workflows": 2, "controller_schedules": 2, "controller_roles": 2}
    assert data["controller_credential_types"][0]["injectors"] == {"env": {"HCCN_RESULTS_PATH": "{  { path }}"}}
    fabric = next(one for one in data["controller_templates"] if one["name"] == "hccn check_fabric")
    assert fabric["extra_vars"]["check_fabric_devices"] == "{{ survey_check_fabric_devices | default('') | hccn.cluster.survey_value('check_fabric_devices') }}"
    assert (fabric["credentials"], fabric["notification_templates_error"]) == (["npu hosts", "hccn history"], ["pager"])


def test_data_with_secrets_is_refused(tmp_path: Path) -> None:
    done = play(tmp_path, "http://127.0.0.1:9", awx_state="data", awx_data_path=str(tmp_path / "controller.yml"))
    assert done.returncode == 2
    assert "awx_credential_inputs and awx_notification_configuration would be written to the file with the secrets in them" in " ".join(done.stdout.split())
    assert not (tmp_path / "controller.yml").exists()


def test_missing_collection_is_named(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(INVENTORY)
    done = run_playbook(ROOT / "playbooks/awx.yml", tmp_path / "hosts", "-e", "awx_project_url=x", cwd=tmp_path, ANSIBLE_ROLES_PATH=str(ROOT / "roles"),
                        HOME=str(tmp_path))
    assert done.returncode == 2
    assert "The collection awx.awx is not installed: ansible-galaxy collection install awx.awx" in done.stdout.replace("\n", " ").replace("  ", " ")
