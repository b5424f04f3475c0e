# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The view model: build the content of a page, in its order, from a run and the runs before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...module_utils._perf.perftest_options import ROCE_TEST
from .._findings.causes import SEVERITIES
from .._findings.finding import Finding
from .._findings.screen import grouped
from .._history.baseline import Regression
from .._history.nights import Night
from .._history.pair_results import Endpoint, endpoint_of
from .._history.query import BaselineComparison
from .._history.reader import Run
from . import (
    cards,
    coverage,
    device_tables,
    distribution,
    health,
    heatmaps,
    kept_conclusion,
    suspects,
    tables,
    timeline,
    topology_picture,
    trends,
    verdicts,
    worst_pairs,
)
from .cards import Card
from .kept_conclusion import KeptConclusion
from .coverage import Coverage
from .device_tables import Devices
from .distribution import Distribution
from .fields import Record, endpoint, error_of, hosts_of, mapping, moment, text, tool_of, unique
from .health import Changes, Health
from .heatmaps import Maps, PairResults
from .tables import Collective, Latency
from .timeline import Timeline
from .topology_picture import Topology
from .trends import Trend
from .verdicts import FabricComponent, HostVerdict
from .worst_pairs import EndMedian, WorstPair

DEFAULT_TITLE = "Fabric report"
LISTED_REGRESSIONS = 20
_STATES = {"failed": "failed", "slow": "slow", "degraded": "slow", "busy": "slow", "not_measured": "not_judged", "good": "good"}
"""The state of a run, by the result of its conclusion."""


@dataclass(frozen=True)
class Facts:
    """Facts about a run. ``state``: complete, running (the run itself writes the page) or incomplete (its end line is missing)."""

    run_id: str
    state: str
    playbook: str
    controller: str
    ansible_core: str
    collection: str
    check_mode: bool
    started_at: str
    duration_s: float | None
    hosts: int
    tools: list[tuple[str, int]]
    products: list[str]
    kinds: list[tuple[str, int, int, int]]
    bad_lines: int
    unknown_lines: int


@dataclass(frozen=True)
class Failure:
    """A record that failed or could not be run."""

    where: str
    what: str
    status: str
    code: str
    message: str
    hint: str


@dataclass(frozen=True)
class TaskFailure:
    """A failed task, an unreachable host or a record that the history does not keep."""

    host: str
    task: str
    event: str
    message: str
    ignored: bool


@dataclass(frozen=True)
class Page:
    """The content of a page. ``conclusion`` is None if the run made none, as in earlier releases.

    ``findings``: all, worst first. ``rows``: the same, with findings that several hosts share as one; ``cards``: those with what is known about them.
    ``maps`` and ``worst`` show one metric. ``compared``: number of values with and without a baseline. ``regressions``: at most LISTED_REGRESSIONS.
    """

    title: str
    facts: Facts
    conclusion: KeptConclusion | None
    findings: list[Finding]
    rows: list[Finding]
    cards: list[Card]
    verdicts: list[HostVerdict]
    fabric: list[FabricComponent]
    judged: bool
    maps: Maps | None
    worst: list[WorstPair]
    lowest: list[EndMedian]
    pairs: int
    distribution: Distribution | None
    topology: Topology | None
    timeline: Timeline | None
    health: Health | None
    changes: Changes | None
    compared: tuple[int, int]
    trends: list[Trend]
    regressions: list[Regression]
    regression_count: int
    latencies: list[Latency]
    collectives: list[Collective]
    devices: Devices
    coverage: Coverage
    failures: list[Failure]
    task_failures: list[TaskFailure]
    unreadable: list[str] = field(default_factory=list)

    @property
    def has_npus(self) -> bool:
        """Return False if a tool of the hosts measured the fabric and no NPU was read."""
        return bool(self.devices.count) or self.coverage.planned is None or self.coverage.planned.tool == ROCE_TEST

    @property
    def classes(self) -> dict[str, int]:
        """Return the number of hosts by class, worst class first, without empty classes."""
        counts = Counter(verdict.verdict for verdict in self.verdicts)
        return {name: counts[name] for name in sorted(counts, key=verdicts.severity)}

    @property
    def severities(self) -> dict[str, int]:
        """Return the number of findings by severity, worst first, without empty severities."""
        counts = Counter(one.severity for one in self.findings)
        return {name: counts[name] for name in SEVERITIES if counts[name]}

    @property
    def bad(self) -> list[HostVerdict]:
        """Return the hosts that are not good, worst first."""
        return [verdict for verdict in self.verdicts if verdict.verdict != "good"]

    @property
    def good(self) -> list[str]:
        return [verdict.host for verdict in self.verdicts if verdict.verdict == "good"]

    @property
    def state(self) -> str:
        """Return the state for a workflow to branch on: failed, slow, regression, incomplete, not_judged or good."""
        state = _STATES.get(self.conclusion.result, "not_judged") if self.conclusion else self._worst_class()
        if state in ("failed", "slow"):
            return state
        if self.regressions:
            return "regression"
        return "incomplete" if self.facts.state == "incomplete" else state

    def _worst_class(self) -> str:
        """Return the state of a run without conclusion, by its hosts, components and findings."""
        classes = {*self.classes, *(component.state for component in self.fabric), *(one.severity for one in self.findings)} - {"note", "unknown"}
        if classes & {"failed", "unreachable"}:
            return "failed"
        if classes - {"good", "not_judged", "not_measured"}:
            return "slow"
        return "good" if self.judged and not classes & {"not_measured", "not_judged"} else "not_judged"


