# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Display the progress of a fabric run by polling one of its reporters, over any connection."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError

from ansible_collections.hccn.cluster.plugins.module_utils._core.words import LONGEST_TEXT, printable
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import DEFAULT_STATE_DIR
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_options import ROCE_TEST
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounded import BoundedAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.endpoint_words import in_words_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._progress.progress import Extent, extent, is_stale, line, read_answer
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ARGUMENTS = {
    "run_id": {"type": "str", "required": True},
    "plan": {"type": "dict", "required": True},
    "state_dir": {"type": "path", "default": DEFAULT_STATE_DIR},
    "interval": {"type": "float", "default": 10},
    "timeout": {"type": "float", "default": 1800},
    "all_started": {"type": "bool", "default": False},
    "tool": {"type": "str", "default": ROCE_TEST},
}
OVER, LOST, TIMEOUT = "over", "lost", "timeout"
MOST_EMPTY = 4
"""Consecutive answers without any count, after which the reporter is given up."""
LEAST_ANSWER_S, ANSWER_S, TIMES = 10.0, 30.0, 5.0
"""A call may exceed the time that it waits by TIMES the slowest earlier call, within these bounds. If it takes even longer, the fallback reporter is asked."""


class ActionModule(BoundedAction):
    """Run once for all hosts and poll the reporter by calls of rdma_perf_info."""

    _supports_check_mode = True
    _supports_async = False
    TRANSFERS_FILES = False

    @guard.action
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
        self._slowest: float | None = None
        self._tool = options["tool"]
        whole = extent(options["plan"])
        end, empty, wait = time.monotonic() + options["timeout"], 0, 0.0  # the first call shows soon whether the reporter answers
        while True:
            found = read_answer(self._ask(options, wait, variables))
            wait = max(0.0, min(options["interval"], end - time.monotonic()))
            fabric = found.get("fabric") or {}
            lost = _lost(found, fabric)
            empty = 0 if fabric else empty + 1
            if lost is None and empty >= MOST_EMPTY:
                lost = "no host has reported to it"
            if lost is not None:
                return self._ended(result, LOST, f"{reporter} cannot report the progress of the run: {lost}", fabric)
            if fabric and fabric["over"]:
                return self._ended(result, OVER, line(fabric, whole), fabric)
            if time.monotonic() >= end:
                return self._ended(result, TIMEOUT, f"not finished after {options['timeout']:.0f} s{_so_far(fabric, whole)}", fabric)
            if fabric:
                self._say(result, line(fabric, whole))

    def _ask(self, options: Mapping[str, Any], wait: float, variables: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of rdma_perf_info after ``wait`` seconds or as soon as the run is over, ``lost`` if the host does not answer."""
        arguments = {"run_id": options["run_id"], "state_dir": options["state_dir"], "fabric": True, "wait": wait,
                     "all_started": options["all_started"]}
        began, answer = time.monotonic(), ANSWER_S if self._slowest is None else min(ANSWER_S, max(LEAST_ANSWER_S, TIMES * self._slowest))
        try:
            with self.answered_within(wait + answer):
                found: dict[str, Any] = self._execute_module(module_name="hccn.cluster.rdma_perf_info", module_args=arguments, task_vars=variables)
        except AnsibleError as error:
            return {"lost": f"it cannot be polled: {error}"}
        if found.get("failed") or found.get("unreachable"):
            return {"lost": str(found.get("msg") or found.get("module_stderr") or "rdma_perf_info failed").strip()}
        self._slowest = max(self._slowest or 0.0, time.monotonic() - began - wait)
        return found

    def _say(self, result: dict[str, Any], text: str) -> str:
        """Display a line in printable form, since it may contain text of a host, and return it as displayed."""
        shown = in_words_of(self._tool, printable(text, LONGEST_TEXT))
        self._display.display(shown)
        result["lines"].append(shown)
        return shown

    def _ended(self, result: dict[str, Any], state: str, text: str, fabric: Mapping[str, Any]) -> dict[str, Any]:
        return {**result, "state": state, "msg": self._say(result, text), "progress": dict(fabric)}


def _lost(found: Mapping[str, Any], fabric: Mapping[str, Any]) -> str | None:
    """Return why the reporter cannot be expected to answer any more, None if it can."""
    if "lost" in found:
        return str(found["lost"])
    if found.get("state") == "unknown":
        return "it does not know this run"
    if found.get("fabric") and not fabric:
        return "its answer does not contain the progress of a run"
    if fabric.get("over"):
        return None
    if not found.get("alive"):
        error = found.get("error")
        return str(error.get("message")) if isinstance(error, Mapping) else "its runner ended while other hosts were still measuring"
    return f"its runner has written nothing for {fabric['age']:.0f} s" if fabric and is_stale(fabric) else None


def _so_far(fabric: Mapping[str, Any], whole: Extent) -> str:
    return f": {line(fabric, whole)}" if fabric else ""
