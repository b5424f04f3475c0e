# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a plan costs, covers and can see, told before it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.errors import InputError
from .coverage import Covered
from .plan_hosts import PlanHost
from .topology import Groups

SECONDS_PER_PAIR = 8.0
"""Of a bandwidth test with the defaults of rdma_perf: four seconds until the client starts, the test itself, and a reset of both ends."""

CLASSES = ("node", "device", "rail", "leaf", "path")

NAMES_SHOWN = 8


@dataclass(frozen=True)
class Cut:
    """What a budget left out."""

    rounds: int
    pairs: int


def afforded(rounds: int, budget: Any, seconds: float) -> int:
    """The number of the rounds that fit into ``budget`` minutes. Raises InputError where not even one does."""
    if budget is None:
        return rounds
    minutes = positive("budget", budget)
    fitting = int(minutes * 60 / seconds + 1e-9)
    if fitting < 1:
        raise InputError(f"a budget of {minutes:g} minutes is less than one round of {seconds:g} s takes")
    return min(rounds, fitting)


def positive(what: str, value: Any) -> float:
    """A number above 0, also where a template made a string of it."""
    try:
        number = float("" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        number = 0.0
    if not 0 < number < float("inf"):
        raise InputError(f"{what} is {value!r}, not a number above 0")
    return number


def summarise(plan: str, hosts: Sequence[PlanHost], groups: Mapping[str, Groups], rails: Sequence[int], rounds: int, covered: Covered, can: Covered,
              seconds: float, adaptive: bool, cut: Cut | None) -> dict[str, Any]:
    """``coverage`` is the share of the pairs of devices that a plan of this kind could measure, 0 to 1; ``minutes`` is an estimate."""
    unknown = sorted(host.name for host in hosts if any(device in rails and device not in groups[host.name].leaves for device in host.devices))
    leaves = {leaf for host in hosts for device, leaf in groups[host.name].leaves.items() if device in rails}
    covers = {"host_pairs": _share(covered.hosts, can.hosts), "device_pairs": _share(covered.devices, can.devices)}
    if leaves:
        covers["leaf_pairs"] = _share(len(covered.leaves), len(can.leaves))
    summary = {
        "hosts": len(hosts), "rails": list(rails), "rounds": rounds, "pairs": covered.devices, "coverage": covers["device_pairs"]["share"],
        "seconds_per_pair": seconds, "minutes": round(rounds * seconds / 60, 1), "adaptive": adaptive, "leaves": len(leaves), "covers": covers,
        "leaf_unknown": {"hosts": len(unknown), "names": unknown[:NAMES_SHOWN]},
    }
    if cut is not None:
        summary["left_out"] = {"rounds": cut.rounds, "minutes": round(cut.rounds * seconds / 60, 1), "pairs": cut.pairs}
    blind = _blind(plan, summary)
    return {**summary, "sees": {"classes": [name for name in CLASSES if name not in blind], "not": blind}}


def _share(planned: int, possible: int) -> dict[str, Any]:
    return {"planned": planned, "possible": possible, "share": round(planned / possible, 4) if possible else 0.0}


def _blind(plan: str, summary: Mapping[str, Any]) -> dict[str, str]:
    """The fault classes that a plan cannot name, each with the reason."""
    if not summary["pairs"]:
        return dict.fromkeys(CLASSES, "no pair is measured")
    blind = {}
    if summary["hosts"] == 2:
        blind["node"] = blind["device"] = "of two hosts, nobody can tell which one is slow"
    elif summary["rounds"] < 2 and not summary["adaptive"]:
        blind["node"] = blind["device"] = "one round does not tell the two ends of a pair apart"
    elif plan == "pairs":
        blind["node"] = blind["device"] = "a given list need not have a second partner for each end"
    if len(summary["rails"]) < 2:
        blind["rail"] = "there is no other rail to compare with"
    leaves, pairs = summary["leaves"], summary["covers"].get("leaf_pairs")
    if pairs is None:
        blind["leaf"] = "no leaf is known"
    elif leaves < 3:
        blind["leaf"] = "only one leaf is known" if leaves == 1 else "of two leaves, neither can be told from the path between them"
    elif pairs["planned"] < pairs["possible"]:
        blind["leaf"] = f"{pairs['planned']} of {pairs['possible']} pairs of leaves are measured"
    if pairs is not None and leaves > 1 and pairs["planned"] < pairs["possible"]:
        blind["path"] = f"{pairs['planned']} of {pairs['possible']} pairs of leaves are measured"
    elif leaves < 2 and summary["covers"]["host_pairs"]["share"] < 1:
        blind["path"] = "no two leaves are known, and not all pairs of hosts are measured"
    return blind
