# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Query the history."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible_collections.hccn.cluster.plugins.module_utils._core.words import LONGEST_TEXT, printable
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.controller import ControllerAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import query, reader, location
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import HistoryError
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

SELECTION = {"operation": {"type": "str"}, "size_bytes": {"type": "int"}}
ARGUMENT_SPEC = {
    "history": {"type": "path"},
    "limit": {"type": "int", "default": 30},
    "run_id": {"type": "str"},
    "baseline": {"type": "path"},
    "endpoints": {"type": "list", "elements": "dict", "default": [], "options": {
        "host": {"type": "str", "required": True}, "device": {"type": "str"}, **SELECTION}},
    "pairs": {"type": "list", "elements": "dict", "default": [], "options": {
        "source": {"type": "str", "required": True}, "source_device": {"type": "str"}, "target": {"type": "str", "required": True},
        "target_device": {"type": "str"}, **SELECTION}},
    "collectives": {"type": "list", "elements": "dict", "default": [], "options": SELECTION},
    "compare": {"type": "list", "elements": "str", "default": []},
    "fail_on": {"type": "str", "choices": ["regression", "never"], "default": "never"},
}
MOST_NAMED = 10


class ActionModule(ControllerAction):
    """Map options and results; _history reads and compares the runs."""

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validated, options = self.validate_argument_spec(argument_spec=ARGUMENT_SPEC)
        if len(options["compare"]) not in (0, 2):
            raise AnsibleActionFail(f"compare has {len(options['compare'])} run ids. Give two, the earlier one first.")
        if options["limit"] < 1:
            raise AnsibleActionFail(f"limit is {options['limit']}. It must be 1 or more.")
        history = query.History(location.folder(options["history"]), options["limit"])
        try:
            result.update(_answers(history, options))
        except HistoryError as error:
            raise AnsibleActionFail(" ".join(filter(None, (error.message, error.hint)))) from None
        if options["fail_on"] == "regression" and result["regressions"]:
            messages = [printable(one["message"], LONGEST_TEXT) for one in result["regressions"][:MOST_NAMED]]
            more = len(result["regressions"]) - len(messages)
            result.update(failed=True, msg="; ".join(messages) + (f"; and {more} more" if more else ""))
        return result


def _answers(history: query.History, options: dict[str, Any]) -> dict[str, Any]:
    listed = list(history.newest())
    answers: dict[str, Any] = {
        "changed": False,
        "runs": [known.overview for known in listed],
        "last_good": next((known.overview for known in listed if known.overview["good"]), None),
        "series": history.trends(query.trend_queries(options["endpoints"], options["pairs"], options["collectives"])),
        "comparison": history.changes(*options["compare"], location.this_run()).as_dict() if options["compare"] else None,
        **_judged(history, options, listed),
    }
    return {**answers, "unreadable": history.unreadable}


def _judged(history: query.History, options: dict[str, Any], listed: list[query.KnownRun]) -> dict[str, Any]:
    if not listed and not options["run_id"]:
        return {"judged_run": None, "verdicts": [], "regressions": []}
    run = reader.choose(history.folder, options["run_id"], location.this_run())
    comparison = history.compare(run, location.absolute(options["baseline"]) if options["baseline"] else None)
    return {"judged_run": run.file.run_id, "verdicts": query.verdicts(comparison), "regressions": [found.as_dict() for found in comparison.regressions]}