def build(run: Run, title: str = DEFAULT_TITLE, current: bool = False, comparison: BaselineComparison | None = None,
          unreadable: list[str] | None = None, nights: Sequence[Night] = ()) -> Page:
    """Return the content of the page of ``run``. ``current``: a task of this run writes the page, so the run has no end line yet.

    ``nights``: earlier runs of the same playbook, newest first.
    """
    by_kind: dict[str, list[Record]] = {}
    for record in run.records:
        by_kind.setdefault(text(record.get("kind")), []).append(record)
    measured = PairResults(run.records)
    conclusion, findings = kept_conclusion.read(run.records)
    hosts = verdicts.build(run, conclusion, kept_conclusion.by_host(findings))
    blamed = suspects.of_run(findings, hosts)
    maps = heatmaps.build(measured, _normal(measured, comparison), heatmaps.Others(frozenset(row.host for row in hosts), blamed))
    rows, fabric = grouped(findings), verdicts.components(run.records)
    shown = rows if conclusion or findings else grouped(cards.of_verdicts(hosts, fabric))
    found = comparison.regressions if comparison else []
    return Page(
        title=title,
        facts=_facts(run, by_kind, current),
        conclusion=conclusion,
        findings=findings,
        rows=rows,
        cards=cards.build(shown, nights, by_kind.get("device", []), comparison),
        verdicts=hosts,
        fabric=fabric,
        judged=conclusion is not None or "verdict" in by_kind,
        maps=maps,
        worst=worst_pairs.pairs(measured, maps.expected) if maps else [],
        lowest=worst_pairs.ends(measured, maps.expected, blamed) if maps else [],
        pairs=len(measured.results) + len(measured.without_value),
        distribution=distribution.build(measured, maps.expected) if maps else None,
        topology=topology_picture.build(measured.context, _npus(measured, by_kind.get("device", [])), hosts, findings),
        timeline=timeline.build(run, hosts),
        health=health.over_runs(run.file.started, hosts, nights),
        changes=health.changes(findings, nights, comparison),
        compared=_compared(comparison),
        trends=trends.build(comparison),
        regressions=found[:LISTED_REGRESSIONS],
        regression_count=len(found),
        latencies=tables.latencies(by_kind.get("rdma", []) + by_kind.get("ping", [])),
        collectives=tables.collectives(by_kind.get("collective", [])),
        devices=device_tables.build(by_kind.get("device", [])),
        coverage=coverage.build(run, measured, [row.host for row in hosts]),
        failures=_failures(run.records),
        task_failures=_task_failures(run.events),
        unreadable=unreadable or [],
    )


