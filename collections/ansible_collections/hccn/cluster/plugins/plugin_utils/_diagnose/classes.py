# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""One class for each host, with a sentence and the evidence: from what is blamed on it, and from what its own run returned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.problems import Problem
from ...module_utils._core.words import some
from .._plan import measurable
from . import unstarted, wording
from .answers import ANSWER_NOT_UNDERSTOOD
from .cells import BUSY_CODES, NOT_UNDERSTOOD
from .claims import ODD
from .finding import ON_HOST, Finding
from .missing import NO_RECORD
from .rating import BUSY, FAILED, GOOD, SLOW, Rating
from .summaries import Summaries
from .unstarted import NOT_MEASURED, Results

RUNNING = "running"
UNREACHABLE = "unreachable"
CLASSES = (GOOD, SLOW, FAILED, BUSY, UNREACHABLE, NOT_MEASURED)

NOT_TRIED_CODES = frozenset({"tool_missing", measurable.ANSWER_NOT_UNDERSTOOD})
"""Of what was left out: nothing is known to be bad, there is only nothing to measure with."""

DOUBTS = (ANSWER_NOT_UNDERSTOOD, NOT_UNDERSTOOD, *ODD)
"""Rules of problems with which a host is not good."""

PROBLEMS_SHOWN = 3
NO_REASON = "no reason given"
NO_PARTNER = "it had no partner: no other host has an NPU that can be measured with one of its own"
"""Of a host that is in no plan, since a plan has two hosts at least."""

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
    """An NPU, or with no device a host, that was kept out of the plan, and why."""

    host: str
    device: int | None
    code: str
    message: str

    @property
    def state(self) -> str:
        return BUSY if self.code in BUSY_CODES else NOT_MEASURED if self.code in NOT_TRIED_CODES else FAILED


class Classes:
    """The class of a host, from its findings, its cells and what its own run returned."""

    def __init__(self, rating: Rating, findings: Sequence[Finding], results: Results, missed: Mapping[str, Collection[str]] | None = None,
                 planned: Collection[str] | None = None) -> None:
        """``missed``: see unstarted.py; ``planned``: the hosts of the plan, None where there is no plan."""
        self.rating = rating
        self._planned = planned
        self._missed = missed or {}
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
        if host in self._missed:
            return f"the run did not begin, or was ended, on its partners: {some(sorted(self._missed[host]))}"
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
            return None if has_cells else (NOT_MEASURED, self._not_planned(host) or "there is no result of this host")
        if result.get("unreachable"):
            return UNREACHABLE, f"Ansible did not reach the host: {result.get('msg') or NO_REASON}"
        if result.get("skipped"):
            return None if has_cells else (NOT_MEASURED, self._not_planned(host) or "the measurement was skipped on this host")
        state = result.get("state")
        if state == "unknown":
            return NOT_MEASURED, "the host has no such run: rdma_perf did not start there"
        if state == RUNNING and self.out_of_time:  # of most hosts: the time was too short, and nobody is to blame
            return None if host in self.findings else (NOT_MEASURED, "the run was not over when it was asked for, on this host and on most of the others: wait "
                                                                     "longer, or end it with state: absent")
        if state == RUNNING:
            return FAILED, "the run on this host was not over when it was asked for: wait longer, or end it with state: absent"
        if state == "failed" or (result.get("failed") and not result.get("measurements")):
            return self._of_a_failed_run(host, result)
        return None

    def _not_planned(self, host: str) -> str:
        """Why the plan does not have the host; empty where it does, or where there is no plan."""
        if self._planned is None or host in self._planned:
            return ""
        return NO_PARTNER if not self._planned else "the plan has no pair with this host"

    def _of_a_failed_run(self, host: str, result: Mapping[str, Any]) -> tuple[str, str] | None:
        """What was measured counts more than how the run ended, unless its runner died: nobody knows of what."""
        why = result.get("msg") or NO_REASON
        if unstarted.has_not_begun(result):
            return unstarted.class_of(result), f"the run did not begin on this host: {why}"
        if unstarted.was_ended(result):
            return None if host in self.findings else (NOT_MEASURED, f"the run on this host was ended: {why}")
        return FAILED, f"the run on this host failed: {why}"

    def _unanswered(self, host: str) -> bool:
        """Was nothing heard of it in any pair?"""
        return all(code in ("peer_unreachable", NO_RECORD) for code in self.cells.codes.get(host, ("",)))


def doubted(verdict: Verdict, problems: Sequence[Problem]) -> Verdict:
    """A host is not good while something that it reported had to be dropped."""
    mine = [problem for problem in problems if problem.host == verdict.host]
    if not mine:
        return verdict
    said = "; ".join([problem.message for problem in mine[:PROBLEMS_SHOWN]] + (["..."] if len(mine) > PROBLEMS_SHOWN else []))
    states = {verdict.verdict} | ({NOT_MEASURED} if any(problem.rule in DOUBTS for problem in mine) else set())
    return Verdict(verdict.host, worst(states), f"{said}; {verdict.message}", verdict.evidence)


def lowered(verdict: Verdict, missing: Sequence[LeftOut]) -> Verdict:
    """A host is not good while one of its NPUs could not be looked at."""
    if not missing:
        return verdict
    devices: dict[str, list[str]] = {}
    for one in missing:
        if one.device is not None:
            devices.setdefault(one.message, []).append(str(one.device))
    reasons = [f"left out: {one.message}" for one in missing if one.device is None]
    reasons += [f"npu {', '.join(numbers)} {'was' if len(numbers) == 1 else 'were'} left out: {why}" for why, numbers in devices.items()]
    said = "; ".join(reasons)
    if verdict.verdict == NOT_MEASURED:
        return Verdict(verdict.host, worst({one.state for one in missing}), said, [])
    return Verdict(verdict.host, worst({one.state for one in missing} | {verdict.verdict}), f"{said}; {verdict.message}", verdict.evidence)


def worst(states: Collection[str]) -> str:
    """Not measured counts as better than bad, and as worse than good."""
    return next(state for state in (UNREACHABLE, FAILED, BUSY, SLOW, NOT_MEASURED, GOOD) if state in states)
