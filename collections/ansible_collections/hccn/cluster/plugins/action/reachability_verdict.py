# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Diagnoses pings between NPUs over all hosts. Needs no connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.controller import ControllerAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose import reachability
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.host_classes import LeftOut
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "register_name": {"type": "str", "required": True},
    "plan": {"type": "dict", "required": True},
    "left_out": {"type": "list", "elements": "dict", "default": [], "options": {
        "host": {"type": "str", "required": True}, "device": {"type": "int"}, "code": {"type": "str", "required": True},
        "message": {"type": "str", "required": True}}},
    "relative_floor": {"type": "float", "default": reachability.RELATIVE_FLOOR},
}


class ActionModule(ControllerAction):
    """Run once for all hosts. Lost packets do not fail this action: the conclusion fails the job."""

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(ARGUMENTS)
        if not 0 < options["relative_floor"] < 1:
            raise AnsibleActionFail(f"relative_floor is {options['relative_floor']}, it must be between 0 and 1")
        variables = HostVars((task_vars or {})["hostvars"])
        pinged = {host: _answer(variables.result(host, options["register_name"])) for host in options["hosts"]}
        left_out = [LeftOut(**entry) for entry in options["left_out"]]
        try:
            found = reachability.diagnose(options["hosts"], pinged, options["plan"], left_out, options["relative_floor"])
        except InputError as error:
            raise AnsibleActionFail(f"reachability_verdict: {error.sentence()}") from None
        return {**result, "changed": False, **found.diagnosis.as_dict(), "matrix": found.matrix, "lines": found.lines(), "packets_sent": found.sent,
                "packets_received": found.received, "median_rtt_us": found.median_rtt_us}


def _answer(found: Any) -> Any:
    return None if isinstance(found, InputError) or isinstance(found, Mapping) and found.get("skipped") is True else found
