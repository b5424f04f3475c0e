# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Judge jobs that each ran on a part of the hosts as one: their findings, and what only a comparison of all hosts shows.

AWX does not tell a slice that it is one. So the newest run of the playbook that concluded a host counts for it, and a host without one is not measured.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._findings import consistency, reading
from .._findings.causes import as_pattern
from .._findings.finding import Finding, finding, of_host
from . import reader
from .format import HistoryError

COMPARED = frozenset({option.cause for option in consistency.OPTIONS} | {"address_conflict", "machine_listed_twice", "serial_duplicate"})
"""Causes of findings that compare hosts. A slice compares its own hosts only, so all hosts are compared again."""

KEPT_CLASSES = ("unreachable", "slow", "busy", "not_measured")
"""Classes of hosts that a finding does not always explain."""

_CONCLUDED = b'"conclusion"'


@dataclass
class Slices:
    """``runs``: ids of the runs. ``answers``: by host, what device_info returned, as far as the history keeps it. ``missing``: hosts without a run."""

    runs: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def of(folder: Path, playbook: str, hosts: Sequence[str], oldest: datetime.datetime) -> Slices:
    """Return what the runs of ``playbook`` since ``oldest`` say about ``hosts``, including findings about the hosts that no run concluded."""
    found = Slices(missing=list(hosts))
    for records, mine in _runs(folder, playbook, found, oldest):
        for record in records:
            sample = next(iter(reading.mappings(record.get("samples"))), {})
            host = reading.text(reading.mapping(record.get("source")).get("host"))
            if record.get("kind") == "finding":
                _add_finding(found, Finding.of_sample(sample), mine)
            elif record.get("kind") == "device" and host in mine:
                number = reading.mapping(record["source"]).get("device")
                tls = {"tls": {"enabled": sample["tls"]}} if isinstance(sample.get("tls"), bool) else {}
                answer = found.answers.setdefault(host, {"product": reading.mapping(record.get("context")).get("product"), "devices": []})
                answer["devices"].append({**sample, **tls, "id": number})
    found.findings += consistency.over_hosts(found.answers, playbook)
    if found.missing:
        found.findings.append(finding(
            "not_measured", of_host(*found.missing), f"no run of {playbook} since {oldest:%Y-%m-%d %H:%M} UTC concluded it", found.missing, stage=playbook,
            next_step=f"ansible-playbook hccn.cluster.{playbook} -e hccn_hosts={as_pattern(found.missing)}"))
        found.classes.update(dict.fromkeys(found.missing, "not_measured"))
    return found


def _runs(folder: Path, playbook: str, found: Slices, oldest: datetime.datetime) -> Iterator[tuple[list[dict[str, Any]], set[str]]]:
    """Yield the records of each run and the hosts for which it counts, newest first, until each host has one."""
    for entry in reader.since(folder, oldest):
        if not found.missing:
            return
        try:
            run = reader.read_if(entry, lambda content: _CONCLUDED in content)
        except HistoryError:
            continue
        if run is None or not run.complete or Path(reading.text(run.header.get("playbook"))).stem != playbook:
            continue
        classes = _classes(run.records)
        mine = set(classes).intersection(found.missing)
        if mine:
            found.runs.append(entry.run_id)
            found.missing = [host for host in found.missing if host not in mine]
            found.classes.update((host, classes[host]) for host in mine if classes[host] in KEPT_CLASSES)
            yield run.records, mine


def _classes(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the class of each host by the conclusion of a run."""
    conclusion = next((record for record in records if record.get("kind") == "conclusion"), {})
    sample = next(iter(reading.mappings(conclusion.get("samples"))), {})
    return {host: name for name, hosts in reading.mapping(sample.get("hosts")).items() if isinstance(hosts, list) for host in hosts if isinstance(host, str)}


def _add_finding(found: Slices, one: Finding | None, mine: set[str]) -> None:
    """Add a finding of a run that is about one of its hosts, or about the run as a whole."""
    if one is not None and one.cause not in COMPARED and (not one.hosts or mine.intersection(one.hosts)):
        found.findings.append(one)


def oldest_of(within_minutes: float, now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.timezone.utc)) -> datetime.datetime:
    """Return the time before which a run is too old."""
    return now() - datetime.timedelta(minutes=within_minutes)
