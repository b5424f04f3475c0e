# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The record of a plan in the history (kind ``plan``): its rule instead of its pairs, and each wiring of hosts once. 4,096 hosts take 120 kB."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...module_utils._core.record import record, utc
from ...module_utils._core.words import beginning
from ...module_utils._perf.perftest_options import ROCE_TEST
from ...module_utils._fabric.schedule import Schedule, make_rule
from .._history.format import line
from .pair_list import NpuPair
from .plan_forms import pairs_of, schedule_of, topology_of
from .topology import Topology

MOST_BYTES = 240_000
"""Size limit of a record, since a task result must stay below 256 kB. The largest parts of a larger record are left out first."""
MOST_PAIRS = 4096
"""Pairs of a plan without a rule, which are recorded one by one."""
MOST_NAMES = 50
NPUS_SHOWN = 8
_DISPENSABLE = ("pairs_listed", "rack", "super_pod", "schedule", "topology")

Record = dict[str, Any]
Reason = Mapping[str, Any]


def plan_record(run_id: str, plan: Mapping[str, Any], hosts: Iterable[str] = (), left_out: Sequence[Reason] = (), text: Sequence[str] = (),
                confirmation_of: str | None = None, tool: str = ROCE_TEST) -> Record:
    """Return the record of a plan. ``hosts``: all hosts that were requested. ``left_out``: NPUs, each with host, device, code and message."""
    schedule, topology = schedule_of(plan), topology_of(plan)
    order = list(schedule.order) if schedule else list(plan["hosts"])
    summary = plan.get("summary", {})
    absent = [host for host in hosts if host not in plan["hosts"]]
    sample = {
        "plan": plan.get("plan"), "tool": tool, "text": list(text), "pairs": summary.get("pairs", sum(map(len, plan.get("rounds", ())))),
        **{key: summary[key] for key in ("rounds", "minutes", "seconds_per_pair", "covers", "sees", "leaves") if key in summary},
        **({"cut": summary["left_out"]} if "left_out" in summary else {}),
        **({"confirmation_of": confirmation_of} if confirmation_of else {}),
        "left_out": _reasons(left_out), "hosts_left_out": {"count": len(absent), "names": absent[:MOST_NAMES]},
        "topology": _wiring(topology, order), **_groups(topology, order), **_rule(plan, schedule, order),
    }
    return _bounded(record("plan", f"{run_id}/plan", "ok", hosts=order, samples=[sample], started_at=utc()))


def _reasons(left_out: Sequence[Reason]) -> list[Record]:
    """Return, by code, the number of NPUs, the first of them, and the message of the first."""
    by_code: dict[str, list[Reason]] = {}
    for one in left_out:
        by_code.setdefault(str(one["code"]), []).append(one)
    return [{"code": code, "message": beginning(str(found[0]["message"]), 200), "count": len(found),
             "npus": [[one["host"], one["device"]] for one in found[:NPUS_SHOWN]]} for code, found in by_code.items()]


def _wiring(topology: Topology, order: Sequence[str]) -> Record:
    """Return ``kinds``, the different wirings of hosts: by NPU id the rail, the place in ``leaves`` and its source. ``of`` is the kind of each host."""
    leaves: dict[str, int] = {}
    kinds: dict[str, int] = {}
    of = []
    for host in order:
        kind = {}
        for device, known in topology.get(host, {}).get("devices", {}).items():
            named = [leaves.setdefault(known["leaf"], len(leaves)), known.get("leaf_from")] if "leaf" in known else []
            kind[device] = [known.get("rail"), *named]
        of.append(kinds.setdefault(json.dumps(kind), len(kinds)))
    return {"leaves": list(leaves), "kinds": [json.loads(kind) for kind in kinds], "of": of}


def _groups(topology: Topology, order: Sequence[str]) -> Record:
    found = {}
    for key in ("super_pod", "rack"):
        values = [topology.get(host, {}).get(key) for host in order]
        names = {name: place for place, name in enumerate(sorted({value for value in values if value is not None}))}
        if names:
            found[key] = {"names": list(names), "of": [names.get(value) for value in values]}
    return found


