# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Build and write the page of a finished or current run, independent of Ansible."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...module_utils._core.record import utc
from .._history import collect, files, location, nights, pinned, query, reader
from .._history.baseline import LEAST_RUNS, compute_baselines
from .._history.format import HistoryError, line, page_path
from . import export, html, index, markdown, model, prometheus

DEFAULT_LIMIT = 30
"""Default maximum number of earlier runs for trends and baselines."""


@dataclass(frozen=True)
class Written:
    """A written page. ``changed``: the file did not exist or had different content (``before``), and it is not the page that the run of this process adds
    to its own history. ``current``: the run of the page is not over."""

    path: Path
    changed: bool
    page: model.Page
    run: reader.Run
    current: bool
    before: bytes | None
    content: bytes


def write(folder: Path, run_id: str | None = None, path: Path | None = None, *, page_format: str = "html", title: str = model.DEFAULT_TITLE,
          language: str = "en", baseline: Path | None = None, limit: int = DEFAULT_LIMIT, mode: int = files.FILE_MODE, dry_run: bool = False) -> Written:
    """Write the page of a run in the history ``folder``: the run ``run_id``, else the run of this process, else the newest one.

    ``path``: None for the default path in the folder. ``baseline``: a file with pinned baselines. ``dry_run``: do not write the file.

    Raise HistoryError; its codes include page_not_written, and no_baseline if there are not enough runs for a baseline.
    """
    this_run, lost = location.this_run(), location.lost()
    history = query.History(folder, max(0, limit))
    run = reader.choose(folder, run_id, this_run, lost)
    comparison = history.compare(run, baseline)
    current = run.file.path == this_run and not lost
    of_folder = path is None and page_format == "html"
    page = model.build(run, title, current, comparison, history.unreadable, nights.before(folder, run, max(0, limit)))
    if page_format == "baseline":
        text = _baseline(comparison, limit)
    elif page_format == "jsonl":
        text = _lines(run, current)
    else:
        text = _rendered(page, comparison, page_format, language, page_path(folder, run.file.run_id, page_format) if of_folder else None)
    of_history = current and path is None  # a new record like the file of the run, of which no run has two
    path, content = path or page_path(folder, run.file.run_id, page_format), text.encode("utf-8", "replace")
    if of_folder and not dry_run:
        _update_index(path, page, language, mode)
    before = _put(path, content, mode, dry_run)
    return Written(path, before != content and not of_history, page, run, current, before, content)


def _put(path: Path, content: bytes, mode: int, dry_run: bool) -> bytes | None:
    """Write the file and return its previous content, None if it did not exist."""
    try:
        before = path.read_bytes() if path.exists() else None
        if before != content and not dry_run:
            files.replace(path, content, mode)
    except OSError as error:
        raise HistoryError("page_not_written", f"The page cannot be written to {path}: {error.strerror or error}.") from None
    return before


def _update_index(path: Path, page: model.Page, language: str, mode: int) -> None:
    """Write the index beside the page before the page itself, so that the page is the newest file of the folder."""
    try:
        index.update(path.parent, index.of_page(page, path.name), language, mode)
    except OSError as error:
        raise HistoryError("page_not_written", f"The index of the reports cannot be written beside {path}: {error.strerror or error}.") from None


def _rendered(page: model.Page, comparison: query.BaselineComparison, page_format: str, language: str, path: Path | None = None) -> str:
    """Return the text of a page. ``path``: that of a page in the folder of the reports, which is linked to the others."""
    if page_format == "md":
        return markdown.render(page, language)
    if page_format == "json":
        return export.render(page)
    if page_format == "prom":
        return prometheus.render(page, comparison)
    if path is None:
        return html.render(page, language)
    entry = index.of_page(page, path.name)
    links = index.nav(*index.neighbours(entry, index.entries(path.parent)), has_changes=page.changes is not None)
    return html.render(page, language, links, index.encoded(entry))


def _baseline(comparison: query.BaselineComparison, limit: int) -> str:
    computed = compute_baselines([comparison.current, *comparison.earlier], max(1, limit))
    if not computed:
        raise HistoryError("no_baseline", f"No baseline can be written: among the newest {limit} runs, no group of comparable values has {LEAST_RUNS} "
                           "complete runs.")
    return pinned.dump(computed)


def _lines(run: reader.Run, current: bool) -> str:
    """Return the lines of a run for a host that archives it. An end line is added if the run is not over, but not if it was interrupted."""
    end = [run.end] if run.end else [{**collect.end(utc(), len(run.records), [], {}), "before_end_of_run": True}] if current else []
    return b"".join(map(line, [run.header, *run.records, *run.events, *end])).decode("utf-8")
