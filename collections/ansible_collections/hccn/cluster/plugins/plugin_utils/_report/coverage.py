# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a run covered, and what not."""

from __future__ import annotations

from dataclasses import dataclass

from .._history.cells import FAILED, NOT_RUN
from .._history.reader import Run
from .fields import Record, hosts_of, mapping, samples, text, unique
from .heat import Measured

MEASURING = ("rdma", "matrix", "collective", "ping")


@dataclass(frozen=True)
class Coverage:
    """``pairs_possible`` are the pairs of the hosts that a pair was measured with, both directions as one. ``notes``: what a plan said of itself."""

    hosts: int
    hosts_measured: int
    not_measured: list[str]
    pairs_met: int
    pairs_possible: int
    directions: int
    failed: int
    not_run: int
    notes: list[str]


def build(run: Run, measured: Measured, hosts: list[str]) -> Coverage:
    """``hosts``: all that the run speaks of."""
    seen = {host for record in run.records if record.get("kind") in MEASURING and record.get("status") == "ok" for host in _hosts(record)}
    met = {frozenset((cell.source.host, cell.target.host)) for cell in measured.cells}
    met = {pair for pair in met if len(pair) == 2}
    return Coverage(
        hosts=len(hosts),
        hosts_measured=len(seen & set(hosts)),
        not_measured=unique(set(hosts) - seen),
        pairs_met=len(met),
        pairs_possible=len(hosts) * (len(hosts) - 1) // 2,
        directions=len(measured.cells),
        failed=sum(cell.state == FAILED for cell in measured.without),
        not_run=sum(cell.state == NOT_RUN for cell in measured.without),
        notes=_notes(run.records),
    )


def _hosts(record: Record) -> list[str]:
    """Of a row of a matrix, only those with a value."""
    if record.get("kind") != "matrix":
        return hosts_of(record)
    listed = record.get("hosts")
    names = [str(name) for name in listed] if isinstance(listed, list) else []
    found = [text(mapping(record.get("source")).get("host"))]
    for sample in samples(record):
        values = sample.get("bandwidth_gbit_s")
        values = values if isinstance(values, list) else mapping(sample.get("latency_us")).get("typical")
        found += [name for name, value in zip(names, values if isinstance(values, list) else []) if value is not None]
    return [name for name in found if name]


def _notes(records: list[Record]) -> list[str]:
    notes = []
    for record in records:
        if record.get("kind") == "plan":
            for sample in samples(record):
                for value in (sample.get("text"), mapping(sample.get("power")).get("text"), *(mapping(sample.get("power")).get("blind") or [])):
                    if isinstance(value, str) and value:
                        notes.append(value)
    return list(dict.fromkeys(notes))
