# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read plans in both forms: pair by pair (``rounds`` and ``topology``), or by rule (``schedule`` and ``wiring``).

A plan by rule may have ``rounds`` as well, which come after the scheduled ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...module_utils._fabric.schedule import Schedule, as_endpoints, listed_numbers, parse_schedule
from .pair_list import NpuId, NpuPair
from .topology import Topology, unpack

Entry = dict[str, Any]
"""A pair: ``id``, ``source`` and ``target``, each with ``host``, ``device`` and ``address``."""


def rounds_of(plan: Mapping[str, Any]) -> Iterator[list[Entry]]:
    """Return the rounds of a plan one by one. A plan by rule is never expanded as a whole."""
    schedule = schedule_of(plan)
    if schedule is not None:
        yield from _scheduled(schedule)
    yield from plan.get("rounds", ())


def pairs_of(plan: Mapping[str, Any]) -> Iterator[tuple[str, NpuPair]]:
    """Return id, source and target of each pair, in order. This is much faster than rounds_of for a plan by rule."""
    schedule = schedule_of(plan)
    if schedule is not None:
        name, order, rails = schedule.names(), schedule.order, schedule.rails
        for planned in schedule.pairs():
            (one, slot), (other, other_slot) = planned.source, planned.target
            yield name(planned.number), ((order[one], rails[slot]), (order[other], rails[other_slot]))
    for entry in (entry for one in plan.get("rounds", ()) for entry in one):
        source, target = entry["source"], entry["target"]
        yield entry["id"], ((source["host"], source["device"]), (target["host"], target["device"]))


def schedule_of(plan: Mapping[str, Any]) -> Schedule | None:
    """Return the schedule of a plan, None for a listed plan."""
    return parse_schedule(plan["schedule"], plan["hosts"]) if "schedule" in plan else None


def topology_of(plan: Mapping[str, Any]) -> Topology:
    """Return the topology of a plan, by host."""
    schedule = schedule_of(plan)
    if schedule is None:
        listed: Topology = plan.get("topology", {})
        return listed
    return unpack(plan.get("wiring", {}), schedule.order, schedule.rails, schedule.addresses)


def extended(plan: Mapping[str, Any], rounds: Iterable[Sequence[Entry]]) -> dict[str, Any]:
    """Return the plan with further rounds after its own, as isolation.py makes them."""
    return {**plan, "rounds": [*plan.get("rounds", ()), *map(list, rounds)]}


def last_number(plan: Mapping[str, Any]) -> int:
    """Return the largest number in the ids of the pairs. Smaller numbers may be missing."""
    schedule = schedule_of(plan)
    listed = listed_numbers([entry["id"] for one in plan.get("rounds", ()) for entry in one])
    return max(listed, schedule.last if schedule else 0)


def listed_round(pairs: Iterable[NpuPair], addresses: Mapping[NpuId, str], name: Callable[[int], str], first: int) -> list[Entry]:
    """Return the entries of one round, numbered from ``first``."""
    return [{"id": name(number), "source": _as_entry_side(source, addresses), "target": _as_entry_side(target, addresses)}
            for number, (source, target) in enumerate(pairs, first)]


def _as_entry_side(npu: NpuId, addresses: Mapping[NpuId, str]) -> dict[str, Any]:
    return {"host": npu[0], "device": npu[1], "address": addresses[npu]}


def _scheduled(schedule: Schedule) -> Iterator[list[Entry]]:
    name = schedule.names()
    done: list[Entry] = []
    number = 1
    for planned in schedule.pairs():
        while planned.round > number:
            yield done
            done, number = [], number + 1
        source, target = as_endpoints(schedule, planned)
        done.append({"id": name(planned.number), "source": source, "target": target})
    for _round in range(schedule.rounds - number + 1):
        yield done
        done = []
