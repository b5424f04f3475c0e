# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Finding cards: each finding with the time since when it is there, its switch ports, and the trends of its NPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._findings.causes import DEGRADED, FAILED, NOTE, SLOW, UNKNOWN
from .._findings.finding import FABRIC, KINDS, Component, Finding, finding, of_host
from .._history.nights import Night, subjects
from .._history.pair_results import Endpoint
from .._history.query import BaselineComparison
from . import trends
from .fields import Record, host_of, mapping, samples, text
from .trends import Trend
from .verdicts import FabricComponent, HostVerdict

PORTS, TRENDS = 8, 2
"""Switch ports and trends that a card shows."""
MOST_TRENDS = 8
"""Trends of all cards of a page."""
NEW, RUNS, ALL = "since_new", "since_runs", "since_all"
_PORT_CODE = "switch_port"


@dataclass(frozen=True)
class Since:
    """``kind``: NEW if the run before did not have the finding (``started`` is that run), RUNS or ALL if ``count`` runs in a row have it, including this one;
    ALL of the history."""

    kind: str
    started: str
    count: int


@dataclass(frozen=True)
class Port:
    """The switch port of an NPU."""

    end: Endpoint
    switch: str
    port: str


@dataclass(frozen=True)
class Card:
    """A finding and what is known about it. ``since`` is None without earlier runs."""

    finding: Finding
    since: Since | None
    ports: list[Port]
    trends: list[Trend]

    @property
    def evidence(self) -> list[Any]:
        """Return the evidence without the switch ports that the card shows anyway."""
        shown = {(port.end.host, port.end.device) for port in self.ports}
        return [piece for piece in self.finding.evidence
                if not (getattr(piece, "code", "") == _PORT_CODE and (piece.place.get("host"), piece.place.get("device")) in shown)]


def build(findings: Iterable[Finding], nights: Sequence[Night], records: Iterable[Record], comparison: BaselineComparison | None) -> list[Card]:
    """Return the cards of findings, in their order. ``nights``: earlier runs of the same playbook, newest first; ``records``: those of devices."""
    known = _ports(records)
    left = MOST_TRENDS
    cards = []
    for one in findings:
        ends = [Endpoint(host, device) for host, device in one.devices]
        shown = trends.of_endpoints(comparison, ends, min(TRENDS, left))
        left -= len(shown)
        cards.append(Card(one, since(one, nights), _of(one, ends, known), shown))
    return cards


_CAUSES = {"failed": ("failed_host", FAILED), "unreachable": ("unreachable_host", FAILED), "slow": ("slow_host", SLOW), "degraded": ("conf_differs", DEGRADED),
           "busy": ("busy_host", UNKNOWN), "not_measured": ("not_measured", UNKNOWN)}
"""Cause and severity by the class of a host without a finding."""


def of_verdicts(verdicts: Iterable[HostVerdict], fabric: Iterable[FabricComponent]) -> list[Finding]:
    """Return findings about the components and hosts that are not good, for a run without a conclusion."""
    found = [finding(f"{'failed' if row.state == 'failed' else 'slow'}_fabric", Component(row.kind if row.kind in KINDS else FABRIC, row.name or row.kind),
                     row.sentence, evidence=row.evidence, severity=FAILED if row.state == "failed" else SLOW) for row in fabric]
    for row in verdicts:
        if row.verdict not in ("good", "not_judged"):
            cause, severity = _CAUSES.get(row.verdict, (row.verdict, UNKNOWN))
            found.append(finding(cause, of_host(row.host), row.sentence, [row.host], evidence=row.evidence, severity=severity))
    return found


def since(one: Finding, nights: Sequence[Night]) -> Since | None:
    """Return since when a finding is there: the first of the runs in a row that have it."""
    if not nights or one.severity == NOTE:
        return None
    mine = subjects(one)
    count = next((place for place, night in enumerate(nights) if night.findings.keys().isdisjoint(mine)), len(nights))
    if count == 0:
        return Since(NEW, nights[0].started, 1)
    return Since(ALL if count == len(nights) else RUNS, nights[count - 1].started, count + 1)


def _ports(records: Iterable[Record]) -> Mapping[Endpoint, tuple[str, str]]:
    """Return switch and port of each NPU by LLDP."""
    found = {}
    for record in records:
        for sample in samples(record)[:1]:
            lldp = mapping(sample.get("lldp"))
            switch, port = text(lldp.get("system_name")), text(lldp.get("port"))
            if switch and port:
                found[Endpoint(host_of(record), mapping(record.get("source")).get("device"))] = (switch, port)
    return found


def _of(one: Finding, ends: Sequence[Endpoint], known: Mapping[Endpoint, tuple[str, str]]) -> list[Port]:
    found = {end: known[end] for end in ends if end in known}
    for piece in one.evidence:
        place = getattr(piece, "place", {})
        if getattr(piece, "code", "") == _PORT_CODE and {"host", "device", "switch", "port"} <= set(place):
            found[Endpoint(str(place["host"]), place["device"])] = (str(place["switch"]), str(place["port"]))
    return [Port(end, switch, port) for end, (switch, port) in list(found.items())[:PORTS]]
