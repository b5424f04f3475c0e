# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Split a long wait of the module rdma_perf_info into short calls, so that a host that freezes is detected soon over any connection."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounded import BoundedAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounds import number
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.packed_result import to_register
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

SLICE_S = 10.0
"""The longest wait of a call. The first call does not wait, since the run is usually over by then."""
ANSWER_S = 30.0
"""Seconds that a call may take beyond its wait; it only reads a journal."""
RUNNING = "running"


class ActionModule(BoundedAction):
    """Call the host once if the run is over, otherwise until it is or the time is up."""

    _supports_check_mode = True
    _supports_async = False

    @guard.host_action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        given = self._task.args.get("wait", 0)
        end, wait = time.monotonic() + number(given, 0.0), 0.0 if number(given, -1.0) >= 0 else given  # the module itself refuses anything but a number
        while True:
            with self.answered_within(number(wait, 0.0) + ANSWER_S):
                found: dict[str, Any] = self._execute_module(
                    module_name="hccn.cluster.rdma_perf_info", module_args={**self._task.args, "wait": wait}, task_vars=task_vars)
            left = end - time.monotonic()
            if found.get("failed") or not goes_on(found) or left <= 0:
                return to_register({**result, **found}, self._task.register)
            wait = min(SLICE_S, left)


def goes_on(found: Mapping[str, Any]) -> bool:
    """Return True while there is something to wait for: the end of the run on this host, with ``fabric`` on all hosts."""
    running = found.get("state") == RUNNING
    fabric = found.get("fabric")
    return (running or bool(found.get("alive"))) and not fabric["over"] if fabric else running
