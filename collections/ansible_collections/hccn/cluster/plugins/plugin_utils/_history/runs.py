# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Overviews of runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .format import DROPPED
from .reader import Run

MEASURED = ("rdma", "matrix", "collective", "ping")
"""Kinds of records with measurements."""


def overview(run: Run) -> dict[str, Any]:
    """Return the fields of a run that history_info lists."""
    kinds = Counter(str(record.get("kind")) for record in run.records)
    statuses = Counter(record.get("status") for record in run.records if record.get("kind") not in ("verdict", "finding", "conclusion"))
    classes = Counter(_class(record) for record in run.records if record.get("kind") == "verdict" and (record.get("source") or {}).get("host"))
    return {
        "run_id": run.file.run_id, "path": str(run.file.path), "started_at": run.header.get("started_at"), "finished_at": (run.end or {}).get("finished_at"),
        "playbook": run.header.get("playbook"), "controller": run.header.get("controller"), "check_mode": run.header.get("check_mode") is True,
        "complete": run.complete, "kinds": dict(sorted(kinds.items())), "failed": statuses["failed"], "not_run": statuses["not_run"],
        "hosts": dict(sorted(classes.items())), "failed_tasks": sum(event.get("ignored") is not True and event.get("event") != DROPPED for event in run.events),
        "skipped_lines": run.bad_lines + run.unknown_lines, "good": is_good(run),
    }


def is_good(run: Run) -> bool:
    """Return True if the run measured something, ended, and found nothing wrong."""
    verdicts = [_class(record) for record in run.records if record.get("kind") == "verdict"]
    return (run.complete and any(record.get("kind") in MEASURED for record in run.records) and set(verdicts) <= {"good"}
            and not any(record.get("status") == "failed" for record in run.records)
            and not any(event.get("ignored") is not True for event in run.events))


def _class(record: dict[str, Any]) -> str:
    samples = record.get("samples")
    first = samples[0] if isinstance(samples, list) and samples and isinstance(samples[0], dict) else {}
    return str(first.get("class") or ("good" if record.get("status") == "ok" else "failed"))
