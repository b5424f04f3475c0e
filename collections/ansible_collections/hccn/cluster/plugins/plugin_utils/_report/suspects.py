# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The NPUs and hosts that the run blames. Values of a pair with one of them say nothing about the other end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .._findings.causes import FAILED, SLOW
from .._findings.finding import ON_HOST, Finding
from .._history.pair_results import Endpoint, PairResult
from .verdicts import HostVerdict


@dataclass(frozen=True)
class Suspects:
    """``npus`` that are blamed themselves, and ``hosts`` that are blamed as a whole; ``lost`` hosts did not answer."""

    npus: frozenset[Endpoint] = frozenset()
    hosts: frozenset[str] = frozenset()
    lost: frozenset[str] = field(default=frozenset())

    def __contains__(self, end: object) -> bool:
        return isinstance(end, Endpoint) and (end in self.npus or end.host in self.hosts)


def of_run(findings: Iterable[Finding], verdicts: Iterable[HostVerdict]) -> Suspects:
    """Return the NPUs and hosts of failed and slow findings. A bad host without a finding is blamed as a whole."""
    npus: set[Endpoint] = set()
    hosts: set[str] = set()
    for one in findings:
        if one.severity in (FAILED, SLOW) and one.component.kind in ON_HOST:
            npus.update(Endpoint(host, device) for host, device in one.devices)
            hosts.update(one.hosts if not one.devices else ())
    named = hosts | {npu.host for npu in npus}
    rows = list(verdicts)
    hosts.update(row.host for row in rows if row.verdict in ("failed", "slow", "unreachable") and row.host not in named)
    return Suspects(frozenset(npus), frozenset(hosts), frozenset(row.host for row in rows if row.verdict == "unreachable"))


def by_endpoint(results: Iterable[PairResult], suspects: Suspects) -> dict[Endpoint, list[PairResult]]:
    """Return the results with a value by endpoint, as sender and as receiver, whose other end is not a suspect. A suspect without any keeps all of its
    results, any other endpoint without any is left out."""
    listed = [result for result in results if result.value is not None]
    blamed = {end for end in {end for result in listed for end in (result.source, result.target)} if end in suspects}
    clean: dict[Endpoint, list[PairResult]] = {}
    doubtful: dict[Endpoint, list[PairResult]] = {}
    for result in listed:
        source, target = result.source, result.target
        (doubtful if target in blamed else clean).setdefault(source, []).append(result)
        (doubtful if source in blamed else clean).setdefault(target, []).append(result)
    return {**{end: found for end, found in doubtful.items() if end in blamed}, **clean}
