# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""From the results of a run to one class for each host, and to the components of the fabric that are bad, with sentences and evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ...module_utils._core.errors import InputError
from .._plan.expand import topology_of
from . import faster, wording
from .baseline import regressions
from .blocks import Blocks
from .cells import End, read, understood
from .classes import CLASSES, UNREACHABLE, Classes, LeftOut, Results, Verdict, lowered
from .ends import Ends
from .finding import FABRIC, ON_HOST, Finding
from .links import Links
from .missing import unreported
from .power import RELATIVE_FLOOR, power
from .rating import BUSY, FAILED, GOOD, SLOW, Layer, Link, Rating
from .ways import Stratum

FAILING = {"failed": (FAILED, UNREACHABLE), "slow": tuple(name for name in CLASSES if name != GOOD), "never": ()}
"""By ``fail_on``: the classes for which the task fails."""

LINE_RATE_FLOOR = 0.9


@dataclass(frozen=True)
class Diagnosis:
    """``verdicts``: one for each host asked for, in their order; ``coverage``: how much they rest on; ``components``: what is bad, the larger first;
    ``power``: what could have been seen; ``states``: good or bad by pair id, without what came ``in_rows``; ``regressions``: NPUs that were better
    before; ``doubtful``: pairs behind components that are not certain; ``behind``: NPUs that met proven ones only over a leaf or a path that is bad."""

    verdicts: list[Verdict]
    coverage: dict[str, int]
    components: list[dict[str, Any]] = field(default_factory=list)
    power: dict[str, Any] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    regressions: list[dict[str, Any]] = field(default_factory=list)
    doubtful: list[tuple[End, End]] = field(default_factory=list)
    behind: list[End] = field(default_factory=list)
    in_rows: bool = False

    def by_class(self) -> dict[str, list[str]]:
        """The hosts of each class."""
        return {name: [verdict.host for verdict in self.verdicts if verdict.verdict == name] for name in CLASSES}

    def as_dict(self) -> dict[str, Any]:
        """As the action and the filter return it."""
        return {"verdicts": [verdict.as_dict() for verdict in self.verdicts], "hosts": self.by_class(), "components": self.components,
                "coverage": self.coverage, "power": self.power, "regressions": self.regressions}

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
    silent = [host for host, result in results.items() if (not result or result.get("unreachable")) and host in (planned.get("hosts") or ())]
    records = chain((record for result in results.values() if result for record in result.get("measurements") or ()), unreported(planned, silent))
    rating = Rating(read(records, topology, floor_gbit_s, line_rate_floor), relative_floor)
    findings, behind, once = _findings(rating, silent)
    judged = Classes(rating, findings, results)
    missing = {host: [one for one in left_out if one.host == host] for host in {one.host for one in left_out}}
    verdicts = [lowered(judged.verdict(host, results.get(host)), missing.get(host, ())) for host in dict.fromkeys(hosts)]
    return Diagnosis(verdicts, _coverage(hosts, rating), [wording.as_dict(finding, rating) for finding in findings], power(rating, len(hosts), once),
                     {pair: "bad" if state != GOOD else GOOD for pair, state in rating.states.items()}, regressions(rating, baseline or {}),
                     [(rating.table.ends[source], rating.table.ends[target]) for finding in findings if not finding.certain
                      for source, target in finding.links], [rating.table.ends[end] for end in behind], bool(rating.table.rows))


def judge_records(records: Mapping[str, Any] | Iterable[Any], hosts: Sequence[str] | None = None, **options: Any) -> Diagnosis:
    """Records from anywhere, or results by host. Raises InputError where they are neither."""
    if isinstance(records, str) or not isinstance(records, Iterable):
        raise InputError("the measurements are neither a list of records nor a dictionary of results by host")
    results: Mapping[str, Any]
    if isinstance(records, Mapping):
        results = records
    else:
        known = list(records)
        if not all(isinstance(record, Mapping) for record in known):
            raise InputError("the list of measurements holds something that is no record")
        results = {}
        for record in (record for record in known if record.get("kind") in ("rdma", "matrix")):
            with understood(record):
                target = (record.get("target") or {}).get("host")
                for host in (record["source"]["host"], *([] if target is None else [target]), *(record.get("hosts") or ())):
                    results.setdefault(str(host), {"measurements": []})
                results[str(record["source"]["host"])]["measurements"].append(record)
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
