# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Judge jobs that each ran on a part of the hosts as one: their findings, and what only a comparison of all hosts shows.

AWX does not tell a slice that it is one. So the newest run of the playbook that concluded a host counts for it, and a host without one is not measured.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
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

    def count(self, run_id: str, classes: Mapping[str, str]) -> set[str]:
        """Count a run for the hosts that it concluded and no newer run did, and return them."""
        mine = set(classes).intersection(self.missing)
        if mine:
            self.runs.append(run_id)
            self.missing = [host for host in self.missing if host not in mine]
            self.classes.update((host, classes[host]) for host in mine if classes[host] in KEPT_CLASSES)
        return mine

    def add(self, one: Finding | None, mine: set[str], judged_again: Container[str]) -> None:
        """Add a finding of a run that is about one of its hosts, or about the run as a whole. ``judged_again``: causes that are searched over all runs."""
        if one is not None and mine and one.cause not in judged_again and (not one.hosts or mine.intersection(one.hosts)):
            self.findings.append(one)

    def add_missing(self, playbook: str, oldest: datetime.datetime) -> None:
        """Add a finding about the hosts that no run concluded."""
        if self.missing:
            self.findings.append(finding(
                "not_measured", of_host(*self.missing), f"no run of {playbook} since {oldest:%Y-%m-%d %H:%M} UTC concluded it", self.missing, stage=playbook,
                next_step=f"ansible-playbook hccn.cluster.{playbook} -e hccn_hosts={as_pattern(self.missing)}"))
            self.classes.update(dict.fromkeys(self.missing, "not_measured"))


def of(folder: Path, playbook: str, hosts: Sequence[str], oldest: datetime.datetime) -> Slices:
    """Return what the runs of ``playbook`` since ``oldest`` say about ``hosts``, including findings about the hosts that no run concluded."""
    found = Slices(missing=list(hosts))
    for run_id, records, classes in concluded_runs(folder, playbook, oldest):
        if not found.missing:
            break
        mine = found.count(run_id, classes)
        for record in records:
            sample = reading.first_sample(record)
            host = reading.text(reading.mapping(record.get("source")).get("host"))
            if record.get("kind") == "finding":
                found.add(Finding.of_sample(sample), mine, COMPARED)
            elif record.get("kind") == "device" and host in mine:
                number = reading.mapping(record["source"]).get("device")
                tls = {"tls": {"enabled": sample["tls"]}} if isinstance(sample.get("tls"), bool) else {}
                answer = found.answers.setdefault(host, {"product": reading.mapping(record.get("context")).get("product"), "devices": []})
                answer["devices"].append({**sample, **tls, "id": number})
    found.findings += consistency.over_hosts(found.answers, playbook)
    found.add_missing(playbook, oldest)
    return found


def concluded_runs(folder: Path, playbook: str, oldest: datetime.datetime) -> Iterator[tuple[str, list[dict[str, Any]], dict[str, str]]]:
    """Yield the id, the records and the classes of the hosts of each complete run of ``playbook`` since ``oldest``, newest first."""
    for entry in reader.since(folder, oldest):
        try:
            run = reader.read_if(entry, lambda content: _CONCLUDED in content)
        except HistoryError:
            continue
        if run is not None and run.complete and Path(reading.text(run.header.get("playbook"))).stem == playbook:
            yield entry.run_id, run.records, _classes(run.records)


def _classes(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the class of each host by the conclusion of a run."""
    conclusion = next((record for record in records if record.get("kind") == "conclusion"), {})
    by_class = reading.mapping(reading.first_sample(conclusion).get("hosts"))
    return {host: name for name, hosts in by_class.items() if isinstance(hosts, list) for host in hosts if isinstance(host, str)}


def oldest_of(within_minutes: float, now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.timezone.utc)) -> datetime.datetime:
    """Return the time before which a run is too old."""
    return now() - datetime.timedelta(minutes=within_minutes)
