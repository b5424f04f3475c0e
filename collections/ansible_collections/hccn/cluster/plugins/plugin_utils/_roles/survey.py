# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Answers of AWX surveys, which are texts, for options that are lists and dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from ...module_utils._core.errors import InputError
from ...module_utils._core.words import beginning
from .job_problem import INVALID_VARIABLE, JobProblem

PREFIX = "survey_"
"""Of the variable of an answer. The rest is the name of the option."""
LINES, YAML = "lines", "yaml"
"""The forms of an answer: one element per line, or YAML text."""
SHOWN = 60


def form_of(option: Mapping[str, Any]) -> str | None:
    """Return the form in which a survey asks for an option, None if its answer needs no conversion."""
    if option.get("type") == "dict" or (option.get("type") == "list" and option.get("elements") in ("dict", "raw")):
        return YAML
    return LINES if option.get("type") == "list" and "choices" not in option else None


def value_of(name: str, answer: Any, option: Mapping[str, Any]) -> Any:
    """Return the value of an answer; without one, the default of the option. Raises InputError for an answer that is not of the type of the option."""
    kind = list if option.get("type") == "list" else dict
    if answer is None or (isinstance(answer, str) and not answer.strip()):
        return option.get("default", kind())
    if isinstance(answer, kind):
        return answer
    text = str(answer)
    if form_of(option) == LINES:
        return [line.strip() for line in text.splitlines() if line.strip()]
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise InputError(f"the answer for {name} is not valid YAML{where}") from None
    if not isinstance(value, kind):
        raise InputError(f"the answer for {name} is {beginning(repr(text), SHOWN)}, but must be YAML of a {'list' if kind is list else 'dictionary'}")
    return value


def problems(variables: Mapping[str, Any], specs: Mapping[str, Mapping[str, Any]]) -> list[JobProblem]:
    """Return a problem per answer that cannot be converted. ``variables``: of localhost; ``specs``: of all options, by name."""
    found = []
    for variable in sorted(name for name in variables if isinstance(name, str) and name.startswith(PREFIX)):
        name = variable[len(PREFIX):]
        if name in specs and form_of(specs[name]):
            try:
                value_of(name, variables[variable], specs[name])
            except InputError as error:
                found.append(JobProblem(INVALID_VARIABLE, error.message, ()))
    return found
