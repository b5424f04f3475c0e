# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The verdict on each host: from the conclusion of the run, else from its last verdict, else derived from its records and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...module_utils._core.words import natural
from .._diagnose.component import CERTAIN, CERTAINTIES, POSSIBLE
from .._findings.finding import Finding
from .._history.format import DROPPED
from .._history.reader import Run
from .._history.runs import MEASURED
from . import kept_conclusion
from .fields import Record, error_of, host_of, hosts_of, mapping, samples, text

# Worst first. not_judged: the host was measured, but there is no verdict.
CLASSES = ("failed", "unreachable", "slow", "degraded", "busy", "not_measured", "not_judged", "good")
# Codes of an NPU that a job uses. A tool that was briefly busy has other codes.
_IN_USE = ("busy", "device_busy")


@dataclass(frozen=True)
class HostVerdict:
    """The class of a host with its reason and evidence. ``judged`` is False if the class is derived."""

    host: str
    verdict: str
    sentence: str
    evidence: list[str]
    judged: bool


@dataclass(frozen=True)
class FabricComponent:
    """A component of the fabric that belongs to no host: a leaf, a rail, a path."""

    kind: str
    name: str
    state: str
    sentence: str
    evidence: list[str]
    certainty: str

    @property
    def certain(self) -> bool:
        """Whether nothing else may be the cause."""
        return self.certainty == CERTAIN


def components(records: list[Record]) -> list[FabricComponent]:
    """Return the components in verdicts without a host and in findings of earlier releases, each once, in their order."""
    found: dict[tuple[str, str], FabricComponent] = {}
    for record in records:
        for sample in samples(record) if record.get("kind") == "finding" or (record.get("kind") == "verdict" and not host_of(record)) else []:
            if kept_conclusion.has_component(sample):
                continue
            kind, name, evidence = text(sample.get("kind")), text(sample.get("name")), sample.get("evidence")
            found[kind, name] = FabricComponent(kind, name, text(sample.get("class")) or "failed", text(sample.get("message")),
                                                [str(item) for item in evidence] if isinstance(evidence, list) else [], _certainty(sample))
    return list(found.values())


def _certainty(sample: Mapping[str, Any]) -> str:
    """Return how sure a component is. Records of earlier releases have only ``certain``."""
    word = text(sample.get("certainty"))
    return word if word in CERTAINTIES else POSSIBLE if sample.get("certain") is False else CERTAIN


def severity(verdict: str) -> int:
    """Return the position of a class on the page; unknown classes come first."""
    return CLASSES.index(verdict) if verdict in CLASSES else -1


def build(run: Run, conclusion: kept_conclusion.KeptConclusion | None = None, findings: Mapping[str, list[Finding]] | None = None) -> list[HostVerdict]:
    """Return a row per host of the run, worst first, then in natural order.

    If there is a ``conclusion``, it determines the hosts and their classes; ``findings`` are those of each host.
    """
    from_verdicts = {host_of(record): _from_verdict(record) for record in run.records if record.get("kind") == "verdict" and host_of(record)}
    records, events = _by_host(run)
    lines = [from_verdicts.get(host) or _derived(host, records.get(host, []), events.get(host, []))
             for host in (conclusion.hosts if conclusion else {*records, *events, *_hosts_of_end_line(run)})]
    if conclusion:
        lines = [_with_class(line, conclusion.hosts[line.host], (findings or {}).get(line.host, [])) for line in lines]
    return sorted(lines, key=lambda line: (severity(line.verdict), natural(line.host)))


def _by_host(run: Run) -> tuple[dict[str, list[Record]], dict[str, list[Record]]]:
    records: dict[str, list[Record]] = {}
    events: dict[str, list[Record]] = {}
    for record in run.records:
        for host in set(hosts_of(record)) if record.get("kind") not in ("finding", "conclusion") else ():
            records.setdefault(host, []).append(record)
    for event in run.events:
        events.setdefault(text(event.get("host")), []).append(event)
    return records, events


def _hosts_of_end_line(run: Run) -> set[str]:
    # localhost runs plans and reports. It counts only if something was measured on it.
    return {host for host in mapping(mapping(run.end).get("hosts")) if host != "localhost"}


def _from_verdict(record: Record) -> HostVerdict:
    sample = (samples(record) or [{}])[0]
    evidence = sample.get("evidence")
    return HostVerdict(
        host=host_of(record),
        verdict=text(sample.get("class")) or ("good" if record.get("status") == "ok" else "failed"),
        sentence=text(sample.get("message")) or error_of(record)["message"],
        evidence=[str(item) for item in evidence] if isinstance(evidence, list) else [],
        judged=True,
    )


def _with_class(line: HostVerdict, verdict: str, findings: list[Finding]) -> HostVerdict:
    """Return the row of a host with the class of the conclusion and the reason for it."""
    if line.judged and line.verdict == verdict:
        return line
    if findings:
        return HostVerdict(line.host, verdict, kept_conclusion.sentence(line.host, findings), list(findings[0].evidence), judged=True)
    return replace(line, verdict=verdict, judged=True) if verdict != "good" else HostVerdict(line.host, verdict, "", [], judged=True)


def _derived(host: str, records: list[Record], events: list[Record]) -> HostVerdict:
    verdict, sentence = _class_and_reason(records, [event for event in events if event.get("ignored") is not True])
    return HostVerdict(host, verdict, sentence, [], judged=False)


def _class_and_reason(records: list[Record], events: list[Record]) -> tuple[str, str]:
    unreachable = [event for event in events if event.get("event") == "unreachable"]
    failed = [record for record in records if record.get("status") == "failed"]
    busy = [record for record in records if error_of(record)["code"] in _IN_USE]
    measured = [record for record in records if record.get("kind") in MEASURED and record.get("status") == "ok"]
    if unreachable:
        return "unreachable", text(unreachable[-1].get("message"))
    if busy:
        return "busy", error_of(busy[-1])["message"]
    if failed:
        return "failed", f"{len(failed)} of {len(records)} results failed, the last: {error_of(failed[-1])['message'] or 'no message'}"
    dropped = [event for event in events if event.get("event") == DROPPED]
    if len(events) > len(dropped):
        last = [event for event in events if event.get("event") != DROPPED][-1]
        return "failed", f"Task {text(last.get('task'))}: {text(last.get('message'))}"
    if measured:
        return "not_judged", f"{len(measured)} of {len(records)} results are successful measurements; there is no verdict."
    if dropped:
        return "not_measured", f"Task {text(dropped[-1].get('task'))}: {text(dropped[-1].get('message'))}"
    return "not_measured", "Nothing was measured on this host in this run."
