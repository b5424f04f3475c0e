# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Diagnose a run: give each host one class, and name the components of the fabric that are bad, each with a sentence and evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.garbage import collection_paused
from ...module_utils._core.problems import Problem, as_dicts
from ...module_utils._core.words import all_printable, printable
from .._plan.plan_forms import topology_of
from . import host_answers, wording
from .classification import BUSY, FAILED, GOOD, SLOW, Classification, Link
from .component import CERTAINTIES, FABRIC, LEAF, NODE, NPU, ON_HOST, PAIR, PATH, POSSIBLE, PROBABLE, SPINE, UPLINK, Component
from .detection_limit import RELATIVE_FLOOR, detection_limit
from .fabric_faults import FabricFaults
from .fast_pairs import FastPairs
from .host_classes import CLASSES, UNREACHABLE, HostClassifier, LeftOut, Verdict, with_left_out, with_problems
from .measurement_table import Npu
from .npu_faults import NpuFaults
from .planned_pairs import PlannedPairs, unreported
from .plausibility import OUTLIER, drop_implausible, is_contested
from .records import Report, read
from .regressions import regressions
from .strata import Stratum
from .unstarted_runs import Results, UnstartedRuns

FAILING_CLASSES = {"failed": (FAILED, UNREACHABLE), "slow": tuple(name for name in CLASSES if name != GOOD), "never": ()}
"""The classes of hosts and components for which the task fails, by ``fail_on``."""

LINE_RATE_FLOOR = 0.9

FEW_OF_NPU = 3
"""Measurements of an NPU that other traffic may have slowed down all."""

FEW_CROSSING = 8
"""Measurements of an NPU up to which a single bad pair may be the only sign of a bad uplink."""

BETWEEN_LEAVES = (LEAF, UPLINK, PATH, SPINE)
CROSSING = (*BETWEEN_LEAVES, PAIR)
"""Kinds of components of which more measurements between leaves show which one is bad."""

OF_SEVERAL_LINKS = (UPLINK, PATH, SPINE)
"""Kinds of components of which one of several links may be bad. A pinned path shows which one."""

LONGEST_MESSAGE = 8000
"""Characters of a verdict. It may join a sentence for each of 16 NPUs."""


MOST_SUSPECTS = 32
"""Hosts whose ports are read again. If more hosts are bad, the first of them show what is common to all."""


