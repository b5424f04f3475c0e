# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lock the state file of switch_upgrade for this run. The logic is in plugin_utils/_clusterd."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from ansible.errors import AnsibleActionFail

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.plugin_utils._clusterd import state_lock
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.controller import ControllerAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import owner
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ARGUMENTS = {
    "path": {"type": "path", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


class ActionModule(ControllerAction):
    """Acquire or release the lock."""

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(ARGUMENTS)
        result.update(changed=False)
        if self._task.check_mode:
            return result
        try:
            self._apply(options)
        except HccnError as error:
            return {**result, "failed": True, "msg": error.sentence(), "error": error.as_dict()}
        except OSError as error:
            raise AnsibleActionFail(f"cannot lock {options['path']}: {error.strerror}") from None
        return result

    @staticmethod
    def _apply(options: dict[str, Any]) -> None:
        run = owner.of_this_run()
        if options["state"] == "absent":
            state_lock.release(options["path"], run)
            return
        os.makedirs(os.path.dirname(options["path"]) or ".", mode=0o700, exist_ok=True)
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        state_lock.acquire(options["path"], run, host=socket.gethostname(), pid=str(os.getppid()), since=since)
