# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a module of this collection (see meta/runtime.yml), or with ``action`` and ``options`` any other, within a time limit.

If the host does not answer in time, it is unreachable. Only the parts of its answer that describe this host are returned. Private to the collection: the
roles call it for modules of other collections.
"""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.hccn.cluster.plugins.plugin_utils._connection import bounds
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.bounded import BoundedAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.packed_result import to_register
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ARGUMENTS = {
    "action": {"type": "str", "required": True},
    "options": {"type": "dict", "required": True},
    "timeout_s": {"type": "float", "required": True},
}
NAME = "hccn.cluster.bounded"


class ActionModule(BoundedAction, NormalAction):
    """Call the host once."""

    @guard.host_action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        if self._task.action != NAME:
            with self.answered_within(bounds.seconds(self._task.action, self._task.args)):
                answer = dict(super().run(tmp, task_vars))
            return to_register(answer, self._task.register)
        _validation, options = self.validate_argument_spec(ARGUMENTS)
        with self.answered_within(options["timeout_s"]):
            return self.clean(self._other(options["action"], options["options"]).run(task_vars=task_vars), task_vars or {})

    def _other(self, name: str, options: dict[str, Any]) -> ActionBase:
        """Return the action with this name, or the one that runs the module with this name, over the connection of this task."""
        task = self._task.copy()
        task.action, task.args = name, options
        found = name if self._shared_loader_obj.action_loader.has_plugin(name) else "ansible.legacy.normal"
        other: ActionBase = self._shared_loader_obj.action_loader.get(
            found, task=task, connection=self._connection, play_context=self._play_context, loader=self._loader, templar=self._templar,
            shared_loader_obj=self._shared_loader_obj)
        return other
