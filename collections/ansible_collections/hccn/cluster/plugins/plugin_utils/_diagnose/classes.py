# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""One class for each host, with a sentence and the evidence: from what is blamed on it, and from what its own run returned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import wording
from .cells import BUSY_CODES
from .finding import ON_HOST, Finding
from .missing import NO_RECORD
from .rating import BUSY, FAILED, GOOD, SLOW, Rating
from .summaries import Summaries

RUNNING = "running"
UNREACHABLE, NOT_MEASURED = "unreachable", "not_measured"
CLASSES = (GOOD, SLOW, FAILED, BUSY, UNREACHABLE, NOT_MEASURED)

NOT_TRIED_CODES = frozenset({"tool_missing"})
"""Of what was left out: nothing is known to be bad, there is only nothing to measure with."""

Results = Mapping[str, Mapping[str, Any] | None]

EVIDENCE_LINES = 16
MANY_HOSTS, LINES_OF_MANY = 50, 4
"""With more bad hosts than that each has fewer lines: AWX keeps 700,000 characters of a result."""


@dataclass(frozen=True)
class Verdict:
    host: str
    verdict: str
    message: str
    evidence: list[str]

    def as_dict(self) -> dict[str, Any]:
        return {"host": self.host, "class": self.verdict, "message": self.message, "evidence": self.evidence}


@dataclass(frozen=True)
class LeftOut:
    """An NPU that was kept out of the plan, and why."""

    host: str
    device: int
    code: str
    message: str

    @property
    def state(self) -> str:
        return BUSY if self.code in BUSY_CODES else NOT_MEASURED if self.code in NOT_TRIED_CODES else FAILED


