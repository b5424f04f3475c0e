# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The pairs of a plan: which records belong to them, and which of them were not reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .._plan.pair_list import NpuId, NpuPair
from .._plan.plan_forms import schedule_of

NO_RECORD = "no_record"
"""The error code of a pair whose source returned nothing."""

MOST_PAIRS = 100_000
"""In a larger plan by rule, only hosts and device ids are compared: a single host cannot report much of such a plan."""


class PlannedPairs:
    """The pairs of a plan. A plan without rounds and schedule contains any pair."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._schedule = schedule_of(plan)
        self._any = self._schedule is None and not plan.get("rounds")
        self._listed: dict[str, NpuPair] = {entry["id"]: _pair_of(entry) for entry in _listed_entries(plan)}
        self._pairs = set(self._listed.values())
        self._of_host: dict[str, dict[str, NpuPair]] = {}
        self._places = {host: place for place, host in enumerate(self._schedule.order)} if self._schedule else {}
        self._npus = {npu for pair in self._pairs for npu in pair}
        self._of_device: dict[int, set[str]] = {}

    def has(self, name: str, source: NpuId, target: NpuId) -> bool:
        """Return True if this is the pair of that name or, if the plan has no such name, any pair of the plan."""
        if self._any:
            return True
        pair = ((source[0], source[1]), (target[0], target[1]))
        scheduled = self._scheduled(source[0])
        if scheduled is None:
            return self._listed.get(name, pair) == pair and (pair in self._pairs or self._has_npu(source) and self._has_npu(target))
        known = self._listed.get(name) or scheduled.get(name)
        return known == pair if known else pair in self._pairs or pair in scheduled.values()

    def has_hosts(self, hosts: Iterable[str], device: int) -> bool:
        """Return True if the plan has the NPU with this device id on each of these hosts."""
        return self._any or self._hosts_with(device).issuperset(hosts)

    def _has_npu(self, npu: NpuId) -> bool:
        return npu[0] in self._hosts_with(npu[1])

    def _hosts_with(self, device: int) -> set[str]:
        if device not in self._of_device:
            scheduled = self._places if self._schedule is not None and device in self._schedule.rails else ()
            self._of_device[device] = {host for host, listed in self._npus if listed == device}.union(scheduled)
        return self._of_device[device]

    def _scheduled(self, host: str) -> Mapping[str, NpuPair] | None:
        """Return the pairs by name that the schedule has with this host as source; None if the plan is too large to expand."""
        schedule = self._schedule
        if schedule is None or host not in self._places:
            return {}
        if schedule.last > MOST_PAIRS:
            return None
        if host not in self._of_host:
            name, order, rails, place = schedule.names(), schedule.order, schedule.rails, self._places[host]
            self._of_host[host] = {name(planned.number): ((host, rails[planned.source[1]]), (order[planned.target[0]], rails[planned.target[1]]))
                                   for planned in schedule.pairs(place) if planned.source[0] == place}
        return self._of_host[host]


def unreported(plan: Mapping[str, Any], hosts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Return a failed record for each pair whose source is one of ``hosts``. They returned nothing, and only the source of a pair writes its record."""
    for number, (source, target) in enumerate(_pairs_from(plan, set(hosts))):
        yield {"id": f"unreported/{number}", "kind": "rdma", "status": "failed", "source": {"host": source[0], "device": source[1]},
               "target": {"host": target[0], "device": target[1]}, "context": {"failed_end": "source"},
               "error": {"code": NO_RECORD, "message": f"{source[0]} returned no result of this pair"}}


def _pairs_from(plan: Mapping[str, Any], hosts: set[str]) -> Iterator[NpuPair]:
    """Return the pairs of a plan whose source is on one of these hosts."""
    schedule = schedule_of(plan)
    if schedule is not None:
        order, rails = schedule.order, schedule.rails
        for place in (place for place, host in enumerate(order) if host in hosts):
            for planned in schedule.pairs(place):
                if planned.source[0] == place:
                    yield (order[place], rails[planned.source[1]]), (order[planned.target[0]], rails[planned.target[1]])
    for entry in _listed_entries(plan):
        if entry["source"]["host"] in hosts:
            yield _pair_of(entry)


def _listed_entries(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for one in plan.get("rounds") or ():
        yield from one


def _pair_of(entry: Mapping[str, Any]) -> NpuPair:
    source, target = entry["source"], entry["target"]
    return (source["host"], int(source["device"])), (target["host"], int(target["device"]))
