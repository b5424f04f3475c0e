# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows what a run will measure and records it in the history. Needs no connection."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import is_plan
from ansible_collections.hccn.cluster.plugins.module_utils._core.words import LONGEST_TEXT, printable
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_options import ROCE_TEST
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.controller import ControllerAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.endpoint_words import in_words_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_record import plan_record
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.measurable import line
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ARGUMENTS = {
    "run_id": {"type": "str", "required": True},
    "plan": {"type": "dict", "required": True},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "left_out": {"type": "list", "elements": "dict", "default": [], "options": {
        "host": {"type": "str", "required": True}, "device": {"type": "int"}, "code": {"type": "str", "required": True},
        "message": {"type": "str", "required": True}}},
    "text": {"type": "list", "elements": "str", "default": []},
    "confirmation_of": {"type": "str"},
    "tool": {"type": "str", "default": ROCE_TEST},
}

SHOWN = 10
"""Largest number of left-out hosts and NPUs that are displayed. The record counts all of them."""


class ActionModule(ControllerAction):
    """Runs once, for all hosts."""

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(ARGUMENTS)
        plan = options["plan"]
        if not is_plan(plan):
            raise AnsibleActionFail("fabric_plan: plan is not a pair plan: create it with the filter hccn.cluster.pair_plan")
        texts = [in_words_of(options["tool"], text) for text in options["text"]]
        try:
            found = plan_record(options["run_id"], plan, options["hosts"], options["left_out"], texts, options["confirmation_of"], options["tool"])
        except InputError as error:
            raise AnsibleActionFail(f"fabric_plan: {error.sentence()}") from None
        left_out = [in_words_of(options["tool"], line(reason)) for reason in options["left_out"][:SHOWN]]
        more = len(options["left_out"]) - len(left_out)
        for text in [*texts, *left_out, *([f"... and {more} more"] if more else [])]:
            self._display.display(printable(text, LONGEST_TEXT))
        return {**result, "changed": False, "run_id": options["run_id"], "measurements": [found]}
