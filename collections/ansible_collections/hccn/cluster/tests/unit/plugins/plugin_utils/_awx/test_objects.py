from __future__ import annotations

import pytest
import yaml

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._awx import data_file, jobs, objects

LEAST = {
    "prefix": "hccn", "organization": "Default", "project_url": "https://git.example/hccn.git", "project_branch": "main", "playbooks": "playbooks",
    "inventory_path": "inventories/site/hosts", "nightly_at": "02:00", "weekly_at": "03:00", "weekly_day": "SU", "timezone": "UTC", "schedules_enabled": True,
    "update_secrets": False, "notification_type": "webhook", "bring_up_slices": 1}
"""The settings that have a default or are required."""

SURVEY = {"name": "tls", "description": "", "spec": [{"variable": "tls_state"}, {"variable": "survey_tls_devices"}]}


def one(settings, variable, name, surveys=()):
    (found,) = [made for made in objects.objects({**LEAST, **settings}, dict(surveys))[variable] if made["name"] == name]
    return found


def test_kinds_without_an_object_are_missing():
    assert list(objects.objects(LEAST, {})) == [
        "controller_projects", "controller_inventories", "controller_inventory_sources", "controller_templates", "controller_workflows", "controller_schedules"]


@pytest.mark.parametrize(("settings", "credentials"), [
    ({}, None), ({"credentials": []}, []), ({"credentials": ["key"]}, ["key"]), ({"credential_inputs": {"username": "root"}}, ["hccn hosts"]),
    ({"credentials": ["vault"], "credential_inputs": {}, "history_path": "/h"}, ["vault", "hccn hosts", "hccn history"]),
])
def test_credentials_that_nobody_named_stay(settings, credentials):
    assert one(settings, "controller_templates", "hccn tls").get("credentials") == credentials


def test_credential_of_the_history_must_not_detach_others():
    with pytest.raises(InputError, match=r"^awx_history_path attaches a credential .*: name them in awx_credentials, or \[\] if there are none"):
        objects.objects({**LEAST, "history_path": "/h"}, {})


def test_template_converts_the_answers_of_its_survey():
    template = one({}, "controller_templates", "hccn tls", {"tls": SURVEY}.items())
    assert (template["survey_enabled"], template["survey_spec"]) == (True, SURVEY)
    assert template["extra_vars"] == {"tls_devices": "{{ survey_tls_devices | default('') | hccn.cluster.survey_value('tls_devices') }}"}
    assert (template["playbook"], template["job_slice_count"], template["allow_simultaneous"], template["ask_limit_on_launch"]) == (
        "playbooks/tls.yml", 1, False, False)
    plain = one({}, "controller_templates", "hccn rank_table")
    assert (plain["survey_enabled"], plain["survey_spec"], plain["extra_vars"]) == (False, {}, {})


def test_what_a_job_keeps_is_written_to_the_volume_of_the_history():
    assert one({"credentials": [], "history_path": "/srv/h"}, "controller_templates", "hccn adopt")["extra_vars"] == {
        "switch_upgrade_state_file": "/srv/h/switch_upgrade.json", "adopt_inventory": "/srv/h/adopted"}


def test_slices_of_bring_up_are_judged_as_one_run():
    settings = {"credentials": [], "history_path": "/h", "bring_up_slices": 4}
    assert [one(settings, "controller_templates", f"hccn {job}")["job_slice_count"] for job in ("bring_up", "check_fabric")] == [4, 1]
    nodes = {node["identifier"]: node for node in one(settings, "controller_workflows", "hccn from bare hosts to a proven fabric")["simplified_workflow_nodes"]}
    assert (nodes["bring_up"]["always_nodes"], nodes["conclude_bring_up"]["success_nodes"]) == (["conclude_bring_up"], ["rank_table"])
    assert (nodes["conclude_bring_up"]["unified_job_template"], nodes["conclude_bring_up"]["state"]) == ("hccn conclude_slices", "present")
    with pytest.raises(InputError, match="^awx_bring_up_slices needs awx_history_path"):
        objects.objects({**LEAST, "bring_up_slices": 4}, {})


def test_parts_of_the_fabric_are_measured_at_the_same_time_and_judged_as_one():
    settings = {"credentials": [], "history_path": "/h", "fabric_parts": ["pod1", "pod2"], "run_teams": ["operators"]}
    nodes = one(settings, "controller_workflows", "hccn fabric in parts")["simplified_workflow_nodes"]
    assert [(node["identifier"], node["unified_job_template"], node["extra_data"], node.get("all_parents_must_converge"), node.get("always_nodes"))
            for node in nodes] == [
        ("pod1", "hccn check_fabric", {"hccn_hosts": "pod1", "check_fabric_plan": "leaves"}, None, ["all hosts"]),
        ("pod2", "hccn check_fabric", {"hccn_hosts": "pod2", "check_fabric_plan": "leaves"}, None, ["all hosts"]),
        ("all hosts", "hccn check_fabric", {"check_fabric_plan": "quick"}, True, ["conclude"]),
        ("conclude", "hccn conclude_slices", {"conclude_slices_of": "check_fabric"}, None, None)]
    assert [one(settings, "controller_templates", f"hccn {job}")["allow_simultaneous"] for job in ("check_fabric", "bring_up")] == [True, False]
    workflows = ["hccn from bare hosts to a proven fabric", "hccn fabric in parts"]
    assert objects.objects({**LEAST, **settings}, {})["controller_roles"][0]["workflows"] == workflows
    assert [given["name"] for module, given in objects.removals(LEAST) if module == "workflow_job_template"] == workflows
    with pytest.raises(InputError, match="^awx_fabric_parts needs awx_history_path"):
        objects.objects({**LEAST, "fabric_parts": ["pod1"]}, {})


