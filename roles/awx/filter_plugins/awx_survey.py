# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter awx_survey: the survey of an AWX job template, made from a role's argument spec, so that both stay the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_TYPES = {"str": "text", "path": "text", "int": "integer", "float": "float", "bool": "multiplechoice"}
"""What AWX can ask for; lists and dictionaries it cannot, so they stay with the inventory."""

_TEXT_LIMIT = 1024
_MARKUP = re.compile(r"\b[A-Z]\(([^()]*)\)")
"""Ansible's V(value), C(code): AWX shows plain text."""


def _choices(option: Mapping[str, Any]) -> list[str] | None:
    if option.get("type") == "bool":
        return ["true", "false"]
    return [str(choice) for choice in option["choices"]] if "choices" in option else None


def _default(option: Mapping[str, Any]) -> Any:
    """AWX wants a number for numbers, else a string; a default that is not there is an empty string."""
    value = option.get("default")
    if option.get("type") in ("int", "float"):
        return "" if value is None else value
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None or "{{" in str(value) else str(value)


def _plain(description: Any) -> str:
    lines = [description] if isinstance(description, str) else list(description)
    return _MARKUP.sub(r"\1", " ".join(lines))


def _asked(option: Mapping[str, Any]) -> bool:
    """An option that is neither required nor has a default is the inventory's: an empty answer would override it."""
    return option.get("type", "str") in _TYPES and ("default" in option or bool(option.get("required")))


def _question(variable: str, option: Mapping[str, Any]) -> dict[str, Any]:
    choices = _choices(option)
    question = {
        "question_name": variable.replace("_", " ").capitalize(), "question_description": _plain(option.get("description", "")), "variable": variable,
        "required": bool(option.get("required", False)), "type": "multiplechoice" if choices else _TYPES[option.get("type", "str")],
        "default": _default(option),
    }
    if choices:
        question["choices"] = choices
    elif question["type"] == "text":
        question.update(min=0, max=_TEXT_LIMIT)
    else:
        question.update(min=0, max=2**31 - 1)
    return question


def awx_survey(specs: Mapping[str, Any], entry_point: str = "main") -> dict[str, Any]:
    """``argument_specs`` of a role as AWX's survey: ``{name, description, spec: [question, ...]}``."""
    spec = specs["argument_specs"][entry_point]
    return {
        "name": spec["short_description"], "description": _plain(spec.get("description", [])),
        "spec": [_question(name, option) for name, option in spec["options"].items() if _asked(option)],
    }


class FilterModule:
    """Ansible's way to find the filter."""

    def filters(self) -> dict[str, Any]:
        return {"awx_survey": awx_survey}
