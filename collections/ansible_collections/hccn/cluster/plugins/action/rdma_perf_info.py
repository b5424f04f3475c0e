# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls the module rdma_perf_info again and again where it is to wait, so that a host that stops meanwhile is found out soon, by any connection."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounded import BoundedAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounds import number
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

SLICE_S = 10.0
"""What a call waits at the most. The first does not, since mostly the run is over."""
ANSWER_S = 30.0
"""A call may take that longer than it waits: it only reads a journal."""
RUNNING = "running"


class ActionModule(BoundedAction):
    """One call of the host where the run is over."""

    _supports_check_mode = True
    _supports_async = False

    @guard.host_action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        given = self._task.args.get("wait", 0)
        end, wait = time.monotonic() + number(given, 0.0), 0.0 if number(given, -1.0) >= 0 else given  # what is no number is the module's to refuse
        while True:
            with self.answered_within(number(wait, 0.0) + ANSWER_S):
                found: dict[str, Any] = self._execute_module(
                    module_name="hccn.cluster.rdma_perf_info", module_args={**self._task.args, "wait": wait}, task_vars=task_vars)
            left = end - time.monotonic()
            if found.get("failed") or not goes_on(found) or left <= 0:
                return {**result, **found}
            wait = min(SLICE_S, left)


def goes_on(found: Mapping[str, Any]) -> bool:
    """Is there anything to wait for? With ``fabric`` it is the end of the run on all hosts."""
    running = found.get("state") == RUNNING
    fabric = found.get("fabric")
    return (running or bool(found.get("alive"))) and not fabric["over"] if fabric else running
