# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Decide whether a module fails for the errors of its devices, and write its message, which states an error shared by several NPUs once."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.errors import HccnError
from .._core.untrusted_text import without_templates
from .._core.words import npus, without_device_number

NO_SUCH_DEVICE = "no_such_device"
TOOL_MISSING = "tool_missing"


def failed(results: Sequence[Mapping[str, Any]], fail_on: str) -> bool:
    """Return True if a module with ``fail_on: any|all|none`` fails for these results with ``errors``."""
    bad = sum(1 for result in results if result["errors"])
    return (fail_on == "any" and bad > 0) or (fail_on == "all" and 0 < bad == len(results))


def group_by_text(texts: Sequence[Tuple[int, str]]) -> List[Tuple[List[int], str]]:
    """Group pairs of device and text. Return each text once, with its devices, in the order of the first device.

    Texts that only differ in the number of their device count as equal, and then contain ``N`` in place of the number.
    """
    found: Dict[str, List[Tuple[int, str]]] = {}
    for device, text in texts:
        found.setdefault(without_device_number(text, device), []).append((device, text))
    return [([device for device, _text in group], group[0][1] if len(group) == 1 else general) for general, group in found.items()]


def text_of(error: Mapping[str, Any]) -> str:
    """Return an element of ``errors`` as text, with topic, message and hint."""
    text = "%s: %s" % (error["topic"], error["message"]) if error.get("topic") else str(error["message"])
    return "%s (%s)" % (text, error["hint"]) if error.get("hint") else text


def sentence(results: Sequence[Mapping[str, Any]]) -> str:
    """Return the errors of all devices in one sentence: "3 of 8 devices failed: NPUs 0-1: link: ...; NPU 5: ..."."""
    bad = [result for result in results if result["errors"]]
    texts = [(result["id"], "; ".join(text_of(error) for error in result["errors"])) for result in bad]
    return "%d of %d devices failed: %s" % (len(bad), len(results), "; ".join("%s: %s" % (npus(devices), text) for devices, text in group_by_text(texts)))


def fatal_error(results: Sequence[Mapping[str, Any]], present: Sequence[int], unrelated: Sequence[str]) -> Optional[Dict[str, Any]]:
    """Return the error, with its ``devices``, for which a module fails even if devices may fail, or None.

    That is an NPU that does not exist, or a missing hccn_tool. ``unrelated`` are topics that are read with another tool.
    """
    missing = [result["id"] for result in results if any(error["code"] == NO_SUCH_DEVICE for error in result["errors"])]
    if missing:
        return {"code": NO_SUCH_DEVICE, "message": "%s %s not exist on this host, which has %s" % (
            npus(missing), "does" if len(missing) == 1 else "do", npus(present) if present else "no NPU"), "devices": missing}
    for result in results:
        for error in result["errors"]:
            if error["code"] == TOOL_MISSING and error.get("topic") not in unrelated:
                devices = [one["id"] for one in results if any(other["message"] == error["message"] for other in one["errors"])]
                return {**{key: error[key] for key in ("code", "message", "hint") if key in error}, "devices": devices}
    return None


TEMPLATE_IN_NAME = "template_in_name"
_NO_TOPICS = ("id", "errors")
"""Keys of a device that are not topics. Error messages may quote tools, but they are only printed."""


def refuse_templates(device: Mapping[str, Any]) -> Dict[str, Any]:
    """Return a device of device_info with None in place of each text that contains a template, and an entry of ``errors`` for its topic."""
    cleaned = dict(device)
    errors: List[Dict[str, Any]] = []
    for topic, value in device.items():
        if topic not in _NO_TOPICS:
            cleaned[topic], places = without_templates(value, where=str(topic))
            if places:
                errors.append(dict(_template_error(places).as_dict(), topic=topic))
    if errors:
        cleaned["errors"] = [*(device.get("errors") or ()), *errors]
    return cleaned


def _template_error(places: List[str]) -> HccnError:
    return HccnError(TEMPLATE_IN_NAME, "%s contains {{, {%%, {# or #jinja2:, which Ansible could run as code, so the value is not used" % ", ".join(places[:3]),
                     "rename it at its source, which is the switch for lldp")
