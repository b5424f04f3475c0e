# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Pairs that were planned and of which nobody tells: the source of a pair writes its record, and a source that hangs writes none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._plan.expand import schedule_of

NO_RECORD = "no_record"

Ends = tuple[tuple[str, int], tuple[str, int]]


def unreported(plan: Mapping[str, Any], hosts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A failed record for each pair of the plan of which one of ``hosts`` is the source; they have returned nothing at all."""
    for number, (source, target) in enumerate(_of(plan, set(hosts))):
        yield {"id": f"unreported/{number}", "kind": "rdma", "status": "failed", "source": {"host": source[0], "device": source[1]},
               "target": {"host": target[0], "device": target[1]}, "context": {"failed_end": "source"},
               "error": {"code": NO_RECORD, "message": f"{source[0]} returned nothing of this pair"}}


def _of(plan: Mapping[str, Any], hosts: set[str]) -> Iterator[Ends]:
    schedule = schedule_of(plan)
    if schedule is not None:
        order, rails = schedule.order, schedule.rails
        for place in (place for place, host in enumerate(order) if host in hosts):
            for planned in schedule.pairs(place):
                if planned.source[0] == place:
                    yield (order[place], rails[planned.source[1]]), (order[planned.target[0]], rails[planned.target[1]])
    for entry in (entry for one in plan.get("rounds", ()) for entry in one):
        if entry["source"]["host"] in hosts:
            yield (entry["source"]["host"], int(entry["source"]["device"])), (entry["target"]["host"], int(entry["target"]["device"]))
