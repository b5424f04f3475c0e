# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Call the module ssh_trust with this ansible-playbook as the owner of the run, and remove the keys that ended runs of this controller left behind."""

from __future__ import annotations

from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._connection import bounds
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounded import BoundedAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import owner
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


class ActionModule(BoundedAction):
    """Call the module once per host, and once more only if ended runs have left keys there."""

    _supports_check_mode = True
    TRANSFERS_FILES = False

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        arguments["owner"] = arguments.get("owner") or owner.of_this_run()
        first = self._call(arguments, task_vars)
        result.update(first)
        gone = [one["run_id"] for one in first.get("others", ()) if owner.is_gone(one["owner"])]
        if gone and not first.get("failed"):
            again = {**arguments, "ended": gone}
            if arguments.get("state") == "key":
                again.update(state="absent", run_id=gone[0])  # keeps the new key
            second = self._call(again, task_vars)
            result["removed"] = [*first.get("removed", ()), *second.get("removed", ())]
            result["others"] = [one for one in first["others"] if one["run_id"] not in gone]
            result["changed"] = True
            if second.get("failed"):
                result.update(failed=True, msg=second.get("msg"))
        return result

    def _call(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        with self.answered_within(bounds.seconds("ssh_trust", arguments)):
            found: dict[str, Any] = self._execute_module(module_name="hccn.cluster.ssh_trust", module_args=arguments, task_vars=task_vars)
        return found
