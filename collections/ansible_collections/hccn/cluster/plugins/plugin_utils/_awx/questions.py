# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The surveys of AWX job templates, made from the argument specs of the roles."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from .._roles.survey import PREFIX, form_of

_TYPES = {"str": "text", "path": "text", "int": "integer", "float": "float", "bool": "multiplechoice", "list": "textarea", "dict": "textarea"}
"""Types of AWX questions by type of an option. A list of texts is asked as lines, a list of dictionaries or a dictionary as YAML text."""

_TEXT_LIMIT = 1024
_LONG_TEXT_LIMIT = 65536
_MARKUP = re.compile(r"\b[A-Z]\(([^()]*)\)")
"""Markup of Ansible such as V(value) and C(code), which AWX would show as it is."""


def _choices(option: Mapping[str, Any]) -> list[str] | None:
    if option.get("type") == "bool":
        return ["true", "false"]
    return [str(choice) for choice in option["choices"]] if "choices" in option else None


def _default(option: Mapping[str, Any]) -> Any:
    """Return the default of a question: a number for numbers, else text; empty text for an option without a default."""
    value = option.get("default")
    if isinstance(value, (list, dict)):
        return "\n".join(map(str, value)) if _lines(option) else yaml.safe_dump(value, default_flow_style=True, width=_TEXT_LIMIT).strip() if value else ""
    if option.get("type") in ("int", "float"):
        return "" if value is None else value
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None or "{{" in str(value) else str(value)


def _lines(option: Mapping[str, Any]) -> bool:
    return option.get("type") == "list" and option.get("elements") not in ("dict", "raw")


def _form(option: Mapping[str, Any]) -> str:
    """Return a sentence about the form of an answer, with a space before it."""
    if form_of(option) is None:
        return ""
    return " One for each line." if _lines(option) else " As YAML text."


def _plain(description: Any) -> str:
    lines = [description] if isinstance(description, str) else list(description)
    return _MARKUP.sub(r"\1", " ".join(lines))


def _asked(option: Mapping[str, Any]) -> bool:
    """Return True for a required option or one with a default. For any other option, an empty answer would override the inventory."""
    return option.get("type", "str") in _TYPES and ("default" in option or bool(option.get("required")))


def _question(variable: str, option: Mapping[str, Any]) -> dict[str, Any]:
    choices = _choices(option)
    several = "multiselect" if option.get("type") == "list" else "multiplechoice"
    question = {
        "question_name": variable.replace("_", " ").capitalize(), "question_description": _plain(option.get("description", "")) + _form(option),
        "variable": (PREFIX if form_of(option) else "") + variable, "required": bool(option.get("required", False)),
        "type": several if choices else _TYPES[option.get("type", "str")], "default": _default(option),
    }
    if choices:
        question["choices"] = choices
    elif question["type"] == "textarea":
        question.update(min=0, max=_LONG_TEXT_LIMIT)
    elif question["type"] == "text":
        question.update(min=0, max=_TEXT_LIMIT)
    else:
        question.update(min=0, max=2**31 - 1)
    return question


def survey_of(specs: Mapping[str, Any], leave_out: Collection[str] = (), entry_point: str = "main") -> dict[str, Any]:
    """Return the survey of a role: ``{name, description, spec: [question, ...]}``, without the variables ``leave_out``."""
    spec = specs["argument_specs"][entry_point]
    return {
        "name": spec["short_description"], "description": _plain(spec.get("description", [])),
        "spec": [_question(name, option) for name, option in spec["options"].items() if _asked(option) and name not in leave_out],
    }


def surveys_of(jobs: Sequence[Mapping[str, Any]], roles: Path, leave_out: Collection[str] = (),
               questions: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Return the surveys by name of the job: the ``questions`` that it ``asks``, then the options of its ``role`` in the folder ``roles``.

    A job without questions has no survey. ``questions``: options in the form of an argument spec, by name.
    """
    made = {}
    for job in jobs:
        survey: dict[str, Any] = {"name": str(job["name"]), "description": "", "spec": []}
        if "role" in job:
            specs = yaml.safe_load((roles / job["role"] / "meta/argument_specs.yml").read_text(encoding="utf-8"))
            survey = survey_of(specs, leave_out, job.get("entry_point", "main"))
        asked = [_question(name, (questions or {})[name]) for name in job.get("asks", ()) if name not in leave_out]
        made[str(job["name"])] = {**survey, "spec": [*asked, *survey["spec"]]}
    return {name: survey for name, survey in made.items() if survey["spec"]}


def conversions(survey: Mapping[str, Any]) -> dict[str, str]:
    """Return the extra variables of a job template: for each option whose answer is text, a template that converts the answer."""
    names = [question["variable"][len(PREFIX):] for question in survey.get("spec", []) if question["variable"].startswith(PREFIX)]
    return {name: f"{{{{ {PREFIX}{name} | default('') | hccn.cluster.survey_value('{name}') }}}}" for name in names}
