# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Plan which NPUs are measured with each other in which round. Nothing is contacted or run.

    quick    a random matching and a second one with other partners; adaptive, isolation.py makes the second one
    leaves   every two leaves once, and every leaf within itself: as many rounds as there are leaves, or one less
    full     every two hosts once: N - 1 rounds for N hosts, N if N is odd, which is the minimum
    devices  every two devices of different hosts once: (N - 1) R rounds for R devices per host, N R if N and R are odd
    pairs    a given list, in at most one round more than the NPU with the most pairs has

In all plans but devices (and pairs across rails), a device is measured with devices of its own id only. All rails are measured at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._fabric.schedule import Names, Schedule, parse_schedule
from . import plan_coverage
from .input_numbers import positive, whole_number
from .pair_list import NpuPair, rounds_of_pairs, without_absent
from .plan_forms import listed_round, rounds_of
from .plan_hosts import PlanHost, read_hosts
from .plan_summary import SECONDS_PER_PAIR, Cut, affordable_rounds, summarise
from .schedule_order import DEVICES, FULL, LEAVES, QUICK, make_schedule
from .topology import Groups, Topology, find_groups, pack, topology_of_hosts

PAIRS = "pairs"
PLANS = (DEVICES, FULL, LEAVES, PAIRS, QUICK)

LISTED_PAIRS = 512
"""If the caller leaves the form open, plans of more pairs are given as a schedule: each listed pair adds 170 bytes to the task arguments of every host."""


@dataclass(frozen=True)
class Planned:
    """A plan as make_plan returns it, and the pairs of devices, hosts and leaves that it covers, of those that are possible."""

    plan: dict[str, Any]
    covered: plan_coverage.Covered
    possible: plan_coverage.Covered


def make_plan(hosts: Any, plan: str = QUICK, seed: int = 0, rails: Iterable[int] | None = None, run_id: str | None = None, **settings: Any) -> dict[str, Any]:
    """Return a plan as rdma_perf takes it: ``plan``, ``rounds``, ``hosts``, ``topology``, ``summary``, and ``run_id`` if one is given.

    ``settings``: as for planned.
    """
    return planned(hosts, plan, seed, rails, run_id, **settings).plan


def planned(hosts: Any, plan: str = QUICK, seed: int = 0, rails: Iterable[int] | None = None, run_id: str | None = None, *,
            pairs: Any = None, absent: Iterable[Any] = (), groups: Any = None, budget: float | None = None, seconds_per_pair: float = SECONDS_PER_PAIR,
            adaptive: bool = False, compact: bool | None = False, allow_empty: bool = False,
            sees: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None) -> Planned:
    """Return a plan with what it covers.

    ``compact``: return ``schedule`` and ``wiring`` instead of ``rounds`` and ``topology``; None decides by the number of pairs. See plan_forms.py.
    ``absent``: hosts, or ``{host, device}``, whose ``pairs`` are listed in the summary as ``unmeasured``; other unknown ones are refused.
    ``allow_empty``: return a plan without hosts and rounds if no two NPUs can be measured with each other, instead of raising InputError.
    ``budget``: minutes that the plan may take. ``sees``: called with the summary; its result is added to ``sees`` of the summary. Raises InputError.
    """
    plan = _plan_type(plan, pairs is not None)
    known = read_hosts(hosts, 0 if allow_empty else 2)
    seconds_per_pair = positive("seconds_per_pair", seconds_per_pair)
    wanted = None if rails is None else {whole_number("rails", rail) for rail in rails}
    used = sorted({device for host in known for device in host.devices if wanted is None or device in wanted})
    known_groups = find_groups(known, groups)
    unmeasured: list[str] = []
    if plan == PAIRS:
        pairs, unmeasured = without_absent(pairs, absent)
        if unmeasured and not pairs and not allow_empty:
            raise InputError(f"pairs: none can be measured; {unmeasured[0]}")
        if unmeasured and not pairs:
            body = _empty_body()
        else:
            body = _listed_body(rounds_of_pairs(pairs, known, used), known, known_groups, budget, seconds_per_pair)
    elif len(known) < 2:
        body = _empty_body()
    else:
        body = _scheduled_body(plan, known, known_groups, used, seed, adaptive, budget, seconds_per_pair)
    if not body.covered.devices:
        if not allow_empty:
            raise InputError("no two of the hosts have a device with the same id" + ("" if wanted is None else " among the requested rails"))
        body = _empty_body()
    kinds = (plan_coverage.kind_of(known_groups[host.name], host.devices, used) for host in known)
    possible = plan_coverage.possible(kinds, plan == DEVICES or body.crosses_rails())
    summary = summarise(plan, known, known_groups, used, body.rounds, body.covered, possible, seconds_per_pair, adaptive, body.cut)
    if unmeasured:
        summary["unmeasured"] = unmeasured
    if sees is not None:
        summary["sees"].update(sees(summary))
    head = {"plan": plan, "hosts": {host.name: host.control() for host in body.hosts_of(known)}, "summary": summary}
    whole = _with_pairs(head, body, topology_of_hosts(known, known_groups, used), used, compact)
    return Planned(whole if run_id is None else {"run_id": run_id, **whole}, body.covered, possible)


