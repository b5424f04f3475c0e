# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Clean the answers of modules that ran on hosts, so that an answer describes its host and affects nothing else on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils._core.untrusted_text import without_templates
from ...module_utils._device import device_errors

ACTED_UPON = ("ansible_facts", "ansible_stats", "add_host", "add_group")
"""Keys on which Ansible acts for the result of any task (plugins/strategy): variables, artifacts of the job, the inventory. Keys that begin with
``_ansible`` are reserved for Ansible, which removes them from answers of modules."""

TEXTS = frozenset((
    "cmd", "command", "commands", "content", "deprecations", "diff", "error", "errors", "exception", "hint", "invocation", "message", "module_stderr",
    "module_stdout", "msg", "previous", "problems", "reason", "settings", "stderr", "stderr_lines", "stdout", "stdout_lines", "text", "warnings"))
"""Keys whose values are texts of files, tools and messages, and never names. They are shown, saved or compared unchanged."""

SHOWN = 3


def cleaned(answer: Mapping[str, Any], discovered: Mapping[str, Any], host: str) -> dict[str, Any]:
    """Return the answer of a host without the keys on which Ansible acts, and with None for names that contain a template.

    Warnings and the ``errors`` of devices report these names. ``discovered`` are facts that the controller found itself (the interpreter), which are kept.
    """
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
