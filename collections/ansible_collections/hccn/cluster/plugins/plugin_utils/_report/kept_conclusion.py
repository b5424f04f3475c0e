# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read the conclusion and the findings of a run from its records. If a run has several conclusions, the last one counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .._findings.conclusion import RESULTS
from .._findings.finding import ON_HOST, Finding, worst_first
from .._trust.provenance import of_conclusion
from .fields import Record, mapping, samples, text

SHOWN_OF_HOST = 3
"""Findings that the sentence about a host quotes."""


@dataclass(frozen=True)
class KeptConclusion:
    """``result`` is one of RESULTS; ``hosts`` has the class of each host, in the order of the record."""

    result: str
    fail_on: str
    hosts: Mapping[str, str]


def read(records: Iterable[Record]) -> tuple[KeptConclusion | None, list[Finding]]:
    """Return the last conclusion and its findings, worst first; without a conclusion, the findings of all records.

    The findings of a conclusion are its records since the previous conclusion. They already include those of other records of the run.
    """
    last, of_last = None, []
    pending: list[Finding] = []
    others: list[Finding] = []
    for record in records:
        if record.get("kind") == "conclusion":
            found = _conclusion(mapping((samples(record) or [{}])[0]))
            if found:
                last, of_last = found, pending
            pending = []
        elif record.get("kind") == "finding":
            (pending if of_conclusion(record) else others).extend(_findings(record))
    return last, worst_first(of_last if last else chain(others, pending))


def has_component(sample: Mapping[str, Any]) -> bool:
    """Return True for the sample of a finding; records of earlier releases have ``kind`` and ``name`` instead."""
    return isinstance(sample.get("component"), Mapping)


def by_host(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return the findings that determine the class of each host, in their order."""
    found: dict[str, list[Finding]] = {}
    for one in findings:
        for host in one.hosts if one.component.kind in ON_HOST else ():
            found.setdefault(host, []).append(one)
    return found


def sentence(host: str, findings: list[Finding]) -> str:
    """Return the findings of a host as a sentence: ``npu3 NPU 5: the link is down``."""
    parts = [one.message if one.component.name == host else f"{one.component.name}: {one.message}" for one in findings[:SHOWN_OF_HOST]]
    more = len(findings) - len(parts)
    return "; ".join([*parts, *([f"and {more} more"] if more else [])])


def _findings(record: Record) -> list[Finding]:
    found = (Finding.of_sample(sample) for sample in samples(record) if has_component(sample))
    return [one for one in found if one]


def _conclusion(sample: Record) -> KeptConclusion | None:
    """Return the conclusion of a sample, None if its result is unknown (a damaged history, or a later release)."""
    result, classes = sample.get("result"), mapping(sample.get("hosts"))
    if result not in RESULTS:
        return None
    hosts: dict[str, str] = {}
    for name, members in classes.items():
        for host in members if isinstance(members, list) else []:
            hosts.setdefault(text(host), text(name))
    return KeptConclusion(text(result), text(sample.get("fail_on")), hosts)
