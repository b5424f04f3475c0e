# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Plan the confirmation run: a few pairs that settle the open questions of a run, NPUs without a proven good partner and bad pairs between good NPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ...module_utils._core.numbers import is_integer
from ...module_utils._core.words import some
from ...module_utils._fabric.plan import QPS, SOURCE_PORT
from .._plan.isolation import MISSING, confirming_round, crossing_rounds, isolation_rounds, retest, retest_qps
from .._plan.pair_list import NpuId, NpuPair
from .._plan.plan_forms import Entry, extended, pairs_of, schedule_of, topology_of
from .diagnosis import BETWEEN_LEAVES, Diagnosis
from .unstarted_runs import Results

MOST_ROUNDS, SHARE_OF_PLAN = 8, 0.1
"""Rounds of a confirmation run: this many, and this share of the rounds of the plan."""

MOST_ISOLATING = 4
"""Rounds of isolation. One is enough if at most a quarter of the NPUs is bad."""

MOST_CROSSING, MOST_CROSSING_OF_BAD = 3, 5
"""Rounds between the leaves of which an uplink may be bad, and those if a part of the fabric is known to be bad and rounds are left. On a healthy fabric, five
of them would meet more of other traffic."""

PORTS = 16
"""Source ports of a pair that is measured over other paths, if the run sets the port and there are rounds enough."""

LAST_PORT = 65535

MOST_RETESTED = 64
"""Pairs that are measured again."""


