"""Surveys that are made from the argument specs of roles obey AWX's rules, and violations of the rules are detected."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.integration.awx.surveys import ROLES, jobs, plugin, survey
from tests.lib.project import ROOT

ASKING = [job["role"] for job in jobs() if "role" in job]


@pytest.mark.parametrize("role", ASKING)
def test_surveys_obey_the_rules_of_awx(role: str) -> None:
    assert plugin("awx_survey_rules").awx_survey_breaches(survey(role)) == []


@pytest.mark.parametrize("role", ASKING)
def test_each_question_is_an_option_of_the_role(role: str) -> None:
    options = yaml.safe_load((ROLES / role / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    for question in survey(role)["spec"]:
        option = options[question["variable"]]
        assert question.get("choices") == (["true", "false"] if option["type"] == "bool" else option.get("choices"))
        default = option.get("default", "")
        assert question["default"] == (str(default).lower() if option["type"] == "bool" else default)
        assert question["required"] is option.get("required", False)


def test_every_job_is_a_playbook_of_the_project() -> None:
    assert [job["name"] for job in jobs() if not (ROOT / f"playbooks/{job['name']}.yml").exists()] == []


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
    assert breach in plugin("awx_survey_rules").question_breaches(question)


@pytest.mark.parametrize(("made", "breaches"), [
    ({}, ["survey: name is no text", "survey: description is no text", "survey: spec is no list of questions"]),
    ({"name": "", "description": "", "spec": []}, ["survey: spec is no list of questions"]),
    ({"name": "", "description": "", "spec": [{"type": "text", "question_name": "A", "variable": "a", "required": True}] * 2}, ["a: asked twice"]),
])
def test_violations_in_a_survey_are_detected(made: dict[str, Any], breaches: list[str]) -> None:
    assert plugin("awx_survey_rules").awx_survey_breaches(made) == breaches


def test_unsupported_options_and_variables_of_the_inventory_are_left_out() -> None:
    options = {
        "a": {"type": "list", "default": []}, "b": {"type": "bool", "default": True, "description": "Take V(true), see C(x)."},
        "c": {"type": "int", "required": True}, "d": {"default": "{{ x }}"}, "e": {"choices": [1, 2], "default": 1}, "f": {"type": "str"},
        "g": {"type": "int", "default": 5}, "h": {"type": "str", "default": "the inventory's"},
    }
    spec = {"argument_specs": {"main": {"short_description": "Short", "options": options}}}
    questions = plugin("awx_survey").awx_survey(spec, leave_out=["h"])["spec"]
    assert [(question["variable"], question["type"], question["default"], question.get("choices")) for question in questions] == [
        ("b", "multiplechoice", "true", ["true", "false"]), ("c", "integer", "", None), ("d", "text", "", None), ("e", "multiplechoice", "1", ["1", "2"]),
        ("g", "integer", 5, None)]
    assert questions[0]["question_description"] == "Take true, see x."
    assert (questions[4]["min"], questions[4]["max"]) == (0, 2**31 - 1)


def test_survey_without_questions_is_omitted() -> None:
    everything = [question["variable"] for question in survey("tls")["spec"]]
    assert plugin("awx_survey").awx_surveys([{"name": "tls", "role": "tls"}, {"name": "site"}], str(ROLES), everything) == {}
