# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Classify each host, with a sentence and evidence, by the components on it and by what its own run returned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.problems import Problem
from ...module_utils._core.words import some
from ...module_utils._perf.perftest_text import CLOCK_HINT
from .._plan import measurable
from . import unstarted_runs, wording
from .classification import BUSY, FAILED, GOOD, SLOW, Classification
from .component import CERTAIN, CERTAINTIES, ON_HOST, POSSIBLE, Component
from .host_answers import ANSWER_NOT_UNDERSTOOD
from .host_summaries import HostSummaries
from .measurement_table import BUSY_CODES
from .planned_pairs import NO_RECORD
from .plausibility import ODD
from .records import NOT_UNDERSTOOD
from .unstarted_runs import NOT_MEASURED, Results

RUNNING = "running"
UNREACHABLE = "unreachable"
CLASSES = (GOOD, SLOW, FAILED, BUSY, UNREACHABLE, NOT_MEASURED)

NOT_TRIED_CODES = frozenset({"tool_missing", measurable.ANSWER_NOT_UNDERSTOOD})
"""Reasons to leave out an NPU that do not mean that it is bad: it could not be measured."""

DOUBTS = (ANSWER_NOT_UNDERSTOOD, NOT_UNDERSTOOD, *ODD)
"""Rules of problems with which a host is not good."""

PROBLEMS_SHOWN = 3
NO_REASON = "no reason given"
NO_PARTNER = "it had no partner: no other host has an NPU that can be measured with one of its own"
"""Of a host that is in no plan, since a plan has at least two hosts."""

EVIDENCE_LINES = 16
MANY_HOSTS, LINES_OF_MANY = 50, 4
"""With more bad hosts than MANY_HOSTS, each has fewer lines of evidence: AWX keeps 700,000 characters of a result."""