def _rule(plan: Mapping[str, Any], schedule: Schedule | None, order: Sequence[str]) -> Record:
    if schedule is not None:
        data = plan["schedule"]
        return {"schedule": {**{key: data[key] for key in ("method", "first", "stride", "groups") if key in data}, "rails": list(schedule.rails),
                             "rounds": schedule.rounds}}
    places = {host: place for place, host in enumerate(order)}
    pairs = [[places[source[0]], source[1], places[target[0]], target[1]]
             for _name, (source, target) in itertools.islice(pairs_of(plan), MOST_PAIRS + 1)]
    return {"pairs_listed": pairs} if len(pairs) <= MOST_PAIRS else {}


def compact(found: Record) -> bytes:
    """Return the record as a line of the history."""
    return line(found)[:-1]


def _bounded(whole: Record) -> Record:
    """Return the record without the parts that make it too large. ``shortened`` names them."""
    sample, removed = whole["samples"][0], []
    for key in (*_DISPENSABLE, "hosts"):
        if len(compact(whole)) <= MOST_BYTES:
            break
        if key == "hosts":
            whole["hosts"] = whole["hosts"][:MOST_NAMES]
        elif key not in sample:
            continue
        else:
            del sample[key]
        removed.append(key)
    if removed:
        sample["shortened"] = removed
    return whole


class PlanRecord:
    """Reads a record of this kind. A record that another program wrote may have any content: it gives no data and raises nothing."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        samples, hosts = found.get("samples"), found.get("hosts")
        first = samples[0] if isinstance(samples, list) and samples else None
        self.sample: Record = first if isinstance(first, dict) else {}
        self.hosts = [str(host) for host in hosts] if isinstance(hosts, list) else []
        self.is_confirmation_run = "confirmation_of" in self.sample

    def wired(self) -> list[tuple[str, int, str | None, str | None]]:
        """Return host, id, leaf and the source of the leaf of each NPU in the plan."""
        try:
            topology = self.sample["topology"]
            kinds = [[(int(device), topology["leaves"][known[1]] if len(known) > 1 else None, known[2] if len(known) > 2 else None)
                      for device, known in kind.items()] for kind in topology["kinds"]]
            return [(host, device, leaf, source) for host, number in zip(self.hosts, topology["of"]) for device, leaf, source in kinds[number]]
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return []

    def topology(self) -> Topology:
        """Return the wiring of the hosts in the plan, with their super pods and racks."""
        found: dict[str, Any] = {}
        for host, device, leaf, source in self.wired():
            known = {"rail": device, **({"leaf": leaf} if leaf is not None else {}), **({"leaf_from": source} if source is not None else {})}
            found.setdefault(host, {"devices": {}})["devices"][str(device)] = known
        for key in ("super_pod", "rack"):
            try:
                names, of = self.sample[key]["names"], self.sample[key]["of"]
                groups = {host: names[place] for host, place in zip(self.hosts, of) if place is not None and host in found}
            except (IndexError, KeyError, TypeError):
                continue
            for host, name in groups.items():
                found[host][key] = name
        return found

    def pairs(self, most: int) -> list[NpuPair] | None:
        """Return the planned pairs; None if they are not known, or more than ``most``."""
        try:
            if self.sample["pairs"] > most:
                return None
            listed = self.sample.get("pairs_listed")
            if listed is None:
                found = list(itertools.islice(self._expanded(), most + 1))
            else:
                found = [((self.hosts[one], int(device)), (self.hosts[other], int(partner))) for one, device, other, partner in listed[:most + 1]]
        except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError):
            return None
        return found if len(found) <= most else None

    def _expanded(self) -> Iterator[NpuPair]:
        data, topology = self.sample["schedule"], self.sample["topology"]
        rails, hosts = [int(rail) for rail in data["rails"]], self.hosts
        # Places without a device are treated as places without an address are in the plan itself.
        there = [["" if str(rail) in kind else None for rail in rails] for kind in topology["kinds"]]
        rule = make_rule(data["method"], len(hosts), len(rails), data.get("first", 0), data.get("stride", 1), data.get("groups", ()))
        schedule = Schedule(rule, hosts, rails, [there[number] for number in topology["of"]], min(int(data["rounds"]), rule.rounds))
        for planned in schedule.pairs():
            (one, slot), (other, partner) = planned.source, planned.target
            yield (hosts[one], rails[slot]), (hosts[other], rails[partner])
