# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Health over runs (host by run), and what changed since the previous run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.words import natural
from .._findings.finding import Finding
from .._history.compare import VALUE, Snapshot, compare
from .._history.nights import Night, subjects
from .._history.query import BaselineComparison
from .._history.summary import Group
from .verdicts import HostVerdict

NIGHTS, HOSTS, CHANGES = 14, 40, 20
_NO_FIELDS: dict[str, Any] = {**dict.fromkeys(Group._fields, ""), "size_bytes": None}


@dataclass(frozen=True)
class Health:
    """``started`` of each run, oldest first; ``hosts``: those that were not good at least once, with their class in each run, empty if unknown; ``good``: the
    number of all others; ``hidden``: hosts that were not good but are not shown."""

    started: list[str]
    hosts: list[tuple[str, list[str]]]
    good: int
    hidden: int


@dataclass(frozen=True)
class ValueChange:
    """The median of a group, or of one ``endpoint`` of it, in the previous run and in this one; positive percents are better."""

    group: Group
    endpoint: str
    before: float
    now: float
    percent: float


@dataclass(frozen=True)
class Changes:
    """What is different from the run ``run_id``. ``appeared`` and ``vanished``: cause and component of findings."""

    run_id: str
    started: str
    appeared: list[tuple[str, str]]
    vanished: list[tuple[str, str]]
    values: list[ValueChange]


def over_runs(started: str, verdicts: Sequence[HostVerdict], nights: Sequence[Night]) -> Health | None:
    """Return the health of hosts over this run and the ones before, None without any. ``nights``: newest first."""
    if not nights:
        return None
    runs = [night.classes for night in reversed(nights[:NIGHTS - 1])] + [{row.host: row.verdict for row in verdicts}]
    names = sorted({host for classes in runs for host in classes}, key=natural)
    rows = [(host, [classes.get(host, "") for classes in runs]) for host in names]
    bad = [row for row in rows if set(row[1]) - {"good", ""}]
    bad.sort(key=lambda row: (row[1][-1] in ("good", ""), -sum(state not in ("good", "") for state in row[1])))
    return Health([*(night.started for night in reversed(nights[:NIGHTS - 1])), started], bad[:HOSTS], len(rows) - len(bad), max(0, len(bad) - HOSTS))


def changes(findings: Iterable[Finding], nights: Sequence[Night], comparison: BaselineComparison | None) -> Changes | None:
    """Return the changes since the previous run; of the findings since the one before of the same playbook. None without an earlier run."""
    earlier = next((summary for summary in comparison.earlier if summary.complete), None) if comparison else None
    if not nights and earlier is None:
        return None
    run_id, started = (nights[0].run_id, nights[0].started) if nights else (earlier.run_id, earlier.started) if earlier else ("", "")
    mine: dict[Any, str] = {key: one.component.name for one in findings if one.severity != "note" for key in subjects(one)}
    before: dict[Any, str] = dict(nights[0].findings) if nights else mine
    appeared = _named((key, name) for key, name in mine.items() if key not in before)
    vanished = _named((key, name) for key, name in before.items() if key not in mine)
    return Changes(run_id, started, appeared, vanished, _values(comparison) if comparison else [])


def _named(found: Iterable[tuple[Any, str]]) -> list[tuple[str, str]]:
    return sorted({(key[0], name) for key, name in found}, key=lambda pair: (pair[0], natural(pair[1])))


def _values(comparison: BaselineComparison) -> list[ValueChange]:
    """Return the medians of groups and NPUs that changed by more than the noise, those that became worse first."""
    earlier = next((summary for summary in comparison.earlier if summary.complete), None)
    if earlier is None:
        return []
    spreads = {group: known.spread / known.median for group, known in comparison.baselines.items() if known.median}
    found = compare(Snapshot(earlier), Snapshot(comparison.current), spreads).changes
    return [ValueChange(Group(**{**_NO_FIELDS, **(one.group or {})}), "" if one.host is None else one.name, one.before, one.after, one.change_percent)
            for one in found if one.kind == VALUE and one.change_percent is not None]