@dataclass(frozen=True)
class Verdict:
    """The class of a host, with a sentence and evidence."""

    host: str
    verdict: str
    message: str
    evidence: list[str]
    certainty: str = CERTAIN

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as the action and the filter return it."""
        return {"host": self.host, "class": self.verdict, "certainty": self.certainty, "message": self.message, "evidence": self.evidence}


@dataclass(frozen=True)
class LeftOut:
    """An NPU that is not in the plan, or a host if ``device`` is None, with the reason."""

    host: str
    device: int | None
    code: str
    message: str

    @property
    def state(self) -> str:
        """The class that the host has at best."""
        return BUSY if self.code in BUSY_CODES else NOT_MEASURED if self.code in NOT_TRIED_CODES else FAILED


class HostClassifier:
    """Classifies hosts by the components on them, by their cells, and by what their own runs returned."""

    def __init__(self, classification: Classification, components: Sequence[Component], results: Results,
                 missed: Mapping[str, Collection[str]] | None = None, planned: Collection[str] | None = None) -> None:
        """``missed``: see unstarted_runs.py. ``planned``: the hosts of the plan, None if there is no plan."""
        self._classification = classification
        self._planned = planned
        self._missed = missed or {}
        states = [result.get("state") for result in results.values() if result and result.get("state")]
        self._out_of_time = states.count(RUNNING) > max(1, len(states) / 2)
        self._on_host: dict[str, list[Component]] = {}
        self._in_fabric: dict[str, list[Component]] = {}
        for component in components:
            for host in sorted({classification.table.npus[npu].host for npu in component.npus}):
                (self._on_host if component.kind in ON_HOST else self._in_fabric).setdefault(host, []).append(component)
        self._blamed = {npu for component in components for npu in component.npus}
        self._summaries = HostSummaries(classification)
        self._lines = EVIDENCE_LINES if len(self._on_host) <= MANY_HOSTS else LINES_OF_MANY

    def verdict(self, host: str, result: Mapping[str, Any] | None) -> Verdict:
        """Return the verdict on a host. ``result``: what its run returned, None for nothing."""
        mine = self._on_host.get(host, [])
        npus = self._classification.table.of_host.get(host, [])
        slow, failed, busy = (sum(map(layer.bad, npus)) for layer in (self._classification.slow, self._classification.failed, self._classification.busy))
        measured = sum(map(self._classification.slow.total, npus))
        evidence = [line for component in mine for line in wording.evidence(component, self._classification)][:self._lines]
        whole = self._class_of_run(host, result, bool(npus))
        if whole is not None:
            return Verdict(host, whole[0], whole[1], evidence)
        if mine:
            message = "; ".join(wording.sentence(component, self._classification) for component in mine)
            state = worst({component.state for component in mine})
            sure = min((component.certainty for component in mine if component.state == state), key=CERTAINTIES.index)
            return Verdict(host, state, message, evidence, sure)
        unexplained, noisy = self._unexplained(npus)
        if measured > slow or unexplained or noisy:
            return Verdict(host, GOOD, self._good_message(npus, measured - slow, slow + failed + busy - unexplained - noisy, unexplained, noisy, host), [],
                           CERTAIN if any(map(self._classification.slow.good, npus)) else POSSIBLE)
        return Verdict(host, NOT_MEASURED, self._why_not_measured(host), self._evidence_elsewhere(npus))

    def _unexplained(self, npus: Sequence[int]) -> tuple[int, int]:
        """Return the numbers of slow cells that no component explains: those that are a little low, and those that noise of unknown size explains."""
        slow = self._classification.slow
        left = [link for npu in npus for link in slow.links(npu) if not self._blamed.intersection(link)]
        low = [link for link in left if link in slow.uncertain]
        return len(low), sum(link not in slow.uncertain and self._classification.is_within_noise([link]) for link in left)

    def _good_message(self, npus: Sequence[int], good: int, others: int, unexplained: int, noisy: int, host: str) -> str:
        """Return the sentence of a good host, with what its bad pairs are attributed to."""
        partners = self._summaries.partners(host)
        text = f"{good} good pair{'' if good == 1 else 's'} with {partners} other host{'' if partners == 1 else 's'}{self._summaries.span(npus)}"
        around = sorted({component.name for component in self._in_fabric.get(host, ())})
        where = ", ".join(["the partner", *around[:3]])
        text += f"; bad pairs attributed to {where}: {others}" if others else ""
        text += f"; slightly low, which proves no fault: {unexplained}" if unexplained else ""
        text += f"; low, but too few values show how much they vary: {noisy}" if noisy else ""
        clock = self._classification.table.without_clock[host]
        return text + (f"; without a result, since the host was too busy to measure its clock: {clock}" if clock else "")

    def _why_not_measured(self, host: str) -> str:
        around = sorted({component.name for component in self._in_fabric.get(host, ())})
        if around:
            return f"its pairs are bad because of {', '.join(around[:3])}"
        if self._classification.table.without_clock[host]:
            return CLOCK_HINT
        if host in self._missed:
            return f"the run did not start, or was ended, on its partners: {some(sorted(self._missed[host]))}"
        return "its pairs failed because of their partners" if host in self._classification.table.of_host else "no pair contains this host"

    def _evidence_elsewhere(self, npus: Sequence[int]) -> list[str]:
        """Return lines for bad cells of a host that are attributed to others."""
        found = []
        for layer in (self._classification.failed, self._classification.busy, self._classification.slow):
            for npu in npus:
                found += [self._classification.described(*link, layer.state) for link in layer.links(npu)[:self._lines]]
        return found[:self._lines]

    def _class_of_run(self, host: str, result: Mapping[str, Any] | None, has_cells: bool) -> tuple[str, str] | None:
        """Return class and sentence if the host or its runner did not take part until the end. This takes precedence over all pairs."""
        if result is None and has_cells and self._never_answered(host):
            return UNREACHABLE, "the host returned no result, and its runner did not answer its partners"
        if result is None:
            return None if has_cells else (NOT_MEASURED, self._why_not_planned(host) or "the host returned no result")
        if result.get("unreachable"):
            return UNREACHABLE, f"Ansible did not reach the host: {result.get('msg') or NO_REASON}"
        if result.get("skipped"):
            return None if has_cells else (NOT_MEASURED, self._why_not_planned(host) or "the measurement was skipped on this host")
        state = result.get("state")
        if state == "unknown":
            return NOT_MEASURED, "the host has no such run: rdma_perf did not start there"
        if state == RUNNING:
            return self._class_of_running(host)
        if state == "failed" or (result.get("failed") and not result.get("measurements")):
            return self._class_of_failed_run(host, result)
        return None

    def _class_of_running(self, host: str) -> tuple[str, str] | None:
        """Return class and sentence of a run that was not over. If most are not, the time was too short and no host is bad."""
        if not self._out_of_time:
            return FAILED, "the run on this host had not ended when its results were read: wait longer, or end it with state: absent"
        if host in self._on_host:
            return None
        return NOT_MEASURED, ("the run had not ended when its results were read, on this host and on most of the others: wait longer, or end it with "
                              "state: absent")

    def _class_of_failed_run(self, host: str, result: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return class and sentence of a run that failed. Measurements take precedence, unless the runner died for an unknown reason."""
        why = result.get("msg") or NO_REASON
        if unstarted_runs.has_not_begun(result):
            return unstarted_runs.class_of(result), f"the run did not begin on this host: {why}"
        if unstarted_runs.was_ended(result):
            return None if host in self._on_host else (NOT_MEASURED, f"the run on this host was ended: {why}")
        return FAILED, f"the run on this host failed: {why}"

    def _why_not_planned(self, host: str) -> str:
        """Return why the host is not in the plan; empty if it is, or if there is no plan."""
        if self._planned is None or host in self._planned:
            return ""
        return NO_PARTNER if not self._planned else "the plan has no pair with this host"

    def _never_answered(self, host: str) -> bool:
        """Return True if no pair shows a sign of the host."""
        return all(code in ("peer_unreachable", NO_RECORD) for code in self._summaries.codes.get(host, ("",)))


