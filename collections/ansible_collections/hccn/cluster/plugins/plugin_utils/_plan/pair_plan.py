# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Pair plans: who measures with whom in which round. Pure functions; nobody is asked and nothing is run.

    quick    a random matching, and a second one with other partners; adaptive, the second comes from isolation.py
    leaves   every two leaves once, and every leaf within: as many rounds as there are leaves, or one less
    full     every two hosts once: N - 1 rounds for N hosts, N where N is odd, and no schedule is shorter
    devices  every two devices of different hosts once: (N - 1) R rounds for R devices a host, N R where N and R are odd
    pairs    a given list, in one round more than the busiest end has pairs, or fewer

In all but devices (and pairs across rails) a device meets the one of its own id; all rails run at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._fabric.schedule import Names, Schedule, parse_schedule
from . import coverage
from .plan_forms import listed_round, rounds_of
from .plan_hosts import PlanHost, read_hosts
from .pair_list import NpuPair, rounds_of_pairs, without
from .input_numbers import whole_number
from .schedule_order import DEVICES, FULL, LEAVES, QUICK, make_schedule
from .plan_summary import SECONDS_PER_PAIR, Cut, afforded, positive, summarise
from .topology import Groups, find_groups, pack, topology_of_hosts

PAIRS = "pairs"
PLANS = (DEVICES, FULL, LEAVES, PAIRS, QUICK)

LISTED_PAIRS = 512
"""Plans of more pairs are given by their rule where the caller leaves the form open: each pair is 170 bytes of every host's task arguments."""