@dataclass(frozen=True)
class _Body:
    """The pairs of a plan, as ``schedule`` or as ``listed`` rounds. ``cut``: the rounds and pairs that exceed the budget."""

    covered: plan_coverage.Covered
    rounds: int
    cut: Cut | None = None
    schedule: dict[str, Any] | None = None
    listed: Sequence[Sequence[Mapping[str, Any]]] = ()

    def crosses_rails(self) -> bool:
        """Return True if a listed pair has two device ids."""
        return any(entry["source"]["device"] != entry["target"]["device"] for one in self.listed for entry in one)

    def hosts_of(self, hosts: Sequence[PlanHost]) -> Sequence[PlanHost]:
        """Return the hosts of the plan: those that have a listed pair, or all of a schedule."""
        if self.schedule is not None:
            return hosts
        names = {entry[side]["host"] for one in self.listed for entry in one for side in ("source", "target")}
        return [host for host in hosts if host.name in names]


def _plan_type(plan: str, has_pairs: bool) -> str:
    """Return the type of the plan. A list of pairs makes the default plan a plan of pairs."""
    if has_pairs and plan in (QUICK, PAIRS):
        plan = PAIRS
    if plan not in PLANS:
        raise InputError(f"plan {plan!r} is not known", f"known plans are {', '.join(PLANS)}")
    if (plan == PAIRS) != has_pairs:
        raise InputError("the plan pairs needs the option pairs, and no other plan takes it")
    return plan


def _with_pairs(head: dict[str, Any], body: _Body, topology: Topology, rails: Sequence[int], compact: bool | None) -> dict[str, Any]:
    """Return the plan with its pairs and topology, in the listed or in the compact form."""
    if body.schedule is None:
        return {**head, "rounds": body.listed, "topology": topology}
    if compact or (compact is None and body.covered.devices > LISTED_PAIRS):
        return {**head, "schedule": body.schedule, "wiring": pack(topology, body.schedule["order"], rails)}
    return {**head, "rounds": list(rounds_of({**head, "schedule": body.schedule})), "topology": topology}


def _empty_body() -> _Body:
    """Return the body of a plan in which no two NPUs can be measured with each other."""
    return _Body(plan_coverage.Covered(), 0, listed=[])


def _scheduled_body(plan: str, hosts: Sequence[PlanHost], groups: Mapping[str, Groups], rails: Sequence[int], seed: Any, adaptive: bool,
                    budget: float | None, seconds: float) -> _Body:
    if not rails:
        raise InputError("no two of the hosts have a device with the same id among the requested rails")
    data = make_schedule(plan, hosts, groups, rails, seed, adaptive)
    by_name = {host.name: host for host in hosts}
    whole = parse_schedule(data, by_name)
    kinds = [plan_coverage.kind_of(groups[name], by_name[name].devices, rails) for name in whole.order]
    rounds = affordable_rounds(whole.rounds, budget, seconds)
    covered = plan_coverage.scheduled(_first_rounds(whole, rounds), kinds, data["method"], plan == DEVICES)
    cut = None
    if rounds < whole.rounds:
        cut = Cut(whole.rounds - rounds, plan_coverage.scheduled(whole, kinds, data["method"], plan == DEVICES).devices - covered.devices)
    return _Body(covered, rounds, cut, schedule={**data, "rounds": rounds})


def _first_rounds(schedule: Schedule, rounds: int) -> Schedule:
    return Schedule(schedule.rule, schedule.order, schedule.rails, schedule.addresses, rounds)


def _listed_body(rounds: Sequence[Sequence[NpuPair]], hosts: Sequence[PlanHost], groups: Mapping[str, Groups], budget: float | None,
                 seconds: float) -> _Body:
    count = affordable_rounds(len(rounds), budget, seconds)
    affordable, left = rounds[:count], rounds[count:]
    name = Names(sum(map(len, rounds)))
    addresses = {(host.name, device): address for host in hosts for device, address in host.devices.items()}
    listed: list[list[dict[str, Any]]] = []
    for one in affordable:
        listed.append(listed_round(one, addresses, name, 1 + sum(map(len, listed))))
    cut = Cut(len(left), sum(map(len, left))) if left else None
    return _Body(plan_coverage.listed(affordable, groups), len(affordable), cut, listed=listed)
