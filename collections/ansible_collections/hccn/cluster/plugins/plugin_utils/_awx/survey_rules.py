# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The rules of the AWX API that a survey violates, checked before anything is sent.

The rules are those of ``SurveyView`` in awx/api/views and of ``SurveyJobTemplateMixin`` in awx/main/models/mixins.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TYPES = {"text": str, "textarea": str, "password": str, "multiplechoice": str, "multiselect": str, "integer": int, "float": (int, float)}
"""Python types of the default, by type of a question. Several defaults of a multiselect are lines of one text."""
RESERVED = "$encrypted$"


def breaches_of(survey: Mapping[str, Any]) -> list[str]:
    """Return one line for each rule that the survey violates."""
    found = [f"survey: {key} is no text" for key in ("name", "description") if not isinstance(survey.get(key), str)]
    questions = survey.get("spec")
    if not isinstance(questions, list) or not questions:
        return [*found, "survey: spec is no list of questions"]
    variables = [question.get("variable") for question in questions]
    found += [f"{variable}: asked twice" for variable in dict.fromkeys(variables) if variables.count(variable) > 1]
    for number, question in enumerate(questions, 1):
        found += [f"{question.get('variable') or f'question {number}'}: {text}" for text in question_breaches(question)]
    return found


def question_breaches(question: Mapping[str, Any]) -> list[str]:
    found = [f"{key} is missing" for key in ("type", "question_name", "variable", "required") if key not in question]
    if question.get("type") not in TYPES:
        return [*found, f"unknown type {question.get('type')}"]
    return found + list(_words(question)) + list(_bounds(question)) + list(_default(question)) + list(_choices(question))


def _words(question: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(question.get("required"), bool):
        yield "required is no boolean"
    if any(character.isspace() for character in str(question.get("variable", ""))):
        yield "the variable has a blank"
    if str(question.get("default", "")).startswith(RESERVED) and question["type"] != "password":
        yield f"{RESERVED} is AWX's own"


def _bounds(question: Mapping[str, Any]) -> Iterator[str]:
    for bound in ("min", "max"):
        if question.get(bound) is not None and not _is(question[bound], int):
            yield f"{bound} is no integer"


def _default(question: Mapping[str, Any]) -> Iterator[str]:
    value = question.get("default", "")
    if value == "":
        return
    if not _is(value, TYPES[question["type"]]):
        yield "the default is of another type"
        return
    measure = len(value) if isinstance(value, str) else value
    bounds: list[Any] = [bound if _is(bound, int) else measure for bound in (question.get("min"), question.get("max"))]
    if "choices" not in question and not bounds[0] <= measure <= bounds[1]:
        yield "the default is out of bounds"


def _choices(question: Mapping[str, Any]) -> Iterator[str]:
    if question["type"] not in ("multiplechoice", "multiselect"):
        return
    choices, default = question.get("choices"), question.get("default", "")
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, str) for choice in choices):
        yield "choices are no list of texts"
    elif isinstance(default, str) and default:
        wanted = [default] if question["type"] == "multiplechoice" else default.splitlines()
        if set(wanted) - set(choices):
            yield "the default is none of the choices"


def _is(value: Any, kind: Any) -> bool:
    """Return whether the value has the type. A boolean is not an integer in AWX."""
    return isinstance(value, kind) and not isinstance(value, bool)
