# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Clean the answers of modules that ran on hosts, so that an answer describes its host and affects nothing else on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils._core.untrusted_text import without_deep_values, without_templates
from ...module_utils._core.words import printable
from ...module_utils._device import device_errors
from .._connection.packed_result import PACKED

ACTED_UPON = ("ansible_facts", "ansible_stats", "add_host", "add_group", PACKED)
"""Keys on which Ansible acts for the result of any task (plugins/strategy): variables, artifacts of the job, the inventory; and the key that the controller
unpacks. Keys that begin with ``_ansible`` are reserved for Ansible, which removes them from answers of modules."""

TEXTS = frozenset((
    "cmd", "command", "commands", "content", "deprecations", "diff", "error", "errors", "exception", "hint", "invocation", "message", "module_stderr",
    "module_stdout", "msg", "previous", "problems", "reason", "settings", "stderr", "stderr_lines", "stdout", "stdout_lines", "text", "warnings"))
"""Keys whose values are texts of files, tools and messages, and never names. They are shown, saved or compared unchanged."""

MOST_LEVELS = 40
"""Levels of dictionaries and lists in an answer; those of the collection have fewer than 12. Ansible fails with values of several hundred levels, also in
callbacks and for the results of other hosts."""

SHOWN, LONGEST = 3, 100


def cleaned(answer: Mapping[str, Any], discovered: Mapping[str, Any], host: str) -> dict[str, Any]:
    """Return the answer of a host without the keys on which Ansible acts, and with None for names that contain a template and for values nested too deeply.

    Warnings and, for names, the ``errors`` of devices report these values. ``discovered`` are facts that the controller found itself (the interpreter),
    which are kept.
    """
    kept, too_deep = without_deep_values({key: value for key, value in answer.items() if key not in ACTED_UPON}, MOST_LEVELS)
    made, refused = without_templates(kept, TEXTS.__contains__)
    if refused:
        devices = kept.get("devices")
        if isinstance(devices, list):
            made["devices"] = [device_errors.refuse_templates(device) if isinstance(device, Mapping) else device for device in devices]
    for places, reason in ((refused, "since Ansible could run it as code"), (too_deep, f"since it is nested deeper than {MOST_LEVELS} levels")):
        if places:
            earlier = made.get("warnings")
            made["warnings"] = [*(earlier if isinstance(earlier, list) else ()), f"{host}: not used, {reason}: {_shown(places)}"]
    if discovered:
        made["ansible_facts"] = dict(discovered)
    return dict(made)


def _shown(places: list[str]) -> str:
    return ", ".join(printable(place, LONGEST) for place in places[:SHOWN]) + (" ..." if len(places) > SHOWN else "")


class CleanAnswers:
    """Mixin for action plugins that cleans every answer of a host before the plugin reads it. Must precede ActionBase in the list of bases."""

    _discovered_interpreter_key: str | None
    _discovered_interpreter: Any
    _task: Any

    def _execute_module(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        return self.clean(super()._execute_module(*arguments, **options), options.get("task_vars") or {})  # type: ignore[misc]

    def clean(self, answer: Mapping[str, Any], task_vars: Mapping[str, Any]) -> dict[str, Any]:
        """Return the cleaned answer that another action plugin got from the host of this task."""
        key = self._discovered_interpreter_key
        host = self._task.delegate_to or task_vars.get("inventory_hostname", "the host")
        return cleaned(answer, {key: self._discovered_interpreter} if key else {}, str(host))