@dataclass(frozen=True)
class ConfirmationRun:
    """Further rounds after those of the plan, and the reasons for them.

    ``open_npus``: NPUs that are measured with a proven good one in these rounds; ``behind_path`` of them were measured with such ones only over a bad leaf
    or path, ``single_partner`` of them are bad and were measured with a single host only, and ``unproven`` of them are bad in few measurements of a run that
    has others without a cause. ``retested``: bad pairs that are measured again. ``crossing``: leaves whose uplinks are measured again.
    ``contested``: hosts that report higher values than all others.
    """

    rounds: list[list[Entry]]
    open_npus: int
    retested: int
    behind_path: int = 0
    single_partner: int = 0
    unproven: int = 0
    crossing: int = 0
    contested: Sequence[str] = ()

    def as_dict(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``plan``, which rdma_perf takes for these rounds alone, and ``text``, which says what is measured and why."""
        hosts = {entry[side]["host"] for one in self.rounds for entry in one for side in ("source", "target")}
        pairs = sum(map(len, self.rounds))
        rounds = f"{len(self.rounds)} more round{'s' if len(self.rounds) > 1 else ''}"
        return {
            "rounds": len(self.rounds), "pairs": pairs,
            "text": f"Confirmation run of {pairs} pair{'s' if pairs > 1 else ''} of NPUs over {len(hosts)} hosts in {rounds}: {_joined(self._reasons())}.",
            "plan": {"plan": "pairs", "rounds": self.rounds, "hosts": {host: entry for host, entry in plan["hosts"].items() if host in hosts},
                     "topology": {host: entry for host, entry in topology_of(plan).items() if host in hosts}},
        }

    def _reasons(self) -> list[str]:
        reasons = []
        unmet = self.open_npus - self.behind_path - self.single_partner - self.unproven
        if unmet:
            reasons.append(f"{unmet} NPU{'s were' if unmet > 1 else ' was'} not measured with a proven good one")
        if self.behind_path:
            reasons.append(f"{self.behind_path} NPU{'s were' if self.behind_path > 1 else ' was'} measured with proven good ones only over a bad leaf or path")
        if self.single_partner:
            reasons.append(f"{self.single_partner} NPU{'s are' if self.single_partner > 1 else ' is'} bad and measured with a single host only")
        if self.unproven:
            reasons.append(f"{self.unproven} NPU{'s are' if self.unproven > 1 else ' is'} bad in few measurements, and others are bad without a cause")
        if self.retested:
            reasons.append(f"{self.retested} bad pair{'s are' if self.retested > 1 else ' is'} between good NPUs")
        if self.crossing:
            reasons.append(f"an uplink of {self.crossing} {'leaves' if self.crossing > 1 else 'leaf'} or a spine may be bad")
        if self.contested:
            reasons.append(f"only {some(self.contested)} report{'' if len(self.contested) > 1 else 's'} higher values than the others")
        return reasons


def plan_confirmation_run(plan: Mapping[str, Any], found: Diagnosis, results: Results, seed: int = 0) -> ConfirmationRun | None:
    """Return the confirmation run after a diagnosis; None if nothing is open, or if no pair could settle it.

    Hosts that returned nothing or a failure do not take part.
    """
    absent = {host for host, result in results.items() if not isinstance(result, Mapping) or not result or result.get("unreachable") or result.get("failed")}
    most = MOST_ROUNDS + int(SHARE_OF_PLAN * _rounds(plan))
    open_npus = [*found.behind_path, *found.single_partner, *found.unproven]
    isolating: list[list[Entry]] = []
    if not found.has_rows:
        states = {name: found.states.get(name, MISSING) for name, _npus in pairs_of(plan)}
        isolating = _without(absent, isolation_rounds(plan, states, seed, MOST_ISOLATING, open_npus))[:MOST_ISOLATING]
    contested = bool(found.contested)
    left = most - len(isolating) - contested
    crossed = max(0, min(MOST_CROSSING, left - 2)) if found.open_leaves else 0
    rounds_each = max(1, left // 4)  # for the pairs as they were, and for them with each of the other options
    pairs = _matching([pair for pair in found.uncertain if absent.isdisjoint(host for host, _device in pair)], rounds_each)
    port = _reported(results, SOURCE_PORT)
    options = _other_options(port, _reported(results, QPS) or 1)
    retested = retest(extended(plan, isolating), pairs, set(found.proven), seed, options)
    same = retested.same[:rounds_each]
    again = retested.again[:min(rounds_each * len(options), max(len(same), left - crossed - len(same) - 1))]
    others = retested.others[:max(0, left - crossed - len(again) - len(same))]
    if crossed and any(component["kind"] in BETWEEN_LEAVES for component in found.components):
        crossed = max(crossed, min(MOST_CROSSING_OF_BAD, left - len(again) - len(others) - len(same)))
    numbered = extended(plan, [*isolating, *retested.again, *retested.others, *retested.same])
    crossing = _without(absent, crossing_rounds(numbered, found.open_leaves, crossed, absent, seed))
    settling = [*isolating, *_without(absent, again), *crossing, *_without(absent, [*others, *same])]
    confirming = confirming_round(extended(plan, settling), {*absent, *found.contested}, seed) if contested else []
    rounds = [*settling, *confirming][:most]
    if not rounds:
        return None
    if port is not None:  # a pair with a port of its own is traced
        rounds = [[{"options": {SOURCE_PORT: port}, **entry} for entry in one] for one in rounds]
    met = {(entry[side]["host"], int(entry[side]["device"])) for one in isolating for entry in one for side in ("source", "target")}
    reasons = [met.intersection(npus) for npus in (found.behind_path, found.single_partner, found.unproven)]
    return ConfirmationRun(rounds, sum(map(len, isolating)), len(pairs), len(reasons[0]), len(reasons[1] - reasons[0]),
                           len(reasons[2] - reasons[1] - reasons[0]), len(found.open_leaves) if crossing else 0, found.contested if confirming else ())


def _rounds(plan: Mapping[str, Any]) -> int:
    schedule = schedule_of(plan)
    return (schedule.rounds if schedule else 0) + len(plan.get("rounds", ()))


def _matching(pairs: Sequence[NpuPair], most: int) -> list[NpuPair]:
    """Return at most MOST_RETESTED of the pairs, each NPU in at most ``most`` of them."""
    used: Counter[NpuId] = Counter()
    found: list[NpuPair] = []
    for pair in dict.fromkeys(pairs):
        if len(found) < MOST_RETESTED and all(used[npu] < most for npu in pair):
            used.update(pair)
            found.append(pair)
    return found


def _other_options(port: int | None, used_qps: int) -> list[dict[str, int]]:
    """Return the options for other paths: other source ports if the run set one, else another number of queue pairs."""
    if port is None:
        return [{QPS: retest_qps(used_qps)}]
    first = min(port, LAST_PORT - PORTS)
    return [{SOURCE_PORT: number} for number in range(first, first + PORTS + 1) if number != port]


def _reported(results: Results, name: str) -> int | None:
    """Return the option that most hosts report, None if they report none, or as many report none."""
    reported = [{_option(record, name) for record in _measurements(result)} for result in results.values()]
    return max(Counter(chain.from_iterable(reported)).items(), key=lambda item: (item[1], item[0] is None, item[0] or 0), default=(None, 0))[0]


def _measurements(result: Any) -> list[Any]:
    found = result.get("measurements") if isinstance(result, Mapping) else None
    return found if isinstance(found, list) else []


def _option(record: Any, name: str) -> int | None:
    options = record.get("options") if isinstance(record, Mapping) else None
    value = options.get(name) if isinstance(options, Mapping) else None
    return value if is_integer(value) and 0 < value <= LAST_PORT else None


def _joined(reasons: Sequence[str]) -> str:
    return " and ".join([", ".join(reasons[:-1]), reasons[-1]] if len(reasons) > 1 else reasons)


def _without(absent: set[str], rounds: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    """Return the rounds without pairs of absent hosts, and without rounds that are empty then."""
    left = [[entry for entry in one if absent.isdisjoint((entry["source"]["host"], entry["target"]["host"]))] for one in rounds]
    return [one for one in left if one]
