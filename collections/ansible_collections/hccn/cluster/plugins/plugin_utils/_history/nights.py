# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The conclusions of earlier runs: the class of each host, and what each finding was about. Only the lines of conclusions are parsed."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._findings.finding import Finding
from .._trust.provenance import of_conclusion
from . import reader, shape
from .format import HistoryError
from .reader import Run, RunFile

EXAMINED_PER_RUN = 4
"""Files that are examined per requested run, so that nightly checks are found among runs of other playbooks."""
_KINDS = (b'"kind":"conclusion"', b'"kind":"finding"')

Subject = tuple[str, str, int | None]
"""The cause of a finding, the host (the component, if the finding is about no host) and the NPU, None for all."""


@dataclass(frozen=True)
class Night:
    """A concluded run. ``started`` is compact UTC; ``classes``: the class of each host; ``findings``: the component of each finding by its subject."""

    run_id: str
    started: str
    result: str
    classes: dict[str, str]
    findings: dict[Subject, str]


def subjects(one: Finding) -> list[Subject]:
    """Return what a finding is about."""
    if one.devices:
        return [(one.cause, host, device) for host, device in one.devices]
    return [(one.cause, host, None) for host in one.hosts] or [(one.cause, one.component.name, None)]


def before(folder: Path, run: Run, limit: int) -> list[Night]:
    """Return the concluded runs of the playbook of ``run`` before it, newest first, at most ``limit``. Files that cannot be read are skipped."""
    older = (entry for entry in reader.runs(folder) if entry.order < run.file.order)
    examined = itertools.islice(older, limit * EXAMINED_PER_RUN)
    return list(itertools.islice(filter(None, (_read(entry, run.header.get("playbook")) for entry in examined)), limit))


def _read(entry: RunFile, playbook: Any) -> Night | None:
    try:
        content = reader.content_of(entry.path)
    except (OSError, HistoryError):
        return None
    lines = content.split(b"\n")
    header = shape.parse_line(lines[0]) if lines else None
    if header is None or header.get("playbook") != playbook or _KINDS[0] not in content:
        return None
    records = (shape.parse_line(line) for line in lines[1:] if any(kind in line for kind in _KINDS))
    return of_records(entry.run_id, entry.started, (record for record in records if record is not None and shape.is_well_formed(record)))


def of_records(run_id: str, started: str, records: Iterable[dict[str, Any]]) -> Night | None:
    """Return the last conclusion of the records, with the findings since the conclusion before it; None without a conclusion."""
    found: Night | None = None
    pending: dict[Subject, str] = {}
    for record in records:
        samples = record.get("samples")
        samples = samples if isinstance(samples, list) else []
        if record.get("kind") == "conclusion":
            sample = samples[0] if samples and isinstance(samples[0], dict) else {}
            found = Night(run_id, started, str(sample.get("result")), dict(_classes(sample.get("hosts"))), pending)
            pending = {}
        elif record.get("kind") == "finding" and of_conclusion(record):
            for one in filter(None, map(Finding.of_sample, samples)):
                if one.severity != "note":
                    pending.update(dict.fromkeys(subjects(one), one.component.name))
    return found


def _classes(hosts: Any) -> Iterator[tuple[str, str]]:
    for name, members in (hosts if isinstance(hosts, dict) else {}).items():
        for host in members if isinstance(members, list) else ():
            yield str(host), str(name)
