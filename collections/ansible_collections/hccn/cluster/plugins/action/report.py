# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a page of a run of the history, on the controller, without a connection."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.hccn.cluster.plugins.module_utils._core.record import utc
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import collect, files, pinned, query, reader, where
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.baseline import normals
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import PAGE_FORMATS, PART, HistoryError, line, page_path
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import export, html, markdown, model, prometheus
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ARGUMENT_SPEC = {
    "history": {"type": "path"},
    "run_id": {"type": "str"},
    "path": {"type": "path"},
    "format": {"type": "str", "choices": list(PAGE_FORMATS), "default": "html"},
    "title": {"type": "str", "default": model.DEFAULT_TITLE},
    "language": {"type": "str", "choices": ["en", "zh"], "default": "en"},
    "baseline": {"type": "path"},
    "limit": {"type": "int", "default": 30},
    "mode": {"type": "raw"},
}


class ActionModule(ActionBase):
    """Options and file on the controller; choosing, reading and drawing are elsewhere.

    Errors are raised without their cause, which ansible-core would put behind a sentence that already says it.
    """

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validated, options = self.validate_argument_spec(argument_spec=ARGUMENT_SPEC)
        folder, this_run, lost = where.folder(options["history"]), where.this_run(), where.lost()
        history = query.History(folder, max(0, options["limit"]))
        try:
            run = reader.choose(folder, options["run_id"], this_run, lost)
            past = history.past(run, where.absolute(options["baseline"]) if options["baseline"] else None)
        except HistoryError as error:
            raise AnsibleActionFail(" ".join(filter(None, (error.message, error.hint)))) from None
        current = run.file.path == this_run and not lost
        page = model.build(run, options["title"], current, past, history.unreadable)
        path = where.absolute(options["path"] or page_path(folder, run.file.run_id, options["format"]))
        result.update(self._put(path, _content(options, run, current, page, past).encode("utf-8", "replace"), _mode(options["mode"])))
        result.update(run_id=run.file.run_id, incomplete=not run.complete, counts=_counts(run, page), state=page.state,
                      summary=export.artifacts(page, str(path)), history_file=_final_name(run, current))
        return result

    def _put(self, path: Path, content: bytes, mode: int) -> dict[str, Any]:
        try:
            before = path.read_bytes() if path.exists() else None
            changed = before != content
            if changed and not self._task.check_mode:
                files.replace(path, content, mode)
        except OSError as error:
            raise AnsibleActionFail(f"The page cannot be written to {path}: {error.strerror or error}.") from None
        written: dict[str, Any] = {"changed": changed, "path": str(path)}
        if self._task.diff:
            # A page is long, and its text says little to a reader of differences.
            written["diff"] = {"before_header": str(path), "after_header": str(path), "before": _sum(before), "after": _sum(content)}
        return written


def _content(options: dict[str, Any], run: reader.Run, current: bool, page: model.Page, past: query.Past) -> str:
    wanted, language = options["format"], options["language"]
    if wanted == "md":
        return markdown.render(page, language)
    if wanted == "json":
        return export.render(page)
    if wanted == "prom":
        return prometheus.render(page, past)
    if wanted == "jsonl":
        return _lines(run, current)
    if wanted == "baseline":
        made = normals([past.now, *past.earlier], max(1, options["limit"]))
        if not made:
            raise AnsibleActionFail(f"There is nothing to make a baseline of: no group has enough complete runs among the newest {options['limit']}.")
        return pinned.dump(made)
    return html.render(page, language)


def _lines(run: reader.Run, current: bool) -> str:
    """The run as it would stand in a history, for a host that keeps it longer: one that still goes on gets an end, one that was cut off does not."""
    end = [run.end] if run.end else [{**collect.end(utc(), len(run.records), [], {}), "before_end_of_run": True}] if current else []
    return b"".join(map(line, [run.header, *run.records, *run.events, *end])).decode("utf-8")


def _final_name(run: reader.Run, current: bool) -> str:
    """Where the run's file lies in a history when it is over, relative to the folder."""
    started = run.file.started
    return f"{started[:4]}/{started[4:6]}/{started[6:8]}/{started}-{run.file.run_id}.jsonl{'' if run.complete or current else PART}"


def _mode(given: Any) -> int:
    try:
        return files.FILE_MODE if given is None else int(str(given), 8) if isinstance(given, str) else int(given)
    except ValueError:
        raise AnsibleActionFail(f"mode is {given!r}, it must be octal, such as '0644'.") from None


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
