# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""From the results of a run to one class for each host, and to the components of the fabric that are bad, with sentences and evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.problems import Problem, as_dicts
from ...module_utils._core.words import all_printable, printable
from .._plan.expand import topology_of
from . import answers, faster, wording
from .baseline import regressions
from .blocks import Blocks
from .cells import End, Report, read
from .claims import OUTLIER, contested, sift
from .classes import CLASSES, UNREACHABLE, Classes, LeftOut, Verdict, doubted, lowered
from .ends import Ends
from .finding import FABRIC, NODE, NPU, ON_HOST, Finding
from .links import Links
from .missing import unreported
from .planned import Planned
from .power import RELATIVE_FLOOR, power
from .rating import BUSY, FAILED, GOOD, SLOW, Layer, Link, Rating
from .unstarted import Results, Without
from .ways import Stratum

FAILING = {"failed": (FAILED, UNREACHABLE), "slow": tuple(name for name in CLASSES if name != GOOD), "never": ()}
"""By ``fail_on``: the classes for which the task fails."""

LINE_RATE_FLOOR = 0.9

LONGEST_MESSAGE = 8000
"""Characters of a verdict, which may join a sentence for each of 16 NPUs."""


@dataclass(frozen=True)
class Diagnosis:
    """``verdicts``: one for each host asked for, in their order; ``coverage``: how much they rest on; ``components``: what is bad, the larger first;
    ``power``: what could have been seen; ``states``: good or bad by pair id, without what came ``in_rows``; ``regressions``: NPUs that were better
    before; ``doubtful``: pairs behind components that are not certain; ``behind``: NPUs that met proven ones only over a leaf or a path that is bad;
    ``problems``: what was dropped of the answers of the hosts; ``contested``: hosts that alone report more than the others, of whom too few agree;
    ``single``: NPUs that are bad by the pairs with one other host, and have no others."""

    verdicts: list[Verdict]
    coverage: dict[str, int]
    components: list[dict[str, Any]] = field(default_factory=list)
    power: dict[str, Any] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    regressions: list[dict[str, Any]] = field(default_factory=list)
    doubtful: list[tuple[End, End]] = field(default_factory=list)
    behind: list[End] = field(default_factory=list)
    in_rows: bool = False
    problems: list[Problem] = field(default_factory=list)
    contested: list[str] = field(default_factory=list)
    single: list[End] = field(default_factory=list)

    def by_class(self) -> dict[str, list[str]]:
        """The hosts of each class."""
        return {name: [verdict.host for verdict in self.verdicts if verdict.verdict == name] for name in CLASSES}

    def as_dict(self) -> dict[str, Any]:
        """As the action and the filter return it."""
        return {"verdicts": [verdict.as_dict() for verdict in self.verdicts], "hosts": self.by_class(), "components": self.components,
                "coverage": self.coverage, "power": self.power, "regressions": self.regressions, "problems": as_dicts(self.problems)}

    def fabric(self) -> list[dict[str, Any]]:
        """The components for which no host answers."""
        return [found for found in self.components if found["kind"] not in ON_HOST]

    def failing(self, fail_on: str) -> tuple[list[str], list[str]]:
        """A line for each host, and for each component of the fabric, for which ``fail_on`` fails."""
        classes = FAILING[fail_on]
        return ([f"{verdict.host} {verdict.verdict}: {verdict.message}" for verdict in self.verdicts if verdict.verdict in classes],
                [found["message"] for found in self.fabric() if found["class"] in classes])


def diagnose(hosts: Sequence[str], results: Results, floor_gbit_s: float | None = None, relative_floor: float = RELATIVE_FLOOR,
             left_out: Sequence[LeftOut] = (), plan: Mapping[str, Any] | None = None, line_rate_floor: float = LINE_RATE_FLOOR,
             baseline: Mapping[str, Any] | None = None) -> Diagnosis:
    """``results``: what rdma_perf or rdma_perf_info returned, by host, None where nothing did. ``plan``: what was to be measured, and on which leaves
    the NPUs hang; at least its ``topology``. ``baseline``: see baseline.py."""
    planned = plan or {}
    topology = topology_of(planned)
    answered = answers.read(results)
    silent = [host for host, result in answered.results.items() if (not result or result.get("unreachable")) and host in (planned.get("hosts") or ())]
    without = Without(answered.results)
    reports: list[Report] = [*((host, kept) for host, record in answered.reports for kept in without.of([record])),
                             *((record["source"]["host"], record) for record in unreported(planned, silent))]
    table = read(reports, topology, floor_gbit_s, line_rate_floor, Planned(planned))
    claimed = sift(table)
    rating = Rating(table, relative_floor)
    findings, behind, once = _findings(rating, silent)
    judged = Classes(rating, findings, answered.results, without.missed, planned.get("hosts"))
    problems = [*answered.problems, *table.problems, *claimed]
    alone = rating.ways.alone | {problem.host for problem in claimed if problem.rule == OUTLIER and problem.host}
    missing = {host: [one for one in left_out if one.host == host] for host in {one.host for one in left_out}}
    verdicts = [_shown(lowered(doubted(judged.verdict(host, answered.results.get(host)), problems), missing.get(host, ()))) for host in dict.fromkeys(hosts)]
    components = [all_printable(wording.as_dict(finding, rating)) for finding in findings]
    return Diagnosis(verdicts, _coverage(hosts, rating), components, power(rating, len(hosts), once),
                     {pair: "bad" if state != GOOD else GOOD for pair, state in rating.states.items()}, regressions(rating, baseline or {}),
                     [(rating.table.ends[source], rating.table.ends[target]) for finding in findings if not finding.certain
                      for source, target in finding.links], [rating.table.ends[end] for end in behind], bool(rating.table.rows), problems,
                     [host for host in sorted(alone) if contested(table, host)], _single(rating, findings))