def test_lists_of_the_administrator_are_sent_only_if_given():
    template = one({}, "controller_templates", "hccn tls")
    assert {"labels", "instance_groups", "notification_templates_error"} & set(template) == set()
    given = one({"labels": ["npu"], "instance_groups": ["pods"], "notifications": ["pager"]}, "controller_templates", "hccn tls")
    assert (given["labels"], given["instance_groups"], given["notification_templates_error"]) == (["npu"], ["pods"], ["pager"])


@pytest.mark.parametrize(("update", "state"), [(False, "exists"), (True, "present")])
def test_secrets_of_a_notification_are_sent_again_on_request(update, state):
    settings = {"notification_configuration": {"url": "https://hooks.example"}, "update_secrets": update}
    assert one(settings, "controller_notifications", "hccn failures")["state"] == state


def test_schedules_are_a_daily_quick_and_a_weekly_full_check():
    made = {schedule["name"]: (schedule["rrule"], schedule["extra_data"]) for schedule in objects.objects(LEAST, {})["controller_schedules"]}
    assert made == {
        "hccn nightly quick check": ("DTSTART;TZID=UTC:20260101T020000 RRULE:FREQ=DAILY;INTERVAL=1", {"check_fabric_plan": "quick"}),
        "hccn weekly full check": ("DTSTART;TZID=UTC:20260101T030000 RRULE:FREQ=WEEKLY;INTERVAL=1;BYDAY=SU", {"check_fabric_plan": "full"})}


def test_roles_of_who_may_run_and_of_who_may_change():
    made = objects.objects({**LEAST, "run_teams": ["operators"], "run_users": [], "change_users": ["owner"]}, {})["controller_roles"]
    assert [(role["role"], role.get("teams"), role.get("users"), "projects" in role, len(role["job_templates"])) for role in made] == [
        ("execute", ["operators"], [], False, len(jobs.JOBS)), ("admin", None, ["owner"], True, len(jobs.JOBS))]
    assert "controller_roles" not in objects.objects({**LEAST, "run_teams": []}, {})


def test_nodes_are_created_from_the_last_one_to_the_first():
    called = [(module, options.get("identifier") or options["name"]) for module, options in objects.calls(objects.objects(LEAST, {}))]
    assert called[:3] == [("project", "hccn project"), ("inventory", "hccn hosts"), ("inventory_source", "hccn hosts")]
    workflow = called.index(("workflow_job_template", "hccn from bare hosts to a proven fabric"))
    nodes = ["report", "check_collective", "fabric_page", "check_fabric", "rank_table", "conclude_bring_up", "bring_up"]
    assert [name for _module, name in called[workflow + 1:workflow + 8]] == nodes
    assert [name for _module, name in called[workflow + 8:]] == ["hccn nightly quick check", "hccn weekly full check"]


def test_removal_names_everything_but_labels_and_roles():
    removed = list(objects.removals({**LEAST, "labels": ["npu"], "run_teams": ["operators"]}))
    assert {options["state"] for _module, options in removed} == {"absent"}
    assert list(dict.fromkeys(module for module, _options in removed)) == [
        "schedule", "workflow_job_template", "job_template", "notification_template", "credential", "credential_type", "inventory_source", "inventory",
        "project", "execution_environment"]
    assert [options for module, options in removed if module == "credential"][0] == {
        "name": "hccn hosts", "organization": "Default", "credential_type": "Machine", "state": "absent"}


def test_file_of_data_can_be_loaded_and_keeps_templates():
    settings = {**LEAST, "credentials": [], "history_path": "/h"}
    text = data_file.text(objects.objects(settings, {"tls": SURVEY}), settings)
    assert "!unsafe" in text and "&id" not in text
    yaml.SafeLoader.add_constructor("!unsafe", lambda loader, node: ("unsafe", loader.construct_scalar(node)))
    try:
        loaded = yaml.safe_load(text)
    finally:
        del yaml.SafeLoader.yaml_constructors["!unsafe"]
    assert loaded["controller_credential_types"][0]["injectors"] == {"env": {"HCCN_RESULTS_PATH": "{  { path }}"}}
    (template,) = [one for one in loaded["controller_templates"] if one["name"] == "hccn tls"]
    assert template["extra_vars"]["tls_devices"] == ("unsafe", "{{ survey_tls_devices | default('') | hccn.cluster.survey_value('tls_devices') }}")


def test_file_of_data_contains_no_secret():
    settings = {**LEAST, "credential_inputs": {"password": "geheim"}, "notification_configuration": {"url": "x"}}
    with pytest.raises(InputError, match="^awx_credential_inputs and awx_notification_configuration would be written to the file"):
        data_file.text(objects.objects(settings, {}), settings)
