# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Calls of modules on hosts, for action plugins: every answer is cleaned before the plugin sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .answers import cleaned


class CleanAnswers:
    """To be named before ActionBase among the bases of an action plugin."""

    _discovered_interpreter_key: str | None
    _discovered_interpreter: Any
    _task: Any

    def _execute_module(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        return self.clean(super()._execute_module(*arguments, **options), options.get("task_vars") or {})  # type: ignore[misc]

    def clean(self, answer: Mapping[str, Any], task_vars: Mapping[str, Any]) -> dict[str, Any]:
        """Return what another action plugin got from the host of this task, cleaned."""
        key = self._discovered_interpreter_key
        host = self._task.delegate_to or task_vars.get("inventory_hostname", "the host")
        return cleaned(answer, {key: self._discovered_interpreter} if key else {}, str(host))
