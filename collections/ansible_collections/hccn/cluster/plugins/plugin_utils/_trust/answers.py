# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The answer of a module that ran on a host: it describes that host, and nothing else on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils._core.foreign_text import without_templates
from ...module_utils._device import device_errors

ACTED_UPON = ("ansible_facts", "ansible_stats", "add_host", "add_group")
"""Keys on which Ansible acts for the result of any task (plugins/strategy): variables, artifacts of the job, the inventory. Keys that begin with
``_ansible`` are Ansible's own; it removes them from answers of modules, but for those that it sets itself."""

TEXTS = frozenset((
    "cmd", "command", "commands", "content", "deprecations", "diff", "error", "errors", "exception", "hint", "invocation", "message", "module_stderr",
    "module_stdout", "msg", "previous", "problems", "reason", "settings", "stderr", "stderr_lines", "stdout", "stdout_lines", "text", "warnings"))
"""Keys whose values are whole texts, of files, tools and messages, and no names: they are shown, saved or compared, as they are."""

SHOWN = 3


def cleaned(answer: Mapping[str, Any], discovered: Mapping[str, Any], host: str) -> dict[str, Any]:
    """Return the answer of a host without the keys on which Ansible acts, and with None for names that hold a template; warnings and ``errors`` of devices name
    those. ``discovered``: facts that the controller itself found (the interpreter), which stay."""
    kept = {key: value for key, value in answer.items() if key not in ACTED_UPON}
    made, refused = without_templates(kept, TEXTS.__contains__)
    if refused:
        devices = kept.get("devices")
        if isinstance(devices, list):
            made["devices"] = [device_errors.refuse_templates(device) if isinstance(device, Mapping) else device for device in devices]
        shown = ", ".join(refused[:SHOWN]) + (" ..." if len(refused) > SHOWN else "")
        earlier = made.get("warnings")
        made["warnings"] = [*(earlier if isinstance(earlier, list) else ()), f"{host}: not used, since Ansible could run it as code: {shown}"]
    if discovered:
        made["ansible_facts"] = dict(discovered)
    return dict(made)
