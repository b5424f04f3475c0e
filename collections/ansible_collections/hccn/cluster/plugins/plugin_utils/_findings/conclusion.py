# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The conclusion of a job: one class per host, and whether the job fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.record import record, utc
from ...module_utils._core.words import natural
from . import causes
from .finding import ON_HOST, Finding, worst_first
from .merge import merged
from .ports import Ports, attached

CLASSES = ("failed", "unreachable", "slow", "degraded", "busy", "not_measured", "good")
"""Classes of hosts, worst first."""

RESULTS = ("failed", "slow", "degraded", "busy", "not_measured", "good")
"""Results of a job, worst first. An unreachable host counts as failed."""

FAILING_RESULTS = {"never": (), "failed": ("failed",), "slow": ("failed", "slow", "degraded"), "any": RESULTS[:-1]}
"""The results of a job that fail it, by ``fail_on``."""

FAIL_ON = "slow"
"""The default of ``fail_on``."""

BUSY_CAUSES = ("busy_npu", "busy_host")

MOST_FINDINGS = 100
"""Findings of the artifact, of which AWX keeps 700,000 characters."""

_CLASS = {causes.FAILED: "failed", causes.SLOW: "slow", causes.DEGRADED: "degraded", causes.UNKNOWN: "not_measured", causes.NOTE: "good"}


@dataclass(frozen=True)
class Conclusion:
    """``result`` is one of RESULTS; ``counts`` and ``hosts`` are by class, worst first, without empty classes; ``findings`` are merged, worst first."""

    result: str
    fail_on: str
    fails: bool
    counts: dict[str, int]
    hosts: dict[str, list[str]]
    findings: tuple[Finding, ...]

    def headline(self) -> str:
        """Return the first line: ``Result: failed. 4 hosts: 1 failed, 3 good.``"""
        total = sum(self.counts.values())
        parts = ", ".join(f"{count} {_word(name)}" for name, count in self.counts.items())
        return f"Result: {_word(self.result)}." + (f" {total} host{'' if total == 1 else 's'}: {parts}." if total else "")

    def as_dict(self) -> dict[str, Any]:
        """Return the conclusion as the result of an action and artifact of AWX: the worst findings, and the number of all."""
        return {**self._sample(), "fails": self.fails, "findings": [one.as_sample() for one in self.findings[:MOST_FINDINGS]],
                "findings_count": len(self.findings)}

    def as_records(self) -> list[dict[str, Any]]:
        """Return the records of all findings, followed by that of the conclusion."""
        return [*(one.as_record(number) for number, one in enumerate(self.findings, 1)), self.as_record()]

    def as_record(self) -> dict[str, Any]:
        """Return the record of kind ``conclusion``."""
        return record("conclusion", "conclusion/run", "failed" if self.fails else "ok", samples=[self._sample()], started_at=utc())

    def _sample(self) -> dict[str, Any]:
        return {"result": self.result, "fail_on": self.fail_on, "counts": self.counts, "hosts": self.hosts, "message": self.headline()}


def conclude(hosts: Sequence[str], classes: Mapping[str, str], findings: Iterable[Finding], fail_on: str = FAIL_ON,
             ports: Ports | None = None) -> Conclusion:
    """Put each host into one class and decide whether the job fails.

    ``classes``: those of the verdict on the fabric. ``ports``: evidence for findings about NPUs. The class of a host is the worse one of its verdict and its
    worst finding; without either it is good. Findings of the fabric, the cluster and the run affect the result, not the class of a host. Raise InputError
    for an unknown ``fail_on``.
    """
    if fail_on not in FAILING_RESULTS:
        raise InputError(f"fail_on is {fail_on!r}, it must be one of {', '.join(FAILING_RESULTS)}")
    found = worst_first(attached(merged(findings), ports) if ports else merged(findings))
    on_host: dict[str, list[Finding]] = {}
    for one in found:
        for host in one.hosts if one.component.kind in ON_HOST else ():
            on_host.setdefault(host, []).append(one)
    named: dict[str, list[str]] = {name: [] for name in CLASSES}
    for host in sorted(dict.fromkeys(hosts), key=natural):
        named[_class_of(classes.get(host, "good"), on_host.get(host, ()))].append(host)
    by_class = {name: members for name, members in named.items() if members}
    results = {"failed" if name == "unreachable" else name for name in by_class} | {_class(one) for one in found}
    result = next(name for name in RESULTS if name in results or name == ("good" if hosts else "not_measured"))
    # A check that measured no host has checked nothing.
    fails = result in FAILING_RESULTS[fail_on] or (result == "not_measured" and fail_on != "never" and list(by_class) in ([], ["not_measured"]))
    return Conclusion(result, fail_on, fails, {name: len(members) for name, members in by_class.items()}, by_class, tuple(found))


def _class_of(verdict: str, found: Iterable[Finding]) -> str:
    """Return the class of a host by its verdict and its findings. An unknown verdict counts as not measured."""
    mine = {"unreachable" if one.cause == "unreachable_host" else _class(one) for one in found}
    # Everything else about a lost host follows from that or has a finding of its own.
    if "unreachable" in mine:
        return "unreachable"
    mine.add(verdict if verdict in CLASSES else "not_measured")
    return next(name for name in CLASSES if name in mine)


def _class(one: Finding) -> str:
    return "busy" if one.cause in BUSY_CAUSES and one.severity == causes.UNKNOWN else _CLASS[one.severity]


def _word(name: str) -> str:
    return name.replace("_", " ")
