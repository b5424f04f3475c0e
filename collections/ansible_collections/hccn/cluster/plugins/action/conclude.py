# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Concludes a run: its findings, one class for each host, and whether the job fails. Needs no connection."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import conclusion, run, screen
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "fail_on": {"type": "str", "choices": list(conclusion.FAILING), "default": "slow"},
}


class ActionModule(ActionBase):
    """Runs once, on the controller, for all hosts. It does not fail by what it found: the role does, when the report is written."""

    _supports_check_mode = True
    _supports_async = False
    _requires_connection = False
    TRANSFERS_FILES = False

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(ARGUMENTS)
        variables = HostVars((task_vars or {})["hostvars"])

        def registered(host: str, name: str) -> Any:
            found = variables.result(host, name)
            return None if isinstance(found, InputError) else found

        found = run.of_run(options["hosts"], registered, bool(self._task.check_mode))
        made = conclusion.conclude(options["hosts"], found.classes, found.findings, options["fail_on"])
        return {**result, "changed": False, **made.as_dict(), "lines": screen.lines(made), "measurements": made.as_records()}
