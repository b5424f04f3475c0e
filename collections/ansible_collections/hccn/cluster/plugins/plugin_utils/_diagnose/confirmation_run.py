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
from .._plan.isolation import MISSING, confirming_round, isolation_rounds, retest, retest_qps
from .._plan.plan_forms import Entry, extended, pairs_of, topology_of
from .diagnosis import Diagnosis
from .unstarted_runs import Results

MOST_ROUNDS = 4
"""Of isolation. One is enough if at most a quarter of the NPUs is bad."""

MOST_RETESTED = 64
"""Pairs that are measured again."""


@dataclass(frozen=True)
class ConfirmationRun:
    """Further rounds after those of the plan, and the reasons for them.

    ``open_npus``: NPUs that are measured with a proven good one in these rounds; ``behind_path`` of them were measured with such ones only over a bad leaf
    or path, and ``single_partner`` of them are bad and were measured with a single host only. ``retested``: bad pairs that are measured again.
    ``contested``: hosts that report higher values than all others.
    """

    rounds: list[list[Entry]]
    open_npus: int
    retested: int
    behind_path: int = 0
    single_partner: int = 0
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
        unmet = self.open_npus - self.behind_path - self.single_partner
        if unmet:
            reasons.append(f"{unmet} NPU{'s were' if unmet > 1 else ' was'} not measured with a proven good one")
        if self.behind_path:
            reasons.append(f"{self.behind_path} NPU{'s were' if self.behind_path > 1 else ' was'} measured with proven good ones only over a bad leaf or path")
        if self.single_partner:
            reasons.append(f"{self.single_partner} NPU{'s are' if self.single_partner > 1 else ' is'} bad and measured with a single host only")
        if self.retested:
            reasons.append(f"{self.retested} bad pair{'s are' if self.retested > 1 else ' is'} between good NPUs")
        if self.contested:
            reasons.append(f"only {some(self.contested)} report{'' if len(self.contested) > 1 else 's'} higher values than the others")
        return reasons


def plan_confirmation_run(plan: Mapping[str, Any], found: Diagnosis, results: Results, seed: int = 0) -> ConfirmationRun | None:
    """Return the confirmation run after a diagnosis; None if nothing is open, or if no pair could settle it.

    Hosts that returned nothing or a failure do not take part.
    """
    absent = {host for host, result in results.items() if not isinstance(result, Mapping) or not result or result.get("unreachable") or result.get("failed")}
    pairs = list(pairs_of(plan))
    states = {name: found.states.get(name, MISSING) for name, _npus in pairs}
    isolating = [] if found.has_rows else _without(absent, isolation_rounds(plan, states, seed, MOST_ROUNDS, [*found.behind_path, *found.single_partner]))
    uncertain = set(found.uncertain)
    names = [name for name, npus in pairs if npus in uncertain and absent.isdisjoint(host for host, _device in npus)][:MOST_RETESTED]
    retested = retest(extended(plan, isolating), names, {} if found.has_rows else states, seed, retest_qps(_used_qps(results)))
    settling = [*isolating, *_without(absent, [*retested.again, *retested.others, *retested.same])]
    confirming = confirming_round(extended(plan, settling), {*absent, *found.contested}, seed) if found.contested else []
    rounds = [*settling, *confirming]
    if not rounds:
        return None
    met = {(entry[side]["host"], int(entry[side]["device"])) for one in isolating for entry in one for side in ("source", "target")}
    behind_path, single_partner = met.intersection(found.behind_path), met.intersection(found.single_partner)
    return ConfirmationRun(rounds, sum(map(len, isolating)), len(names), len(behind_path), len(single_partner - behind_path),
                           found.contested if confirming else ())


def _used_qps(results: Results) -> int:
    """Return the number of queue pairs that most hosts report, 1 if they report none."""
    reported = [{_qps_of(record) for record in _measurements(result)} for result in results.values()]
    return max(Counter(chain.from_iterable(reported)).items(), key=lambda item: (item[1], item[0]), default=(1, 0))[0]


def _measurements(result: Any) -> list[Any]:
    found = result.get("measurements") if isinstance(result, Mapping) else None
    return found if isinstance(found, list) else []


def _qps_of(record: Any) -> int:
    options = record.get("options") if isinstance(record, Mapping) else None
    qps = options.get("qps") if isinstance(options, Mapping) else None
    return qps if is_integer(qps) else 1


def _joined(reasons: Sequence[str]) -> str:
    return " and ".join([", ".join(reasons[:-1]), reasons[-1]] if len(reasons) > 1 else reasons)


def _without(absent: set[str], rounds: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    """Return the rounds without pairs of absent hosts, and without rounds that are empty then."""
    left = [[entry for entry in one if absent.isdisjoint((entry["source"]["host"], entry["target"]["host"]))] for one in rounds]
    return [one for one in left if one]
