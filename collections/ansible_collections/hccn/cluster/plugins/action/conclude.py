# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conclude a run: collect its findings, classify each host and decide whether the job fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.controller import ControllerAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.detection_limit import RELATIVE_FLOOR
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import LINE_RATE_FLOOR
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import conclusion, run, screen
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import location, since_last_run, slices
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.endpoint_words import of_ports
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import fabric_parts
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "fail_on": {"type": "str", "choices": list(conclusion.FAILING_RESULTS), "default": conclusion.FAIL_ON},
    "slices_of": {"type": "str"},
    "within_minutes": {"type": "float", "default": 360},
    "floor_gbit_s": {"type": "float"},
    "line_rate_floor": {"type": "float", "default": LINE_RATE_FLOOR},
    "relative_floor": {"type": "float", "default": RELATIVE_FLOOR},
}


class ActionModule(ControllerAction):
    """Run once for all hosts. Findings do not fail this action: the role fails the job after the report is written."""

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(ARGUMENTS)
        if options["slices_of"]:
            return {**result, "changed": False, **_of_slices(options)}
        variables = HostVars((task_vars or {})["hostvars"])

        def registered(host: str, name: str) -> Any:
            found = variables.result(host, name)
            return None if isinstance(found, InputError) else found

        found = run.of_run(options["hosts"], registered, bool(self._task.check_mode))
        this_run = location.this_run()
        if this_run is not None and not self._task.check_mode:
            found.findings += since_last_run.changes(
                options["hosts"], registered, run.DEVICES, lambda host: run.changes_of(host, registered), location.folder(None), this_run)
        made = conclusion.conclude(options["hosts"], found.classes, found.findings, options["fail_on"], found.ports)
        lines = screen.lines(made) if found.has_npus else list(map(of_ports, screen.lines(made)))
        return {**result, "changed": False, **made.as_dict(), "lines": lines, "measurements": made.as_records()}


def _of_slices(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conclusion over the runs of a playbook that each concluded a part of the hosts."""
    folder, oldest = location.folder(None), slices.oldest_of(options["within_minutes"])
    if options["slices_of"] == fabric_parts.PLAYBOOK:
        floors = {name: options[name] for name in ("floor_gbit_s", "line_rate_floor", "relative_floor")}
        found = fabric_parts.of(folder, options["hosts"], oldest, **floors)
    else:
        found = slices.of(folder, options["slices_of"], options["hosts"], oldest)
    made = conclusion.conclude(options["hosts"], found.classes, found.findings, options["fail_on"])
    return {**made.as_dict(), "runs": found.runs, "lines": screen.lines(made), "measurements": made.as_records()}
