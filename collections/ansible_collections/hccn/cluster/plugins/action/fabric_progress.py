# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says how far a pairwise run is while it goes on: asks one host that all others report to, by whatever connection that host has."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import DEFAULT_STATE_DIR
from ansible_collections.hccn.cluster.plugins.plugin_utils._progress.line import Extent, extent, is_stale, line

ARGUMENTS = {
    "run_id": {"type": "str", "required": True},
    "plan": {"type": "dict", "required": True},
    "state_dir": {"type": "path", "default": DEFAULT_STATE_DIR},
    "interval": {"type": "float", "default": 10},
    "timeout": {"type": "float", "default": 1800},
    "all_started": {"type": "bool", "default": False},
}
OVER, LOST, TIMEOUT = "over", "lost", "timeout"
MOST_EMPTY = 3
"""Looks at a reporter that has heard nothing yet, itself included."""


class ActionModule(ActionBase):
    """One task for all hosts; each look is one call of rdma_perf_info on the reporter."""

    _supports_check_mode = True
    _supports_async = False
    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        variables = task_vars or {}
        _validation, options = self.validate_argument_spec(ARGUMENTS)
        if options["interval"] <= 0:
            raise AnsibleActionFail(f"interval is {options['interval']:g}, it must be more than 0 seconds")
        reporter = str(self._task.delegate_to or variables.get("inventory_hostname", "the reporter"))
        result.update(changed=False, reporter=reporter, lines=[])
        if self._task.check_mode:
            return {**result, "skipped": True, "msg": "nothing is measured in check mode"}
        whole = extent(options["plan"])
        end, empty = time.monotonic() + options["timeout"], 0
        while True:
            found = self._look(options, max(0.0, min(options["interval"], end - time.monotonic())), variables)
            fabric = found.get("fabric") or {}
            lost = _lost(found, fabric)
            empty = 0 if fabric else empty + 1
            if lost is None and empty >= MOST_EMPTY:
                lost = "nobody has told it anything"
            if lost is not None:
                return self._ended(result, LOST, f"{reporter} does not tell how far the run is: {lost}", fabric)
            if fabric and fabric["over"]:
                return self._ended(result, OVER, line(fabric, whole), fabric)
            if time.monotonic() >= end:
                return self._ended(result, TIMEOUT, f"not over after {options['timeout']:.0f} s{_so_far(fabric, whole)}", fabric)
            if fabric:
                self._say(result, line(fabric, whole))

    def _look(self, options: Mapping[str, Any], wait: float, variables: dict[str, Any]) -> dict[str, Any]:
        """What rdma_perf_info returned, after ``wait`` seconds or as soon as the run is over; ``lost`` where the host cannot be asked."""
        arguments = {"run_id": options["run_id"], "state_dir": options["state_dir"], "fabric": True, "wait": wait,
                     "all_started": options["all_started"]}
        try:
            found: dict[str, Any] = self._execute_module(module_name="hccn.cluster.rdma_perf_info", module_args=arguments, task_vars=variables)
        except AnsibleError as error:
            return {"lost": f"it cannot be asked: {error}"}
        if found.get("failed") or found.get("unreachable"):
            return {"lost": str(found.get("msg") or found.get("module_stderr") or "rdma_perf_info failed there").strip()}
        return found

    def _say(self, result: dict[str, Any], text: str) -> None:
        self._display.display(text)
        result["lines"].append(text)

    def _ended(self, result: dict[str, Any], state: str, text: str, fabric: Mapping[str, Any]) -> dict[str, Any]:
        self._say(result, text)
        return {**result, "state": state, "msg": text, "progress": dict(fabric)}


def _lost(found: Mapping[str, Any], fabric: Mapping[str, Any]) -> str | None:
    """Why nothing more is to be expected of the reporter, None where all is well."""
    if "lost" in found:
        return str(found["lost"])
    if found["state"] == "unknown":
        return "it has no such run"
    if fabric.get("over"):
        return None
    if not found["alive"]:
        return str(found["error"]["message"]) if "error" in found else "its runner is gone, and others were still at work"
    return f"its runner has written nothing for {fabric['age']:.0f} s" if fabric and is_stale(fabric) else None


def _so_far(fabric: Mapping[str, Any], whole: Extent) -> str:
    return f": {line(fabric, whole)}" if fabric else ""
