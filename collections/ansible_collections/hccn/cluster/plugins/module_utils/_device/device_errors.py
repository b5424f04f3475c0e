# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Whether a module fails for the errors of its devices, and its message, in which an error that several NPUs share stands once."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.words import npus, without_device_number
from .._core.errors import HccnError
from .._core.foreign_text import without_templates


NO_SUCH_DEVICE = "no_such_device"
TOOL_MISSING = "tool_missing"


def failed(results: Sequence[Mapping[str, Any]], fail_on: str) -> bool:
    """Return True if the module fails, by ``fail_on: any|all|none``, on results with ``errors``."""
    bad = sum(1 for result in results if result["errors"])
    return (fail_on == "any" and bad > 0) or (fail_on == "all" and 0 < bad == len(results))


def shared(said: Sequence[Tuple[int, str]]) -> List[Tuple[List[int], str]]:
    """Return each text of ``said``, pairs of device and text, once and with the devices that have it, in the order of its first device.

    Texts that differ only in the number of their device are the same text. It then has ``N`` for the number.
    """
    found: Dict[str, List[Tuple[int, str]]] = {}
    for device, text in said:
        found.setdefault(without_device_number(text, device), []).append((device, text))
    return [([device for device, _text in own], own[0][1] if len(own) == 1 else general) for general, own in found.items()]


def text_of(error: Mapping[str, Any]) -> str:
    """Return an element of ``errors`` as text: topic, message, hint."""
    told = "%s: %s" % (error["topic"], error["message"]) if error.get("topic") else str(error["message"])
    return "%s (%s)" % (told, error["hint"]) if error.get("hint") else told


def sentence(results: Sequence[Mapping[str, Any]]) -> str:
    """Return the errors of all devices in one sentence: "3 of 8 devices failed: NPUs 0-1: link: ...; NPU 5: ..."."""
    bad = [result for result in results if result["errors"]]
    said = [(result["id"], "; ".join(text_of(error) for error in result["errors"])) for result in bad]
    return "%d of %d devices failed: %s" % (len(bad), len(results), "; ".join("%s: %s" % (npus(devices), text) for devices, text in shared(said)))


def unusable(results: Sequence[Mapping[str, Any]], present: Sequence[int], unrelated: Sequence[str]) -> Optional[Dict[str, Any]]:
    """Return the error, with the ``devices`` that have it, for which a module fails even where devices may fail, or None.

    Nothing can be read of NPUs that are not there, or without hccn_tool. ``unrelated`` are the topics that another tool is asked for.
    """
    missing = [result["id"] for result in results if any(error["code"] == NO_SUCH_DEVICE for error in result["errors"])]
    if missing:
        return {"code": NO_SUCH_DEVICE, "message": "%s %s not exist on this host, which has %s" % (
            npus(missing), "does" if len(missing) == 1 else "do", npus(present) if present else "no NPU"), "devices": missing}
    for result in results:
        for error in result["errors"]:
            if error["code"] == TOOL_MISSING and error.get("topic") not in unrelated:
                having = [one["id"] for one in results if any(other["message"] == error["message"] for other in one["errors"])]
                return {**{key: error[key] for key in ("code", "message", "hint") if key in error}, "devices": having}
    return None


TEMPLATE_IN_NAME = "template_in_name"
_NO_TOPICS = ("id", "errors")
"""Keys of a device that are not topics. Error messages quote tools, but are only printed."""


def refuse_templates(device: Mapping[str, Any]) -> Dict[str, Any]:
    """Return a device as device_info returns it, with None for each text that holds a template, and an entry of ``errors`` for its topic."""
    made = dict(device)
    errors: List[Dict[str, Any]] = []
    for topic, value in device.items():
        if topic not in _NO_TOPICS:
            made[topic], places = without_templates(value, where=str(topic))
            if places:
                errors.append(dict(_template_error(places).as_dict(), topic=topic))
    if errors:
        made["errors"] = [*(device.get("errors") or ()), *errors]
    return made


def _template_error(places: List[str]) -> HccnError:
    return HccnError(TEMPLATE_IN_NAME, "%s contains {{, {%% or {#, which Ansible could run as code, so the value is not used" % ", ".join(places[:3]),
                     "rename it at its source, which is the switch for lldp")
