# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Names that were chosen elsewhere: by the switch (LLDP), the owner of a process, the maker of a board. A template in one is not handed on."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .._core.errors import HccnError
from .._core.foreign_text import without_templates

CODE = "template_in_name"
OWN_KEYS = ("id", "errors")
"""Keys of a device that are no topic. Messages of errors quote tools, and are only printed."""


def refused(device: Mapping[str, Any]) -> Dict[str, Any]:
    """Return a device as device_info returns it, with None for each text that holds a template, and an entry of ``errors`` for its topic."""
    made = dict(device)
    errors: List[Dict[str, Any]] = []
    for topic, value in device.items():
        if topic not in OWN_KEYS:
            made[topic], places = without_templates(value, where=str(topic))
            if places:
                errors.append(dict(error_of(places).as_dict(), topic=topic))
    if errors:
        made["errors"] = [*(device.get("errors") or ()), *errors]
    return made


def error_of(places: List[str]) -> HccnError:
    return HccnError(CODE, "%s holds {{, {%% or {#, which Ansible could run as code, and is not used" % ", ".join(places[:3]),
                     "rename it where it comes from: for lldp, the switch")
