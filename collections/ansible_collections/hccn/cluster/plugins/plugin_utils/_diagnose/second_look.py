# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a run leaves open, and the few pairs that settle it: NPUs that met no proven good one, and pairs that are bad between two good NPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.words import some
from .._plan.expand import Entry, extended, pairs_of, topology_of
from .._plan.isolation import MISSING, confirming_round, isolation_rounds, retest
from .judge import Diagnosis
from .unstarted import Results

MOST_ROUNDS = 4
"""Of isolation: one is enough where no more than a quarter of the NPUs are bad."""

MOST_AGAIN = 64
"""Pairs that are measured again."""


@dataclass(frozen=True)
class SecondLook:
    """``rounds``: the further ones, their ids go on where those of the plan end; ``open_ends``, ``again`` and ``behind``, of these ends, a bad leaf or
    path, and ``single``, those that are bad with the one host that they met, and ``contested``, hosts that alone report more than the others: why."""

    rounds: list[list[Entry]]
    open_ends: int
    again: int
    behind: int = 0
    single: int = 0
    contested: Sequence[str] = ()

    def as_dict(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """``plan``: what rdma_perf takes for these rounds alone, with the hosts that they need; ``text``: what is looked at and why."""
        hosts = {entry[side]["host"] for one in self.rounds for entry in one for side in ("source", "target")}
        pairs = sum(map(len, self.rounds))
        reasons = []
        alone = self.open_ends - self.behind - self.single
        if alone:
            reasons.append(f"{alone} NPUs have not met a proven good one" if alone > 1 else "1 NPU has not met a proven good one")
        if self.behind:
            reasons.append(f"{self.behind} NPU{'s have' if self.behind > 1 else ' has'} met proven good ones only over a bad leaf or path")
        if self.single:
            reasons.append(f"{self.single} NPU{'s are' if self.single > 1 else ' is'} bad with the one host that {'they' if self.single > 1 else 'it'} met")
        if self.again:
            reasons.append(f"{self.again} bad pairs lie between good NPUs" if self.again > 1 else "1 bad pair lies between good NPUs")
        if self.contested:
            reasons.append(f"{some(self.contested)} alone report{'' if len(self.contested) > 1 else 's'} more than the others")
        rounds = f"{len(self.rounds)} more round{'s' if len(self.rounds) > 1 else ''}"
        return {
            "rounds": len(self.rounds), "pairs": pairs,
            "text": f"A second look, {pairs} pairs of NPUs over {len(hosts)} hosts in {rounds}: {_joined(reasons)}.",
            "plan": {"plan": "pairs", "rounds": self.rounds, "hosts": {host: entry for host, entry in plan["hosts"].items() if host in hosts},
                     "topology": {host: entry for host, entry in topology_of(plan).items() if host in hosts}},
        }


def second_look(plan: Mapping[str, Any], found: Diagnosis, results: Results, seed: int = 0) -> SecondLook | None:
    """None where nothing is open, or where nothing that could settle it is at hand. Hosts that returned no result, or a failure, are left alone."""
    silent = {host for host, result in results.items() if not isinstance(result, Mapping) or not result or result.get("unreachable") or result.get("failed")}
    pairs = list(pairs_of(plan))
    states = {name: found.states.get(name, MISSING) for name, _ends in pairs}
    isolating = [] if found.in_rows else _without(silent, isolation_rounds(plan, states, seed, MOST_ROUNDS, [*found.behind, *found.single]))
    doubtful = set(found.doubtful)
    wanted = [name for name, ends in pairs if ends in doubtful and silent.isdisjoint(host for host, _device in ends)][:MOST_AGAIN]
    retested = retest(extended(plan, isolating), wanted, {} if found.in_rows else states, seed)
    settling = [*isolating, *_without(silent, [*retested.again, *retested.others, *retested.same])]
    confirming = confirming_round(extended(plan, settling), {*silent, *found.contested}, seed) if found.contested else []
    rounds = [*settling, *confirming]
    met = {(entry[side]["host"], int(entry[side]["device"])) for one in isolating for entry in one for side in ("source", "target")}
    behind, single = met.intersection(found.behind), met.intersection(found.single)
    if not rounds:
        return None
    return SecondLook(rounds, sum(map(len, isolating)), len(wanted), len(behind), len(single - behind), found.contested if confirming else ())


def _joined(reasons: Sequence[str]) -> str:
    return " and ".join([", ".join(reasons[:-1]), reasons[-1]] if len(reasons) > 1 else reasons)


def _without(silent: set[str], rounds: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    kept = [[entry for entry in one if silent.isdisjoint((entry["source"]["host"], entry["target"]["host"]))] for one in rounds]
    return [one for one in kept if one]
