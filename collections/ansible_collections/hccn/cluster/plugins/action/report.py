# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the page of a run of the history."""

from __future__ import annotations

import hashlib
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.controller import ControllerAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import files, reader, location
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import PAGE_FORMATS, PART, HistoryError
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import export, model
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import page as pages
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ARGUMENT_SPEC = {
    "history": {"type": "path"},
    "run_id": {"type": "str"},
    "path": {"type": "path"},
    "format": {"type": "str", "choices": list(PAGE_FORMATS), "default": "html"},
    "title": {"type": "str", "default": model.DEFAULT_TITLE},
    "language": {"type": "str", "choices": ["en", "zh"], "default": "en"},
    "baseline": {"type": "path"},
    "limit": {"type": "int", "default": pages.DEFAULT_LIMIT},
    "mode": {"type": "raw"},
}


class ActionModule(ControllerAction):
    """Map options and results; _history chooses and reads the run, _report renders it.

    Errors are raised without their cause, which ansible-core would append to a message that already states it.
    """

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validated, options = self.validate_argument_spec(argument_spec=ARGUMENT_SPEC)
        try:
            written = pages.write(
                location.folder(options["history"]), options["run_id"], location.absolute(options["path"]) if options["path"] else None,
                page_format=options["format"], title=options["title"], language=options["language"],
                baseline=location.absolute(options["baseline"]) if options["baseline"] else None, limit=options["limit"], mode=_mode(options["mode"]),
                dry_run=self._task.check_mode)
        except HistoryError as error:
            raise AnsibleActionFail(" ".join(filter(None, (error.message, error.hint)))) from None
        run, page = written.run, written.page
        result.update(changed=written.changed, path=str(written.path), run_id=run.file.run_id, incomplete=not run.complete, counts=_counts(run, page),
                      state=page.state, summary=export.artifacts(page, str(written.path)), history_file=_final_name(run, written.current))
        if self._task.diff:
            # A page is long and its diff unreadable, so only size and checksum are compared.
            result["diff"] = {"before_header": str(written.path), "after_header": str(written.path), "before": _sum(written.before),
                              "after": _sum(written.content)}
        return result


def _final_name(run: reader.Run, current: bool) -> str:
    """Return the final path of the run's file, relative to the folder of the history."""
    started = run.file.started
    return f"{started[:4]}/{started[4:6]}/{started[6:8]}/{started}-{run.file.run_id}.jsonl{'' if run.complete or current else PART}"


def _mode(given: Any) -> int:
    try:
        return files.FILE_MODE if given is None else int(str(given), 8) if isinstance(given, str) else int(given)
    except ValueError:
        raise AnsibleActionFail(f"mode is {given!r}. It must be an octal number such as '0644'.") from None


def _sum(content: bytes | None) -> str:
    return "absent\n" if content is None else f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}\n"


def _counts(run: reader.Run, page: model.Page) -> dict[str, Any]:
    return {
        "records": len(run.records),
        "failed": sum(record.get("status") == "failed" for record in run.records),
        "failed_tasks": sum(row.event == "failed" for row in page.task_failures),
        "unreachable": sum(row.event == "unreachable" for row in page.task_failures),
        "skipped_lines": run.bad_lines + run.unknown_lines,
        "hosts": page.classes,
    }
