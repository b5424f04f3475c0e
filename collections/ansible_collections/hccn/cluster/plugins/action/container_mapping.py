# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows for all hosts which containers see hccn.conf, and how new containers get it. Needs no connection."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.words import LONGEST_TEXT, printable
from ansible_collections.hccn.cluster.plugins.module_utils._device import cdi
from ansible_collections.hccn.cluster.plugins.module_utils._device.mounts import MountPaths
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.controller import ControllerAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles.container_mapping import FAILING, REPORT, STATES, instructions, summarize
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "register_name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": list(STATES), "default": REPORT},
    "path": {"type": "str", "default": "/etc/hccn.conf"},
    "container_path": {"type": "str", "default": "/etc/hccn.conf"},
    "fail_on": {"type": "str", "choices": list(FAILING), "default": "slow"},
}


class ActionModule(ControllerAction):
    """Runs once, for all hosts."""

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(ARGUMENTS)
        try:
            paths = MountPaths.checked(options["path"], options["container_path"])
        except InputError as error:
            raise AnsibleActionFail(f"container_mapping: {error.sentence()}") from None
        hostvars = (task_vars or {}).get("hostvars", {})
        answers = {host: _registered(hostvars, host, options["register_name"]) for host in options["hosts"]}
        found = summarize(answers, options["state"], bool(self._task.check_mode))
        for line in [*found.lines(), *instructions(paths)]:
            self._display.display(printable(line, LONGEST_TEXT))
        result.update(
            changed=False, containers=found.containers, mapped=found.mapped, problems=list(found.problems), cdi_specs=dict(found.specs),
            not_examined=list(found.unknown), docker_args=paths.docker_args, pod_volume=paths.pod_volume, cdi_device=cdi.NAME)
        failing = found.failing(options["fail_on"])
        if failing:
            first = failing[0]
            result.update(failed=True, msg=f"{len(failing)} problems with hccn.conf in containers, the first: {first['host']}: {first['where']}: "
                                           f"{first['message']} ({first['hint']})")
        return result


def _registered(hostvars: Any, host: str, name: str) -> Any:
    try:
        return hostvars[host].get(name) if host in hostvars else None
    except AnsibleError:
        return None
