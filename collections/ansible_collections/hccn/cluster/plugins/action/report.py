# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a page of a run of the history, on the controller, without a connection."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import files, reader
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import (
    DEFAULT_FOLDER,
    FILE_VARIABLE,
    FOLDER_VARIABLE,
    PATH_VARIABLE,
    HistoryError,
)
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import html, model

ARGUMENT_SPEC = {
    "history": {"type": "path"},
    "run_id": {"type": "str"},
    "path": {"type": "path"},
    "format": {"type": "str", "choices": ["html"], "default": "html"},
    "title": {"type": "str", "default": model.DEFAULT_TITLE},
}


class ActionModule(ActionBase):
    """Options and file on the controller; choosing, reading and drawing are elsewhere.

    Errors are raised without their cause, which ansible-core would put behind a sentence that already says it.
    """

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validated, options = self.validate_argument_spec(argument_spec=ARGUMENT_SPEC)
        folder = _absolute(options["history"] or _default_folder())
        this_run = os.environ.get(FILE_VARIABLE)
        try:
            run = reader.choose(folder, options["run_id"], Path(this_run) if this_run else None)
        except HistoryError as error:
            raise AnsibleActionFail(" ".join(filter(None, (error.message, error.hint)))) from None
        page = model.build(run, title=options["title"], current=str(run.file.path) == this_run)
        path = _absolute(options["path"] or folder / "reports" / f"{run.file.run_id}.html")
        result.update(self._put(path, html.render(page).encode("utf-8", "replace")))
        result.update(run_id=run.file.run_id, incomplete=not run.complete, counts=_counts(run, page))
        return result

    def _put(self, path: Path, content: bytes) -> dict[str, Any]:
        try:
            before = path.read_bytes() if path.exists() else None
            changed = before != content
            if changed and not self._task.check_mode:
                files.replace(path, content)
        except OSError as error:
            raise AnsibleActionFail(f"The page cannot be written to {path}: {error.strerror or error}.") from None
        written: dict[str, Any] = {"changed": changed, "path": str(path)}
        if self._task.diff:
            # A page is long, and its text says little to a reader of differences.
            written["diff"] = {"before_header": str(path), "after_header": str(path), "before": _sum(before), "after": _sum(content)}
        return written


def _absolute(path: str | Path) -> Path:
    return Path(os.path.abspath(os.path.expanduser(path)))


def _default_folder() -> str:
    return os.environ.get(FOLDER_VARIABLE) or os.environ.get(PATH_VARIABLE) or DEFAULT_FOLDER


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