def make_plan(hosts: Any, plan: str = QUICK, seed: int = 0, rails: Iterable[int] | None = None, run_id: str | None = None, *,
              pairs: Any = None, absent: Iterable[Any] = (), groups: Any = None, budget: float | None = None, seconds_per_pair: float = SECONDS_PER_PAIR,
              adaptive: bool = False, compact: bool | None = False, allow_empty: bool = False,
              sees: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """The plan as rdma_perf takes it: ``plan``, ``rounds``, ``hosts``, ``topology``, ``summary``, and ``run_id`` where one is given.

    ``compact``: by ``schedule`` and ``wiring`` instead of ``rounds`` and ``topology``; None leaves that to the number of pairs. See expand.py.
    ``absent``: hosts, or ``{host, device}``, whose ``pairs`` are told in the summary as ``unmeasured``, where others that are not known are refused.
    ``allow_empty``: return a plan without hosts and rounds where no two NPUs can be measured with each other, instead of raising InputError.
    ``budget``: minutes that the plan may take at most. ``sees``: called with the summary, adds to its ``sees``. Raises InputError.
    """
    if pairs is not None and plan in (QUICK, PAIRS):
        plan = PAIRS
    if plan not in PLANS:
        raise InputError(f"plan {plan!r} is not known", f"known plans are {', '.join(PLANS)}")
    if (plan == PAIRS) != (pairs is not None):
        raise InputError("the plan pairs needs the option pairs, and no other plan takes it")
    known = read_hosts(hosts, 0 if allow_empty else 2)
    seconds_per_pair = positive("seconds_per_pair", seconds_per_pair)
    wanted = None if rails is None else {whole_number("rails", rail) for rail in rails}
    used = sorted({device for host in known for device in host.devices if wanted is None or device in wanted})
    found = find_groups(known, groups)
    unmeasured: list[str] = []
    if plan == PAIRS:
        pairs, unmeasured = without(pairs, absent)
        if unmeasured and not pairs and not allow_empty:
            raise InputError(f"pairs: none can be measured; {unmeasured[0]}")
        made = _empty() if unmeasured and not pairs else _listed(rounds_of_pairs(pairs, known, used), known, found, budget, seconds_per_pair)
    else:
        made = _empty() if len(known) < 2 else _scheduled(plan, known, found, used, seed, adaptive, budget, seconds_per_pair)
    if not made[0].devices and not allow_empty:
        raise InputError("no two of the hosts have a device with the same id" + ("" if wanted is None else " among the rails asked for"))
    covered, rounds, cut, body = made if made[0].devices else _empty()
    every = plan == DEVICES or (plan == PAIRS and any(one["source"]["device"] != one["target"]["device"] for each in body["rounds"] for one in each))
    can = coverage.possible((coverage.kind_of(found[host.name], host.devices, used) for host in known), every)
    summary = summarise(plan, known, found, used, rounds, covered, can, seconds_per_pair, adaptive, cut)
    if unmeasured:
        summary["unmeasured"] = unmeasured
    if sees is not None:
        summary["sees"].update(sees(summary))
    meeting = _meeting(known, body["rounds"]) if "rounds" in body else known
    whole: dict[str, Any] = {"plan": plan, "hosts": {host.name: host.control() for host in meeting}, "summary": summary}
    topology = topology_of_hosts(known, found, used)
    if "schedule" not in body:
        whole.update(body, topology=topology)
    elif compact or (compact is None and covered.devices > LISTED_PAIRS):
        whole.update(body, wiring=pack(topology, body["schedule"]["order"], used))
    else:
        whole.update(rounds=list(rounds_of({**whole, **body})), topology=topology)
    return whole if run_id is None else {"run_id": run_id, **whole}


_Made = tuple[coverage.Covered, int, "Cut | None", dict[str, Any]]
"""What is covered, in how many rounds, what the budget cut off, and the part of the plan that says who meets whom."""


def _empty() -> _Made:
    """Of a plan in which no two NPUs can be measured with each other."""
    return coverage.Covered(), 0, None, {"rounds": []}


def _scheduled(plan: str, hosts: Sequence[PlanHost], groups: Mapping[str, Groups], rails: Sequence[int], seed: Any, adaptive: bool,
               budget: float | None, seconds: float) -> _Made:
    if not rails:
        raise InputError("no two of the hosts have a device with the same id among the rails asked for")
    data = make_schedule(plan, hosts, groups, rails, seed, adaptive)
    whole = parse_schedule(data, {host.name: host for host in hosts})
    by_name = {host.name: host for host in hosts}
    kinds = [coverage.kind_of(groups[name], by_name[name].devices, rails) for name in whole.order]
    rounds = afforded(whole.rounds, budget, seconds)
    covered = coverage.scheduled(_first_rounds(whole, rounds), kinds, data["method"], plan == DEVICES)
    cut = None
    if rounds < whole.rounds:
        cut = Cut(whole.rounds - rounds, coverage.scheduled(whole, kinds, data["method"], plan == DEVICES).devices - covered.devices)
    return covered, rounds, cut, {"schedule": {**data, "rounds": rounds}}


def _meeting(hosts: Sequence[PlanHost], rounds: Iterable[Iterable[Mapping[str, Any]]]) -> list[PlanHost]:
    """Those that have a pair."""
    names = {one[side]["host"] for each in rounds for one in each for side in ("source", "target")}
    return [host for host in hosts if host.name in names]


def _first_rounds(schedule: Schedule, rounds: int) -> Schedule:
    return Schedule(schedule.rule, schedule.order, schedule.rails, schedule.addresses, rounds)


def _listed(rounds: Sequence[Sequence[NpuPair]], hosts: Sequence[PlanHost], groups: Mapping[str, Groups], budget: float | None, seconds: float) -> _Made:
    kept = rounds[:afforded(len(rounds), budget, seconds)]
    left = rounds[len(kept):]
    name = Names(sum(map(len, rounds)))
    addresses = {(host.name, device): address for host in hosts for device, address in host.devices.items()}
    made: list[list[dict[str, Any]]] = []
    for one in kept:
        made.append(listed_round(one, addresses, name, 1 + sum(map(len, made))))
    return coverage.listed(kept, groups), len(kept), Cut(len(left), sum(map(len, left))) if left else None, {"rounds": made}