def with_problems(verdict: Verdict, problems: Sequence[Problem]) -> Verdict:
    """Return the verdict with the problems of its host. A host is not good if something that it reported had to be dropped."""
    mine = [problem for problem in problems if problem.host == verdict.host]
    if not mine:
        return verdict
    message = "; ".join([problem.message for problem in mine[:PROBLEMS_SHOWN]] + (["..."] if len(mine) > PROBLEMS_SHOWN else []))
    states = {verdict.verdict} | ({NOT_MEASURED} if any(problem.rule in DOUBTS for problem in mine) else set())
    return Verdict(verdict.host, worst(states), f"{message}; {verdict.message}", verdict.evidence, verdict.certainty)


def with_left_out(verdict: Verdict, left_out: Sequence[LeftOut]) -> Verdict:
    """Return the verdict with the NPUs of its host that are not in the plan. Such a host is not good."""
    mine = [one for one in left_out if one.host == verdict.host]
    if not mine:
        return verdict
    devices: dict[str, list[str]] = {}
    for one in mine:
        if one.device is not None:
            devices.setdefault(one.message, []).append(str(one.device))
    reasons = [f"left out: {one.message}" for one in mine if one.device is None]
    reasons += [f"NPU {', '.join(numbers)} {'was' if len(numbers) == 1 else 'were'} left out: {why}" for why, numbers in devices.items()]
    message = "; ".join(reasons)
    if verdict.verdict == NOT_MEASURED:
        return Verdict(verdict.host, worst({one.state for one in mine}), message, [])
    return Verdict(verdict.host, worst({one.state for one in mine} | {verdict.verdict}), f"{message}; {verdict.message}", verdict.evidence, verdict.certainty)


def worst(states: Collection[str]) -> str:
    """Return the worst of these classes. Not measured is worse than good and better than all others."""
    return next(state for state in (UNREACHABLE, FAILED, BUSY, SLOW, NOT_MEASURED, GOOD) if state in states)
