# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The committed surveys are those of the roles' argument specs, and keep AWX's rules."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest
import yaml

from tests.support import COLLECTION, ROOT

ROLES = ["check_fabric"]
AWX_TYPES = {"text", "textarea", "password", "multiplechoice", "multiselect", "integer", "float"}


def generator() -> Any:
    path = ROOT / "roles/awx/filter_plugins/awx_survey.py"
    spec = importlib.util.spec_from_file_location("awx_survey", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.awx_survey


def committed(role: str) -> dict[str, Any]:
    return json.loads((ROOT / f"roles/awx/files/surveys/{role}.json").read_text())


def violations(survey: dict[str, Any]) -> list[str]:
    """AWX's own rules for a survey (its API refuses everything else)."""
    found = [f"survey: {key} missing" for key in ("name", "description", "spec") if key not in survey]
    variables = [question.get("variable") for question in survey["spec"]]
    found += [f"{variable}: twice" for variable in set(variables) if variables.count(variable) > 1]
    for question in survey["spec"]:
        found += [f"{question.get('variable')}: {text}" for text in question_violations(question)]
    return found


def question_violations(question: dict[str, Any]) -> list[str]:
    found = [f"{key} missing" for key in ("type", "question_name", "variable", "required") if key not in question]
    if question.get("type") not in AWX_TYPES:
        return [*found, f"unknown type {question.get('type')}"]
    if not isinstance(question.get("required"), bool):
        found.append("required is no boolean")
    if any(character.isspace() for character in question.get("variable", " ")):
        found.append("variable with a blank")
    default = question.get("default", "")
    numeric = {"integer": int, "float": (int, float)}.get(question["type"])
    if default != "" and not isinstance(default, numeric or str):
        found.append("default of another type")
    for bound in ("min", "max"):
        if bound in question and not isinstance(question[bound], int):
            found.append(f"{bound} is no integer")
    if question["type"] in ("multiplechoice", "multiselect"):
        choices = question.get("choices")
        if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
            found.append("choices are no list of strings")
        elif default != "" and default not in choices:
            found.append("default is none of the choices")
    return found


@pytest.mark.parametrize("role", ROLES)
def test_the_survey_is_that_of_the_role(role: str) -> None:
    specs = yaml.safe_load((COLLECTION / f"roles/{role}/meta/argument_specs.yml").read_text())
    assert committed(role) == generator()(specs), "make surveys writes it anew"


@pytest.mark.parametrize("role", ROLES)
def test_the_survey_keeps_awx_rules(role: str) -> None:
    assert violations(committed(role)) == []


@pytest.mark.parametrize(("change", "violation"), [
    ({"type": "choice"}, "unknown type choice"), ({"required": "no"}, "required is no boolean"), ({"variable": "a b"}, "variable with a blank"),
    ({"type": "integer", "default": "5"}, "default of another type"), ({"max": "9"}, "max is no integer"),
    ({"type": "multiplechoice", "choices": ["a"], "default": "b"}, "default is none of the choices"),
    ({"type": "multiplechoice", "choices": "a"}, "choices are no list of strings"),
])
def test_the_rules_find_a_breach(change: dict[str, Any], violation: str) -> None:
    question = {"type": "text", "question_name": "Plan", "variable": "plan", "required": False, "default": "quick", "max": 9} | change
    assert violation in question_violations(question)


def test_what_awx_cannot_ask_is_left_out() -> None:
    options = {
        "a": {"type": "list", "default": []}, "b": {"type": "bool", "default": True, "description": "Take V(true), see C(x)."},
        "c": {"type": "int", "required": True}, "d": {"default": "{{ x }}"}, "e": {"choices": [1, 2], "default": 1}, "f": {"type": "str"},
    }
    spec = {"argument_specs": {"main": {"short_description": "Short", "options": options}}}
    asked = generator()(spec)["spec"]
    assert [(question["variable"], question["type"], question["default"], question.get("choices")) for question in asked] == [
        ("b", "multiplechoice", "true", ["true", "false"]), ("c", "integer", "", None), ("d", "text", "", None), ("e", "multiplechoice", "1", ["1", "2"])]
    assert asked[0]["question_description"] == "Take true, see x."
