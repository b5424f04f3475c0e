# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Which pairs a plan has. A record of any other pair was not measured for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._plan.expand import schedule_of
from .._plan.listed import End, EndPair

MOST_PAIRS = 100_000
"""Of a plan by rule; of larger ones only hosts and ids of NPUs are compared. There a host is a small part, whatever it reports."""


class Planned:
    """A plan without rounds and schedule has any pair."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._schedule = schedule_of(plan)
        self._any = self._schedule is None and not plan.get("rounds")
        self._listed: dict[str, EndPair] = {}
        for entry in (entry for one in plan.get("rounds") or () for entry in one):
            source, target = entry["source"], entry["target"]
            self._listed[entry["id"]] = ((source["host"], int(source["device"])), (target["host"], int(target["device"])))
        self._pairs = set(self._listed.values())
        self._of_host: dict[str, dict[str, EndPair]] = {}
        self._places = {host: place for place, host in enumerate(self._schedule.order)} if self._schedule else {}
        self._ends = {end for pair in self._pairs for end in pair}

    def has(self, name: str, source: End, target: End) -> bool:
        """Is this the pair of that name, or, where the plan has no such name, one of its pairs?"""
        if self._any:
            return True
        pair = ((source[0], source[1]), (target[0], target[1]))
        scheduled = self._scheduled(source[0])
        if scheduled is None:
            return self._listed.get(name, pair) == pair and (pair in self._pairs or self._has_end(source) and self._has_end(target))
        known = self._listed.get(name) or scheduled.get(name)
        return known == pair if known else pair in self._pairs or pair in scheduled.values()

    def has_hosts(self, hosts: Iterable[str], device: int) -> bool:
        """Does it have this NPU of each of them?"""
        return self._any or all(self._has_end((host, device)) for host in hosts)

    def _has_end(self, end: End) -> bool:
        if (end[0], end[1]) in self._ends:
            return True
        place = self._places.get(end[0])
        return self._schedule is not None and place is not None and end[1] in self._schedule.rails

    def _scheduled(self, host: str) -> Mapping[str, EndPair] | None:
        """The pairs that a host measures by the rule, by name; None where the plan is too large for that."""
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
