# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Render the page as JSON for other programs (schema hccn.cluster/report/1, see docs/schemas)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from .._history.baseline import as_fields
from .heatmaps import Map
from .model import Page
from .png import FAILED

SCHEMA = "hccn.cluster/report/1"


def render(page: Page) -> str:
    """Return the document with one line per key, in a fixed order."""
    parts = [f"{json.dumps(key)}:{json.dumps(value, ensure_ascii=False, separators=(',', ':'))}" for key, value in document(page).items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def document(page: Page) -> dict[str, Any]:
    """Return the page as plain data."""
    return {
        "schema": SCHEMA,
        "title": page.title,
        "state": page.state,
        "run": {**asdict(page.facts), "tools": dict(page.facts.tools),
                "kinds": {kind: {"ok": ok, "failed": failed, "not_run": not_run} for kind, ok, failed, not_run in page.facts.kinds}},
        "classes": page.classes,
        "conclusion": {"result": page.conclusion.result, "fail_on": page.conclusion.fail_on} if page.conclusion else None,
        "findings": [one.as_sample() for one in page.findings],
        "hosts": [{"host": row.host, "class": row.verdict, "message": row.sentence, "evidence": row.evidence, "judged": row.judged} for row in page.verdicts],
        "components": [{"kind": row.kind, "name": row.name, "class": row.state, "message": row.sentence, "evidence": row.evidence, "certain": row.certain,
                        "certainty": row.certainty}
                       for row in page.fabric],
        "worst": [{"source": row.source, "target": row.target, "value": row.value, "share": row.share, "unit": row.unit, "message": row.message,
                   "source_median": row.source_median, "target_median": row.target_median, "reverse": row.reverse} for row in page.worst],
        "maps": [_map(found) for found in (page.maps.pairs, page.maps.rails, page.maps.leaves) if found] if page.maps else [],
        "regressions": [found.as_dict() for found in page.regressions],
        "trends": [{**as_fields(trend.group), "end": trend.endpoint, "worse": trend.worse, "limit": trend.limit,
                    "baseline": trend.baseline.median if trend.baseline else None, "points": [asdict(point) for point in trend.points]}
                   for trend in page.trends],
        "collectives": [asdict(run) for run in page.collectives],
        "latencies": [asdict(row) for row in page.latencies],
        "devices": {**_devices(page), "tls": dict(page.devices.tls), "links": dict(page.devices.links), "health": dict(page.devices.health)},
        "coverage": page.coverage.as_dict(),
        "failures": [asdict(row) for row in page.failures],
        "task_failures": [asdict(row) for row in page.task_failures],
    }


def _devices(page: Page) -> dict[str, Any]:
    """Return the NPUs without what the page derives from them."""
    return {key: value for key, value in asdict(page.devices).items() if key not in ("common", "differing", "differ", "left")}


def _map(found: Map) -> dict[str, Any]:
    """Return a map. ``values`` has null for cells that failed or were not measured; ``failed`` lists the positions of failed cells."""
    failed = [[row, column] for row, line in enumerate(found.states) for column, state in enumerate(line) if state == FAILED]
    return {"name": found.name, "rows": found.rows, "columns": found.columns, "unit": found.unit, "expected": found.expected.value,
            "basis": found.expected.basis, "values": found.values, "failed": failed}


def artifacts(page: Page, path: str) -> dict[str, Any]:
    """Return the summary that set_stats publishes, so that a workflow can branch on it."""
    covered = page.coverage
    worst = page.worst[0] if page.worst else None
    return {
        "run_id": page.facts.run_id, "path": path, "state": page.state, "hosts": page.classes, "bad_hosts": [row.host for row in page.bad][:50],
        "findings": page.severities,
        "components": [row.name or row.kind for row in page.fabric][:50], "regressions": page.regression_count,
        "worst": {"source": worst.source, "target": worst.target, "value": worst.value, "unit": worst.unit} if worst else {},
        "coverage": {"hosts": covered.hosts, "hosts_measured": covered.hosts_measured, "pairs_met": covered.pairs_met,
                     "pairs_possible": covered.pairs_possible,
                     **({"pairs_planned": covered.planned.pairs, "pairs_not_measured": covered.planned.not_measured} if covered.planned else {})},
    }
