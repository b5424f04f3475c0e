# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Coverage of a run: the measured hosts and pairs, and the results of the planned pairs if the plan is in the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ...module_utils._core.words import some
from ...module_utils._perf.perftest_options import ROCE_TEST
from .._history.pair_results import FAILED, NOT_RUN
from .._history.reader import Run
from .._history.runs import MEASURED
from .._plan.plan_record import PlanRecord
from .fields import Record, hosts_of, mapping, number, samples, text, unique
from .heatmaps import PairResults

MOST_EXPANDED = 300_000
"""Up to this number of pairs, each pair of a plan is compared with the results; larger plans are only counted."""
MISSING_SHOWN = 20


@dataclass(frozen=True)
class Planned:
    """The planned pairs of NPUs and their results. ``missing``: the first pairs without any result, if the pairs are known.

    ``left_out``: messages about NPUs and hosts excluded from the plan, and about rounds that exceed the budget. ``leaves``, ``super_pods``: number of known
    ones. ``npus_by_leaf_source``: number of NPUs whose leaf is known, by the source of the leaf.
    """

    plan: str
    tool: str
    pairs: int
    measured: int
    failed: int
    not_run: int
    not_measured: int
    missing: list[str]
    left_out: list[str]
    npus: int
    leaves: int
    super_pods: int
    npus_by_leaf_source: dict[str, int]


@dataclass(frozen=True)
class Coverage:
    """Numbers of hosts and pairs. ``pairs_possible`` counts both directions of a pair of hosts as one; ``notes`` are texts of the plan."""

    hosts: int
    hosts_measured: int
    not_measured: list[str]
    pairs_met: int
    pairs_possible: int
    directions: int
    failed: int
    not_run: int
    notes: list[str]
    planned: Planned | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the coverage as it is in the JSON of the page."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def build(run: Run, measured: PairResults, hosts: list[str]) -> Coverage:
    """Return the coverage of a run. ``hosts``: all hosts of the run."""
    seen = {host for record in run.records if record.get("kind") in MEASURED and record.get("status") == "ok" for host in _hosts(record)}
    met = {frozenset((result.source.host, result.target.host)) for result in measured.results}
    met = {pair for pair in met if len(pair) == 2}
    return Coverage(
        hosts=len(hosts),
        hosts_measured=len(seen & set(hosts)),
        not_measured=unique(set(hosts) - seen),
        pairs_met=len(met),
        pairs_possible=len(hosts) * (len(hosts) - 1) // 2,
        directions=len(measured.results),
        failed=sum(result.state == FAILED for result in measured.without_value),
        not_run=sum(result.state == NOT_RUN for result in measured.without_value),
        notes=_notes(run.records),
        planned=_planned([PlanRecord(record) for record in run.records if record.get("kind") == "plan"], measured),
    )


def _hosts(record: Record) -> list[str]:
    """Return the hosts of a record; of a matrix row only those with a value."""
    if record.get("kind") != "matrix":
        return hosts_of(record)
    listed = record.get("hosts")
    names = [str(name) for name in listed] if isinstance(listed, list) else []
    found = [text(mapping(record.get("source")).get("host"))]
    for sample in samples(record):
        values = sample.get("bandwidth_gbit_s")
        values = values if isinstance(values, list) else mapping(sample.get("latency_us")).get("typical")
        found += [name for name, value in zip(names, values if isinstance(values, list) else []) if value is not None]
    return [name for name in found if name]


def _planned(plans: list[PlanRecord], measured: PairResults) -> Planned | None:
    """Return the coverage of the first plan that is not that of a confirmation run."""
    plan = next((one for one in plans if one.sample and not one.is_confirmation_run), None)
    if plan is None:
        return None
    wired = plan.wired()
    groups = mapping(plan.sample.get("super_pod")).get("names")
    count, done, failed, not_run, missing, known = _plan_results(plan, measured)
    return Planned(
        plan=text(plan.sample.get("plan")), tool=text(plan.sample.get("tool")) or ROCE_TEST, pairs=count, measured=done, failed=failed, not_run=not_run,
        not_measured=max(0, count - done - failed - not_run), missing=missing if known else [], left_out=list(_left_out(plan.sample)),
        npus=len(wired), leaves=len({leaf for _host, _device, leaf, _source in wired if leaf is not None}),
        super_pods=len(groups) if isinstance(groups, list) else 0,
        npus_by_leaf_source=dict(sorted(Counter(str(source) for _host, _device, leaf, source in wired if leaf is not None).items())),
    )


def _plan_results(plan: PlanRecord, measured: PairResults) -> tuple[int, int, int, int, list[str], bool]:
    """Return the numbers of planned, measured, failed and not run pairs, the first pairs without a result, and whether all pairs were compared."""
    done = {(tuple(result.source), tuple(result.target)) for found in measured.by_metric.values() for result in found}
    without: dict[Any, str] = {}
    for result in measured.without_value:
        without.setdefault((tuple(result.source), tuple(result.target)), result.state)
    pairs = plan.pairs(MOST_EXPANDED)
    if pairs is None:
        count = int(number(plan.sample.get("pairs")) or 0)
        states = Counter(state for pair, state in without.items() if pair not in done)
        return count, min(count, len(done)), states[FAILED], states[NOT_RUN], [], False
    count = len(pairs)
    unmeasured = [pair for pair in pairs if pair not in done]
    states = Counter(without.get(pair, "") for pair in unmeasured)
    missing = [" to ".join(f"{host} NPU {device}" for host, device in pair) for pair in unmeasured if pair not in without]
    return count, count - len(unmeasured), states[FAILED], states[NOT_RUN], missing[:MISSING_SHOWN], True


def _left_out(sample: Record) -> Iterable[str]:
    for one in sample.get("left_out") or () if isinstance(sample.get("left_out"), list) else ():
        npus = mapping(one).get("npus")
        endpoints = [npu for npu in npus if isinstance(npu, list) and len(npu) == 2] if isinstance(npus, list) else []
        names = [str(host) if device is None else f"{host} NPU {device}" for host, device in endpoints]
        count = int(number(mapping(one).get("count")) or len(names))
        yield f"{some(names, len(names), count)}: {text(mapping(one).get('message'))}"
    absent = mapping(sample.get("hosts_left_out")).get("names")
    if isinstance(absent, list) and absent:
        count = int(number(mapping(sample.get("hosts_left_out")).get("count")) or len(absent))
        yield f"{some(list(map(str, absent)), len(absent), count)}: not in the plan"
    cut = mapping(sample.get("cut"))
    if cut:
        yield f"{text(cut.get('rounds'))} rounds, {text(cut.get('pairs'))} pairs: excluded, the plan exceeds its budget"


def _notes(records: list[Record]) -> list[str]:
    notes = []
    for record in records:
        if record.get("kind") == "plan":
            for sample in samples(record):
                lines = sample.get("text")
                notes += [value for value in (lines if isinstance(lines, list) else ()) if isinstance(value, str) and value]
    return list(dict.fromkeys(notes))
