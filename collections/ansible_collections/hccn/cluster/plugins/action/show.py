# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Displays the result of a job. Needs no connection."""

from __future__ import annotations

from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.words import LONGEST_TEXT, printable
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.controller import ControllerAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

MOST = 100
"""The maximum number of lines."""

ARGUMENTS = {"lines": {"type": "list", "elements": "str", "required": True}}


class ActionModule(ControllerAction):
    """Runs on the controller."""

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(ARGUMENTS)
        given = options["lines"]
        lines = [printable(line, LONGEST_TEXT) for line in given[:MOST]]
        if len(given) > MOST:
            lines.append(f"... and {len(given) - MOST} more lines")
        # Displayed explicitly, since display_ok_hosts may be off.
        for line in lines:
            self._display.display(line)
        return {**result, "changed": False, "lines": lines}