def _shown(verdict: Verdict) -> Verdict:
    """The verdict with what hosts and tools said made fit for a terminal; the name of the host is the inventory's."""
    return Verdict(verdict.host, verdict.verdict, printable(verdict.message, LONGEST_MESSAGE), all_printable(verdict.evidence))


def judge_records(records: Mapping[str, Any] | Iterable[Any], hosts: Sequence[str] | None = None, **options: Any) -> Diagnosis:
    """Records from anywhere, or results by host. Raises InputError where they are neither."""
    if isinstance(records, str) or not isinstance(records, Iterable):
        raise InputError("the measurements are neither a list of records nor a dictionary of results by host")
    results: Mapping[str, Any]
    if isinstance(records, Mapping):
        results = records
    else:
        results = answers.by_host(records)
    return diagnose(list(results) if hosts is None else hosts, results, **options)


def _findings(rating: Rating, silent: Sequence[str]) -> tuple[list[Finding], list[int], list[Link]]:
    """What failed is no longer looked at where it is slow, too. ``silent``: hosts that returned nothing. With the ends that a leaf or a path excuses,
    and the pairs that were slow once."""
    found: list[Finding] = []
    blamed: set[int] = set()
    behind: set[int] = set()
    once: list[Link] = []
    for layer in (rating.failed, rating.busy, rating.slow):
        ends = Ends(rating.table, layer, blamed)
        blocks = Blocks(rating, ends, silent)
        ends.explain(*blocks.excuses(ends.suspects))
        links = Links(rating, ends, blocks)
        links.explain()
        blamed |= ends.blamed
        behind |= ends.explained
        found += ends.findings + links.findings
        once += links.once
    found += [_of_most(rating, stratum, known) for stratum, known in rating.ways.above.items() if known.is_doubt]
    return sorted(found, key=lambda finding: (finding.kind in ON_HOST, not finding.certain)), sorted(behind - blamed), once


def _single(rating: Rating, findings: Sequence[Finding]) -> list[End]:
    """Ends on hosts that are blamed and met one other host only: that one alone may be wrong."""
    table = rating.table
    met: dict[int, set[str]] = {end: set() for finding in findings if finding.kind in (NPU, NODE) for end in finding.ends}
    for cell in table.cells if met else ():
        for end, other in ((cell.source, cell.target), (cell.target, cell.source)):
            if end in met:
                met[end].add(table.ends[other].host)
    return [table.ends[end] for end, hosts in sorted(met.items()) if len(hosts) == 1]


def _of_most(rating: Rating, stratum: Stratum, known: faster.Faster) -> Finding:
    """Most pairs, where some others are so much faster that nobody knows what is normal."""
    return Finding(FABRIC, "most of the fabric", SLOW, list(known.slower), [known.link], sum(map(rating.slow.total, known.slower)), [], certain=False,
                   note=faster.above_the_others(known, rating.table.kinds[stratum[0]], rating.normals[stratum]))


def _coverage(hosts: Sequence[str], rating: Rating) -> dict[str, int]:
    layer: Layer = rating.slow
    measured = {end.host for number, end in enumerate(rating.table.ends) if layer.total(number)}
    count = len(set(hosts) | measured)
    return {
        "hosts": len(hosts), "hosts_measured": len(measured & set(hosts)),
        "pairs": sum(rating.counts.values()), **{f"pairs_{state}": rating.counts[state] for state in (GOOD, SLOW, FAILED, BUSY)},
        "host_pairs_measured": rating.met_pairs(), "host_pairs_possible": count * (count - 1) // 2,
    }
