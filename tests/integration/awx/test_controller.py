"""Run roles/awx twice on a stand-in for AWX's API: the first run makes everything, the second changes nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.awx.collection import PLACE
from tests.integration.awx.controller import Controller
from tests.integration.awx.surveys import jobs
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
}
WORKFLOW = "hccn from bare hosts to a proven fabric"
NAMES = {f"hccn {job['name']}" for job in jobs()}


@dataclass
class Runs:
    controller: Controller
    folder: Path
    first: subprocess.CompletedProcess[str]
    second: subprocess.CompletedProcess[str]
    changes_of_second: list[tuple[str, str]]


def play(folder: Path, url: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    """Run the playbook awx.yml. A variable that is None is not set."""
    (folder / "hosts").write_text(INVENTORY)
    (folder / "vars.json").write_text(json.dumps({name: value for name, value in (VARIABLES | variables).items() if value is not None}))
    path = os.pathsep.join([str(ROOT / "collections"), str(PLACE)])
    return run_playbook(ROOT / "playbooks/awx.yml", folder / "hosts", "-e", f"@{folder}/vars.json", cwd=folder, ANSIBLE_COLLECTIONS_PATH=path,
                        ANSIBLE_ROLES_PATH=str(ROOT / "roles"), HOME=str(folder), CONTROLLER_HOST=url, ANSIBLE_PIPELINING="true",
                        CONTROLLER_OAUTH_TOKEN=Controller.token)


def changed(done: subprocess.CompletedProcess[str]) -> int:
    return int(re.findall(r"changed=(\d+)", done.stdout)[-1])


def stand_in() -> Controller:
    """Return a stand-in for AWX. The test is skipped if the collection awx.awx is missing."""
    if not (PLACE / "ansible_collections/awx/awx/MANIFEST.json").exists():
        skip("awx-collection")
    return Controller()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    folder, controller = tmp_path_factory.mktemp("awx_role"), stand_in()
    first = play(folder, controller.url)
    before = len(controller.changes)
    second = play(folder, controller.url)
    yield Runs(controller, folder, first, second, controller.changes[before:])
    controller.close()


def test_first_run_makes_everything_and_second_changes_nothing(runs: Runs) -> None:
    assert runs.first.returncode == 0, runs.first.stdout + runs.first.stderr
    assert changed(runs.first) == 12
    assert runs.second.returncode == 0, runs.second.stdout + runs.second.stderr
    assert changed(runs.second) == 0
    assert runs.changes_of_second == []


def test_every_job_has_a_template(runs: Runs) -> None:
    templates = runs.controller.named("job_templates")
    assert set(templates) == NAMES
    for name, template in templates.items():
        assert template["playbook"] == f"playbooks/{name.removeprefix('hccn ')}.yml"
        assert (template["allow_simultaneous"], template["job_slice_count"], template["ask_variables_on_launch"]) == (False, 1, True)
        assert runs.controller.linked_names("job_templates", name, "credentials") == ["hccn history", "hccn hosts"]
        assert runs.controller.linked_names("job_templates", name, "notification_templates_error") == ["hccn failures"]
    assert [name for name, template in templates.items() if template["ask_limit_on_launch"]] == []
    assert json.loads(templates["hccn tls"]["extra_vars"]) == {"switch_upgrade_state_file": "/srv/hccn/history/switch_upgrade.json"}
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


def test_workflow_reports_whatever_a_check_finds(runs: Runs) -> None:
    controller = runs.controller
    followers = {name: {part: names for part in ("success_nodes", "always_nodes")
                        if (names := controller.linked_names("workflow_job_template_nodes", name, part))}
                 for name in controller.named("workflow_job_template_nodes")}
    assert followers == {
        "bring_up": {"success_nodes": ["rank_table"]}, "rank_table": {"success_nodes": ["check_fabric"]},
        "check_fabric": {"always_nodes": ["fabric_page"]}, "fabric_page": {"success_nodes": ["check_collective"]},
        "check_collective": {"always_nodes": ["report"]}, "report": {}}
    nodes = controller.named("workflow_job_template_nodes")
    assert nodes["report"]["extra_data"] == {"report_fail_on": "failed", "report_after": "check_collective"}
    assert nodes["fabric_page"]["extra_data"] == {"report_fail_on": "failed", "report_after": "check_fabric"}
    assert {node["workflow_job_template"] for node in nodes.values()} == {controller.named("workflow_job_templates")[WORKFLOW]["id"]}


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


def test_existing_credentials_are_attached_and_stay_attached(controller: Controller, tmp_path: Path) -> None:
    """The role attaches a credential that an administrator made. A later run that names none leaves it attached."""
    machine = next(iter(controller.objects["credential_types"]))
    made = controller.answer("POST", "/api/v2/credentials/", {"name": "root on all NPU hosts", "credential_type": machine}, f"Bearer {Controller.token}")[1]
    named = play(tmp_path, controller.url, awx_credential_inputs=None, awx_credentials=["root on all NPU hosts"])
    assert named.returncode == 0, named.stdout + named.stderr
    assert set(controller.named("credentials")) == {"root on all NPU hosts", "hccn history"}
    linked = {name: controller.linked_names("job_templates", name, "credentials") for name in NAMES}
    assert linked == dict.fromkeys(NAMES, ["hccn history", "root on all NPU hosts"])

    before = len(controller.changes)
    refused = play(tmp_path, controller.url, awx_credential_inputs=None)
    assert refused.returncode == 2
    assert "name them in awx_credentials, or [] if there are none. Nothing was changed." in " ".join(refused.stdout.split())
    assert controller.changes[before:] == []

    silent = play(tmp_path, controller.url, awx_credential_inputs=None, awx_history_path=None)
    assert silent.returncode == 0, silent.stdout + silent.stderr
    assert [path for _method, path in controller.changes[before:] if path.endswith("/credentials/")] == []
    assert controller.linked_names("job_templates", "hccn tls", "credentials") == ["hccn history", "root on all NPU hosts"]
    assert made["id"] in controller.objects["credentials"]


def test_missing_collection_is_named(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(INVENTORY)
    done = run_playbook(ROOT / "playbooks/awx.yml", tmp_path / "hosts", "-e", "awx_project_url=x", cwd=tmp_path, ANSIBLE_ROLES_PATH=str(ROOT / "roles"),
                        HOME=str(tmp_path))
    assert done.returncode == 2
    assert "The collection awx.awx is not installed: ansible-galaxy collection install awx.awx" in done.stdout.replace("\n", " ").replace("  ", " ")