def _npus(measured: PairResults, read: list[Record]) -> set[Endpoint]:
    """Return the NPUs that were read or measured."""
    found = {end for result in (*measured.results, *measured.without_value) for end in (result.source, result.target)}
    return found | {end for end in (endpoint_of(record.get("source")) for record in read) if end is not None}


def _compared(comparison: BaselineComparison | None) -> tuple[int, int]:
    """Return the number of values that were compared with a baseline, and of those without one although there are earlier runs."""
    if comparison is None:
        return 0, 0
    known = [group in comparison.baselines for group in comparison.current.groups]
    return sum(known), len(known) - sum(known) if comparison.earlier else 0


def _normal(measured: PairResults, comparison: BaselineComparison | None) -> float | None:
    """Return the baseline of the metric of the maps; if pairs of several classes were measured, that of the class with most values."""
    if comparison is None or measured.metric is None:
        return None
    metric = measured.metric
    groups = [group for group in comparison.current.groups if group in comparison.baselines
              and (group.kind, group.tool, group.operation, group.measure, group.size_bytes, group.unit) == tuple(metric)]
    best = max(groups, key=lambda group: comparison.current.groups[group].count, default=None)
    return comparison.baselines[best].median if best else None


def _facts(run: Run, by_kind: dict[str, list[Record]], current: bool) -> Facts:
    header = run.header
    started, finished = moment(header.get("started_at")), moment(mapping(run.end).get("finished_at"))
    tools = Counter(filter(None, map(tool_of, run.records)))
    return Facts(
        run_id=text(header.get("run_id")),
        state="complete" if run.complete else "running" if current else "incomplete",
        playbook=text(header.get("playbook")),
        controller=text(header.get("controller")),
        ansible_core=text(header.get("ansible_core")),
        collection=text(header.get("collection")),
        check_mode=header.get("check_mode") is True,
        started_at=text(header.get("started_at")),
        # If the clock was set back in between, the duration is unknown.
        duration_s=(finished - started).total_seconds() if started and finished and finished >= started else None,
        hosts=len(_hosts(by_kind) | {text(event.get("host")) for event in run.events}),
        tools=sorted(tools.items()),
        products=unique(filter(None, (text(mapping(record.get("context")).get("product")) for record in run.records))),
        kinds=[(kind, *_by_status(records)) for kind, records in sorted(by_kind.items())],
        bad_lines=run.bad_lines,
        unknown_lines=run.unknown_lines,
    )


def _hosts(by_kind: dict[str, list[Record]]) -> set[str]:
    """Return the hosts of all records except conclusions, which are not results of the host that made them."""
    return {host for kind, records in by_kind.items() if kind != "conclusion" for record in records for host in hosts_of(record)}


def _by_status(records: list[Record]) -> tuple[int, int, int]:
    counts = Counter(record.get("status") for record in records)
    return counts["ok"], counts["failed"], counts["not_run"]


def _failures(records: list[Record]) -> list[Failure]:
    found = []
    for record in records:
        status, error = record.get("status"), error_of(record)
        if record.get("kind") in ("verdict", "finding", "conclusion") or not (status == "failed" or (status == "not_run" and record.get("error"))):
            continue
        ends = " to ".join(filter(None, (endpoint(record.get("source")), endpoint(record.get("target")))))
        found.append(
            Failure(
                where=ends or ", ".join(hosts_of(record)),
                what=" ".join(filter(None, (text(record.get("kind")), text(record.get("operation"))))),
                status=text(status),
                **error,
            )
        )
    return found


def _task_failures(events: list[Record]) -> list[TaskFailure]:
    return [
        TaskFailure(
            host=text(event.get("host")),
            task=text(event.get("task")),
            event=text(event.get("event")),
            message=text(event.get("message")),
            ignored=event.get("ignored") is True,
        )
        for event in events
    ]