@dataclass(frozen=True)
class Diagnosis:
    """The result of a diagnosis.

    ``verdicts``: one for each requested host, in the order requested. ``components``: the bad components, the largest first. ``detection_limit``: the drops
    that the run would have found. ``states``: good or bad by pair id; rows have no ids. ``regressions``: NPUs that were faster in the baseline. ``problems``:
    the parts of the answers of the hosts that were dropped.

    The rest is input of the confirmation run. ``uncertain``: pairs behind components that are not certain, or of which a pinned path shows the bad link, and
    slow pairs behind none. ``behind_path``: NPUs
    that were measured with proven good ones only over a bad leaf or path. ``has_rows``: whether the run returned rows. ``contested``: hosts that report higher
    values than all others, too few of which contradict them. ``single_partner``: NPUs that are bad and were measured with one other host only. ``unproven``:
    NPUs that are slow in few measurements, of a run in which others are slow without a cause. ``open_leaves``: leaves of which an uplink may be bad, or of
    which a pinned path shows the bad one.
    ``proven``: NPUs that are good.
    """

    verdicts: list[Verdict]
    coverage: dict[str, int]
    components: list[dict[str, Any]] = field(default_factory=list)
    detection_limit: dict[str, Any] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    regressions: list[dict[str, Any]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    uncertain: list[tuple[Npu, Npu]] = field(default_factory=list)
    behind_path: list[Npu] = field(default_factory=list)
    has_rows: bool = False
    contested: list[str] = field(default_factory=list)
    single_partner: list[Npu] = field(default_factory=list)
    unproven: list[Npu] = field(default_factory=list)
    open_leaves: list[str] = field(default_factory=list)
    proven: list[Npu] = field(default_factory=list)

    def by_class(self) -> dict[str, list[str]]:
        """Return the hosts of each class."""
        return {name: [verdict.host for verdict in self.verdicts if verdict.verdict == name] for name in CLASSES}

    def as_dict(self) -> dict[str, Any]:
        """Return the diagnosis as the action and the filter return it."""
        return {"verdicts": [verdict.as_dict() for verdict in self.verdicts], "hosts": self.by_class(), "components": self.components,
                "suspects": self.suspects(), "coverage": self.coverage, "detection_limit": self.detection_limit, "regressions": self.regressions,
                "problems": as_dicts(self.problems)}

    def suspects(self) -> list[str]:
        """Return the hosts whose ports may explain what is slow or failed: the bad hosts, then those of bad pairs, at most MOST_SUSPECTS."""
        bad = [verdict.host for verdict in self.verdicts if verdict.verdict in ("slow", "failed")]
        paired = [host for component in self.components if component["kind"] == "pair" for host in component["hosts"]]
        return list(dict.fromkeys([*bad, *paired]))[:MOST_SUSPECTS]

    def fabric(self) -> list[dict[str, Any]]:
        """Return the components that belong to no single host."""
        return [component for component in self.components if component["kind"] not in ON_HOST]

    def failing(self, fail_on: str) -> tuple[list[str], list[str]]:
        """Return a line for each host, and one for each component of the fabric, that makes the task fail."""
        classes = FAILING_CLASSES[fail_on]
        return ([f"{verdict.host} {verdict.verdict}: {verdict.message}" for verdict in self.verdicts if verdict.verdict in classes],
                [component["message"] for component in self.fabric() if component["class"] in classes])


@collection_paused()
def diagnose(hosts: Sequence[str], results: Results, floor_gbit_s: float | None = None, relative_floor: float = RELATIVE_FLOOR,
             left_out: Sequence[LeftOut] = (), plan: Mapping[str, Any] | None = None, line_rate_floor: float = LINE_RATE_FLOOR,
             baseline: Mapping[str, Any] | None = None) -> Diagnosis:
    """Diagnose the results of a run.

    ``results``: what rdma_perf or rdma_perf_info returned for each host, None for no result. ``plan``: the plan that was measured; ``topology`` is enough to
    name leaves. ``baseline``: see regressions.py.
    """
    planned = plan or {}
    answered = host_answers.read(results)
    unstarted = UnstartedRuns(answered.results)
    silent = [host for host, result in answered.results.items() if (not result or result.get("unreachable")) and host in (planned.get("hosts") or ())]
    table = read(_reports(answered, unstarted, planned, silent), topology_of(planned), floor_gbit_s, line_rate_floor, PlannedPairs(planned))
    implausible = drop_implausible(table)
    table.drop_empty_rows()
    classification = Classification(table, relative_floor)
    attribution = _attribute(classification, silent)
    problems = [*answered.problems, *table.problems, *implausible]
    classifier = HostClassifier(classification, attribution.components, answered.results, unstarted.missed, planned.get("hosts"))
    verdicts = [_printable(with_left_out(with_problems(classifier.verdict(host, answered.results.get(host)), problems), left_out))
                for host in dict.fromkeys(hosts)]
    odd_reporters = classification.strata.single_reporters | {problem.host for problem in implausible if problem.rule == OUTLIER and problem.host}
    return Diagnosis(
        verdicts=verdicts,
        coverage=_coverage(hosts, classification),
        components=[all_printable(wording.as_dict(component, classification)) for component in attribution.components],
        detection_limit=detection_limit(classification, len(hosts), attribution.slow_once, attribution.within_noise),
        states={pair: "bad" if state != GOOD else GOOD for pair, state in classification.states.items()},
        regressions=regressions(classification, baseline or {}),
        problems=problems,
        uncertain=[(table.npus[source], table.npus[target]) for source, target in attribution.uncertain],
        behind_path=[table.npus[npu] for npu in attribution.excused],
        has_rows=bool(table.rows),
        contested=[host for host in sorted(odd_reporters) if is_contested(table, host)],
        single_partner=_with_single_partner(classification, attribution.components),
        unproven=[table.npus[npu] for npu in sorted(attribution.unproven)],
        open_leaves=sorted({str(table.leaves[npu]) for component in attribution.components if component.kind in CROSSING and attribution.is_open(component)
                            for npu in component.npus if table.leaves[npu] is not None and (
                                component.kind != PAIR or classification.slow.total(npu) <= FEW_CROSSING)}),
        proven=[table.npus[npu] for npu in sorted(attribution.proven)],
    )


def diagnose_records(records: Mapping[str, Any] | Iterable[Any], hosts: Sequence[str] | None = None, **options: Any) -> Diagnosis:
    """Diagnose a list of records, or results by host. Raises InputError if the input is neither."""
    if isinstance(records, str) or not isinstance(records, Iterable):
        raise InputError("the measurements are neither a list of records nor a dictionary of results by host")
    results: Mapping[str, Any] = records if isinstance(records, Mapping) else host_answers.by_host(records)
    return diagnose(list(results) if hosts is None else hosts, results, **options)


def _reports(answered: host_answers.Answers, unstarted: UnstartedRuns, plan: Mapping[str, Any], silent: Sequence[str]) -> list[Report]:
    """Return the records that count, each with its host, and a failed record for each pair that a silent host should have reported."""
    return [*((host, counted) for host, record in answered.reports for counted in unstarted.filter([record])),
            *((record["source"]["host"], record) for record in unreported(plan, silent))]


@dataclass(frozen=True)
class _Attribution:
    """The components to which bad cells are attributed.

    ``excused``: NPUs whose bad cells are attributed to a leaf, a path or other pairs that shared a link. ``slow_once``: pairs that were slow once
    and are attributed to nothing. ``within_noise``: pairs that may be slow by noise, of a run with too few values to know it.
    ``unproven``: NPUs that are slow in few measurements of a run with unknown noise. ``proven``: NPUs that are good. ``pinned``: whether the run set source
    ports, so that a confirmation run shows which link of a component is bad.
    """

    components: list[Component]
    excused: list[int]
    slow_once: list[Link]
    within_noise: list[Link]
    unproven: set[int]
    proven: set[int]
    pinned: bool

    def is_open(self, component: Component) -> bool:
        """Return True if more measurements show whether a component is bad, or which of its links is."""
        return not component.certain or (self.pinned and component.kind in OF_SEVERAL_LINKS)

    @property
    def uncertain(self) -> list[Link]:
        """The bad cells that are measured again."""
        components = [component for component in self.components if self.is_open(component) or not self.unproven.isdisjoint(component.npus)]
        return [link for component in components for link in component.links] + self.within_noise


def _attribute(classification: Classification, silent: Sequence[str]) -> _Attribution:
    """Attribute bad cells to components, failures first. An NPU that is blamed for failures is not blamed for slow cells as well."""
    components: list[Component] = []
    blamed: set[int] = set()
    excused: set[int] = set()
    slow_once: list[Link] = []
    proven = {npu for npu in range(len(classification.table.npus)) if classification.slow.total(npu)}
    for layer in (classification.failed, classification.busy, classification.slow):
        npu_faults = NpuFaults(classification.table, layer, blamed)
        fabric_faults = FabricFaults(classification, npu_faults, silent)
        npu_faults.attribute(fabric_faults.excused, fabric_faults.doubtful)
        fabric_faults.attribute()
        blamed |= npu_faults.blamed
        proven = {npu for npu in proven if npu_faults.cleared[npu]}
        excused |= npu_faults.excused
        components += npu_faults.components + fabric_faults.components
        slow_once += fabric_faults.slow_once
    unproven = _unproven(classification, components, slow_once)
    within_noise = [component for component in components if _is_within_noise(classification, component)]
    components = _without_pairs_of_slow_npus([component for component in components if component not in within_noise])
    components += [_most_of_the_fabric(classification, stratum, fast) for stratum, fast in classification.strata.fast_pairs.items() if fast.is_doubt]
    components.sort(key=lambda component: (component.kind in ON_HOST, CERTAINTIES.index(component.certainty)))
    open_npus = excused | {npu for npu in classification.shared if npu not in proven}
    return _Attribution(components, sorted(open_npus - blamed), slow_once, [link for component in within_noise for link in component.links], unproven,
                        proven - blamed, classification.table.is_pinned)


def _unproven(classification: Classification, components: Sequence[Component], slow_once: Sequence[Link]) -> set[int]:
    """Return the NPUs that are slow in few measurements, if other pairs are slow without a cause or the noise is unknown. They are not certain."""
    noisy = classification.is_noise_unknown or bool(slow_once) or any(component.kind == PAIR and component.state == SLOW for component in components)
    found: set[int] = set()
    for component in components if noisy else ():
        if component.kind in (NPU, NODE) and component.state == SLOW and max(map(classification.slow.total, component.npus)) <= FEW_OF_NPU and any(
                map(classification.may_be_noise, component.links)):
            found.update(component.npus)
            component.certainty = max(component.certainty, PROBABLE, key=CERTAINTIES.index)
    return found


def _without_pairs_of_slow_npus(components: Sequence[Component]) -> list[Component]:
    """Return the components without pairs that failed, possibly by their path, if one of their NPUs is slow: a test at its speed may not end in time."""
    slow = {npu for component in components if component.kind in (NPU, NODE) and component.state == SLOW and component.certainty != POSSIBLE
            for npu in component.npus}
    return [component for component in components if not (component.kind == PAIR and component.state == FAILED and component.certainty == POSSIBLE and all(
        not slow.isdisjoint(link) for link in component.links))]


def _is_within_noise(classification: Classification, component: Component) -> bool:
    """Return True for a slow pair, NPU or host that noise of unknown size explains, even if it was slow each time."""
    if component.state != SLOW or component.kind not in (NPU, NODE, PAIR):
        return False
    if component.kind == PAIR and classification.is_noise_of_pairs_unknown:
        return all(map(classification.may_be_noise, component.links))
    return classification.is_within_noise(component.links)


def _most_of_the_fabric(classification: Classification, stratum: Stratum, fast: FastPairs) -> Component:
    """Return the component for the slower NPUs, where a few pairs are so much faster that the normal value is unknown."""
    name = "most of the fabric" if 2 * len(fast.slower) > len(classification.table.npus) else "part of the fabric"
    return Component(FABRIC, name, SLOW, list(fast.slower), [fast.link], sum(map(classification.slow.total, fast.slower)), [],
                     certainty=POSSIBLE, note=fast.sentence(classification.table.kinds[stratum[0]], classification.normals[stratum]))


def _with_single_partner(classification: Classification, components: Sequence[Component]) -> list[Npu]:
    """Return the NPUs of bad NPUs and nodes that were measured with one other host only. That host may be the cause."""
    table = classification.table
    partners: dict[int, set[str]] = {npu: set() for component in components if component.kind in (NPU, NODE) for npu in component.npus}
    for cell in table.cells if partners else ():
        for npu, other in ((cell.source, cell.target), (cell.target, cell.source)):
            if npu in partners:
                partners[npu].add(table.npus[other].host)
    return [table.npus[npu] for npu, hosts in sorted(partners.items()) if len(hosts) == 1]


def _printable(verdict: Verdict) -> Verdict:
    """Return the verdict with all text from hosts and tools made safe for a terminal. The host name is from the inventory."""
    return Verdict(verdict.host, verdict.verdict, printable(verdict.message, LONGEST_MESSAGE), all_printable(verdict.evidence), verdict.certainty)


def _coverage(hosts: Sequence[str], classification: Classification) -> dict[str, int]:
    """Return how many hosts and pairs the diagnosis rests on."""
    counts = classification.counts
    measured = {npu.host for number, npu in enumerate(classification.table.npus) if classification.slow.total(number)}
    count = len(set(hosts) | measured)
    return {
        "hosts": len(hosts), "hosts_measured": len(measured & set(hosts)),
        "pairs": sum(counts.values()), **{f"pairs_{state}": counts[state] for state in (GOOD, SLOW, FAILED, BUSY)},
        "host_pairs_measured": classification.met_pairs(), "host_pairs_possible": count * (count - 1) // 2,
    }
