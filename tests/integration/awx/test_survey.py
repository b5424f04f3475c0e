"""Surveys that are made from the argument specs of roles obey AWX's rules, and violations of the rules are detected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.hccn.cluster.plugins.plugin_utils._awx import jobs, questions, survey_rules
from tests.integration.awx.surveys import ROLES, survey
from tests.lib.playbook import recap, run_playbook
from tests.lib.project import ROOT

ASKING = [job["role"] for job in jobs.JOBS if "role" in job and "entry_point" not in job]


@pytest.mark.parametrize("role", ASKING)
def test_surveys_obey_the_rules_of_awx(role: str) -> None:
    assert survey_rules.breaches_of(survey(role)) == []


@pytest.mark.parametrize("role", ASKING)
def test_each_question_is_an_option_of_the_role(role: str) -> None:
    options = yaml.safe_load((ROLES / role / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    for question in survey(role)["spec"]:
        option = options[question["variable"].removeprefix("survey_")]
        assert question.get("choices") == (["true", "false"] if option["type"] == "bool" else option.get("choices"))
        assert question["required"] is option.get("required", False)
        if option["type"] in ("list", "dict"):
            continue
        default = option.get("default", "")
        assert question["default"] == (str(default).lower() if option["type"] == "bool" else default)


@pytest.mark.parametrize("role", ASKING)
def test_each_required_option_is_asked(role: str) -> None:
    options = yaml.safe_load((ROLES / role / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    required = {name for name, option in options.items() if option.get("required")}
    assert required - {question["variable"].removeprefix("survey_") for question in survey(role)["spec"]} == set()


def test_lists_and_dictionaries_are_asked_as_text() -> None:
    asked = {question["variable"]: question for role in ("check_fabric", "check_collective", "nic_switch") for question in survey(role)["spec"]}
    names = ("survey_check_fabric_devices", "survey_check_fabric_pairs", "check_collective_groups", "survey_check_collective_sizes", "survey_nic_switch_nics")
    shown = {name: (asked[name]["type"], asked[name]["default"], asked[name]["required"], asked[name]["question_description"].rpartition(". ")[2])
             for name in names}
    assert shown == {
        "survey_check_fabric_devices": ("textarea", "all", False, "One for each line."),
        "survey_check_fabric_pairs": ("textarea", "", False, "As YAML text."),
        "check_collective_groups": ("multiselect", "all", False, "For mpirun only."),
        "survey_check_collective_sizes": ("textarea", "", False, "As YAML text."),
        "survey_nic_switch_nics": ("textarea", "", True, "As YAML text.")}


NICS = "- node: node-a\n  devices: [0, 8]\n"
ANSWERS: dict[str, tuple[str, Any]] = {
    "check_fabric_devices": ("0-3\n\n 6 \n", ["0-3", "6"]),
    "check_fabric_pairs": ("- [npu1, npu2]\n- [npu1, npu3]", [["npu1", "npu2"], ["npu1", "npu3"]]),
    "check_collective_sizes": ("{begin: 8K, end: 1G, factor: 4}", {"begin": "8K", "end": "1G", "factor": 4}),
    "check_collective_environment": ("", {}), "rank_table_devices": ("", ["all"]),
    "nic_switch_nics": (NICS, [{"node": "node-a", "devices": [0, 8]}]), "hccn_clusterd": ("server: clusterd:8899", {"server": "clusterd:8899"}),
    "datadist_ready_clusters": ("- {id: 1, hosts: [npu1]}", [{"id": 1, "hosts": ["npu1"]}]),
    "switch_upgrade_topology": ("- {leaf: leaf1, nodes: [node-a]}", [{"leaf": "leaf1", "nodes": ["node-a"]}]),
}


def test_job_template_converts_the_answers(tmp_path: Path) -> None:
    roles = ("check_fabric", "check_collective", "rank_table", "nic_switch", "datadist_ready", "switch_upgrade")
    templates = {name: text for role in roles for name, text in questions.conversions(survey(role)).items()}
    answers = {f"survey_{name}": answer for name, (answer, _value) in ANSWERS.items()}
    tasks = [{"ansible.builtin.copy": {"content": "{{ found | to_json }}", "dest": str(tmp_path / "found.json"), "mode": "0600"},
              "vars": {"found": {name: f"{{{{ {name} }}}}" for name in ANSWERS}}}]
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    (tmp_path / "vars.json").write_text(json.dumps({**templates, **answers}))
    done = run_playbook(tmp_path / "play.yml", "localhost,", "-e", f"@{tmp_path / 'vars.json'}", "-e", "ansible_connection=local")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "found.json").read_text()) == {name: value for name, (_answer, value) in ANSWERS.items()}


def test_wrong_answers_end_the_job_before_a_host_is_contacted(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("[npu]\nn1 ansible_host=192.0.2.1\n")
    answers = {"survey_check_fabric_pairs": "- [npu1", "survey_check_collective_sizes": "8K to 64M"}
    surveys = [questions.conversions(survey(role)) for role in ("check_fabric", "check_collective")]
    templates = {**surveys[0], **surveys[1]}
    done = run_playbook("hccn.cluster.check_fabric", tmp_path / "hosts", "-e", json.dumps({**templates, **answers}))
    output = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2
    assert "the answer for check_collective_sizes is '8K to 64M', but must be YAML of a dictionary" in output
    assert "the answer for check_fabric_pairs is not valid YAML in line 1" in output
    assert "n1" not in recap(done.stdout)


def test_every_job_is_a_playbook_of_the_project() -> None:
    assert [job["name"] for job in jobs.JOBS if not (ROOT / f"playbooks/{job['name']}.yml").exists()] == []


@pytest.mark.parametrize(("change", "breach"), [
    ({"type": "choice"}, "unknown type choice"), ({"required": "no"}, "required is no boolean"), ({"variable": "a b"}, "the variable has a blank"),
    ({"type": "integer", "default": "5"}, "the default is of another type"), ({"type": "integer", "default": True}, "the default is of another type"),
    ({"type": "multiselect", "choices": ["a"], "default": ["a"]}, "the default is of another type"), ({"max": "9"}, "max is no integer"),
    ({"type": "float", "min": 0.5, "default": 1.0}, "min is no integer"), ({"type": "integer", "default": -1, "min": 0}, "the default is out of bounds"),
    ({"default": "0123456789"}, "the default is out of bounds"), ({"default": "$encrypted$"}, "$encrypted$ is AWX's own"),
    ({"type": "multiplechoice", "choices": ["a"], "default": "b"}, "the default is none of the choices"),
    ({"type": "multiselect", "choices": ["a"], "default": "a\nb"}, "the default is none of the choices"),
    ({"type": "multiplechoice", "choices": "a"}, "choices are no list of texts"),
])
def test_violations_in_a_question_are_detected(change: dict[str, Any], breach: str) -> None:
    question = {"type": "text", "question_name": "Plan", "variable": "plan", "required": False, "default": "quick", "max": 9} | change
    assert breach in survey_rules.question_breaches(question)


@pytest.mark.parametrize(("made", "breaches"), [
    ({}, ["survey: name is no text", "survey: description is no text", "survey: spec is no list of questions"]),
    ({"name": "", "description": "", "spec": []}, ["survey: spec is no list of questions"]),
    ({"name": "", "description": "", "spec": [{"type": "text", "question_name": "A", "variable": "a", "required": True}] * 2}, ["a: asked twice"]),
])
def test_violations_in_a_survey_are_detected(made: dict[str, Any], breaches: list[str]) -> None:
    assert survey_rules.breaches_of(made) == breaches


def test_optional_options_without_default_and_variables_of_the_inventory_are_left_out() -> None:
    options = {
        "a": {"type": "list", "default": []}, "b": {"type": "bool", "default": True, "description": "Take V(true), see C(x)."},
        "c": {"type": "int", "required": True}, "d": {"default": "{{ x }}"}, "e": {"choices": [1, 2], "default": 1}, "f": {"type": "str"},
        "g": {"type": "int", "default": 5}, "h": {"type": "str", "default": "the inventory's"},
    }
    spec = {"argument_specs": {"main": {"short_description": "Short", "options": options}}}
    asked = questions.survey_of(spec, leave_out=["h"])["spec"]
    assert [(question["variable"], question["type"], question["default"], question.get("choices")) for question in asked] == [
        ("survey_a", "textarea", "", None), ("b", "multiplechoice", "true", ["true", "false"]), ("c", "integer", "", None), ("d", "text", "", None),
        ("e", "multiplechoice", "1", ["1", "2"]),
        ("g", "integer", 5, None)]
    assert asked[1]["question_description"] == "Take true, see x."
    assert (asked[5]["min"], asked[5]["max"]) == (0, 2**31 - 1)


def test_survey_without_questions_is_omitted() -> None:
    everything = [question["variable"] for question in survey("tls")["spec"]]
    assert questions.surveys_of([{"name": "tls", "role": "tls"}, {"name": "site"}], ROLES, everything) == {}