class Classes:
    """The class of a host, from its findings, its cells and what its own run returned."""

    def __init__(self, rating: Rating, findings: Sequence[Finding], results: Results) -> None:
        self.rating = rating
        states = [result.get("state") for result in results.values() if result and result.get("state")]
        self.out_of_time = states.count(RUNNING) > max(1, len(states) / 2)
        self.findings: dict[str, list[Finding]] = {}
        self.around: dict[str, list[Finding]] = {}
        for finding in findings:
            for host in sorted({rating.table.ends[end].host for end in finding.ends}):
                (self.findings if finding.kind in ON_HOST else self.around).setdefault(host, []).append(finding)
        self.blamed = {end for finding in findings for end in finding.ends}
        self.cells = Summaries(rating)
        self.lines = EVIDENCE_LINES if len(self.findings) <= MANY_HOSTS else LINES_OF_MANY

    def verdict(self, host: str, result: Mapping[str, Any] | None) -> Verdict:
        mine = self.findings.get(host, [])
        ends = self.rating.table.of_host.get(host, [])
        slow, failed, busy = (sum(map(layer.bad, ends)) for layer in (self.rating.slow, self.rating.failed, self.rating.busy))
        measured = sum(map(self.rating.slow.total, ends))
        told = sum(len(layer.sure.get(end, ())) for layer in (self.rating.failed, self.rating.busy) for end in ends)
        evidence = [line for finding in mine for line in wording.evidence(finding, self.rating)][:self.lines]
        whole = self._as_a_whole(host, result, bool(measured + failed + busy + told) or bool(ends))
        if whole is not None:
            return Verdict(host, whole[0], whole[1], evidence)
        if mine:
            return Verdict(host, worst({finding.state for finding in mine}), "; ".join(wording.sentence(finding, self.rating) for finding in mine), evidence)
        open_cells = self._open(ends)
        if measured > slow or open_cells:
            return Verdict(host, GOOD, self._good(ends, measured - slow, slow + failed + busy - open_cells, open_cells, host), [])
        return Verdict(host, NOT_MEASURED, self._why_not(host), self._elsewhere(ends))

    def _open(self, ends: Sequence[int]) -> int:
        """Cells a little too low, of which one alone proves nothing, and that no other component explains."""
        slow = self.rating.slow
        return sum(link in slow.mild and not self.blamed.intersection(link) for end in ends for link in slow.links(end))

    def _good(self, ends: Sequence[int], good: int, others: int, open_cells: int, host: str) -> str:
        """Also says where bad pairs of this host were put down to something else."""
        text = f"pairs: {good} with {self.cells.partners(host)} of the other hosts{self.cells.span(ends)}"
        around = sorted({finding.name for finding in self.around.get(host, ())})
        where = ", ".join(["the other end", *around[:3]]) if around else "the other end"
        text += f"; bad ones put down to {where}: {others}" if others else ""
        return text + (f"; a little low, which is no proof: {open_cells}" if open_cells else "")

    def _why_not(self, host: str) -> str:
        around = sorted({finding.name for finding in self.around.get(host, ())})
        if around:
            return f"its pairs are bad by {', '.join(around[:3])}"
        return "its pairs failed at the other end" if host in self.rating.table.of_host else "no pair has this host"

    def _elsewhere(self, ends: Sequence[int]) -> list[str]:
        """Bad cells of a host that are put down to others."""
        found = []
        for layer in (self.rating.failed, self.rating.busy, self.rating.slow):
            for end in ends:
                found += [self.rating.described(*link, layer.state) for link in layer.links(end)[:self.lines]]
        return found[:self.lines]

    def _as_a_whole(self, host: str, result: Mapping[str, Any] | None, has_cells: bool) -> tuple[str, str] | None:
        """What counts more than any pair: the host or its runner did not take part to the end."""
        if result is None and has_cells and self._unanswered(host):
            return UNREACHABLE, "there is no result of this host, and its runner did not answer its partners"
        if result is None:
            return None if has_cells else (NOT_MEASURED, "there is no result of this host")
        if result.get("unreachable"):
            return UNREACHABLE, f"Ansible did not reach the host: {_first_line(result.get('msg'))}"
        if result.get("skipped"):
            return None if has_cells else (NOT_MEASURED, "the measurement was skipped on this host")
        state = result.get("state")
        if state == "unknown":
            return NOT_MEASURED, "the host has no such run: rdma_perf did not start there"
        if state == RUNNING and self.out_of_time:  # of most hosts: the time was too short, and nobody is to blame
            return None if host in self.findings else (NOT_MEASURED, "the run was not over when it was asked for, on this host and on most of the others: wait "
                                                                     "longer, or end it with state: absent")
        if state == RUNNING:
            return FAILED, "the run on this host was not over when it was asked for: wait longer, or end it with state: absent"
        if state == "failed" or (result.get("failed") and not result.get("measurements")):
            said = (result.get("error") or {}).get("message") or result.get("msg")
            return FAILED, f"the run on this host failed: {_first_line(said)}"
        return None

    def _unanswered(self, host: str) -> bool:
        """Was nothing heard of it in any pair?"""
        return all(code in ("peer_unreachable", NO_RECORD) for code in self.cells.codes.get(host, ("",)))


def lowered(verdict: Verdict, missing: Sequence[LeftOut]) -> Verdict:
    """A host is not good while one of its NPUs could not be looked at."""
    if not missing:
        return verdict
    devices: dict[str, list[str]] = {}
    for one in missing:
        devices.setdefault(one.message, []).append(str(one.device))
    said = "; ".join(f"npu {', '.join(numbers)} {'was' if len(numbers) == 1 else 'were'} left out: {why}" for why, numbers in devices.items())
    if verdict.verdict == NOT_MEASURED:
        return Verdict(verdict.host, worst({one.state for one in missing}), said, [])
    return Verdict(verdict.host, worst({one.state for one in missing} | {verdict.verdict}), f"{said}; {verdict.message}", verdict.evidence)


def _first_line(text: Any) -> str:
    return (str(text or "").strip().splitlines() or ["no reason given"])[0]


def worst(states: Collection[str]) -> str:
    """Not measured counts as better than bad, and as worse than good."""
    return next(state for state in (UNREACHABLE, FAILED, BUSY, SLOW, NOT_MEASURED, GOOD) if state in states)
