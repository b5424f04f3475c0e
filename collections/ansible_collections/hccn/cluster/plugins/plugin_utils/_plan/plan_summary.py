# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Summarise the cost of a plan, its coverage, and the faults that it can find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.errors import InputError
from .input_numbers import positive
from .plan_coverage import Covered
from .plan_hosts import PlanHost
from .topology import Groups

SECONDS_PER_PAIR = 8.0
"""A bandwidth test with the defaults of rdma_perf: four seconds until the client starts, the test itself, and a reset of both NPUs."""

CLASSES = ("node", "device", "rail", "leaf", "path")

NAMES_SHOWN = 8


@dataclass(frozen=True)
class Cut:
    """The rounds and pairs that a budget left out."""

    rounds: int
    pairs: int


def affordable_rounds(rounds: int, budget: Any, seconds: float) -> int:
    """Return how many of the rounds fit into ``budget`` minutes. Raises InputError if none does."""
    if budget is None:
        return rounds
    minutes = positive("budget", budget)
    fitting = int(minutes * 60 / seconds + 1e-9)
    if fitting < 1:
        raise InputError(f"a budget of {minutes:g} minutes is less than one round of {seconds:g} s takes")
    return min(rounds, fitting)


def summarise(plan: str, hosts: Sequence[PlanHost], groups: Mapping[str, Groups], rails: Sequence[int], rounds: int, covered: Covered, possible: Covered,
              seconds: float, adaptive: bool, cut: Cut | None) -> dict[str, Any]:
    """Return the summary of a plan. ``coverage`` is the share, 0 to 1, of all pairs of devices that such a plan could measure; ``minutes`` is an estimate."""
    unknown = sorted(host.name for host in hosts if any(device in rails and device not in groups[host.name].leaves for device in host.devices))
    leaves = {leaf for host in hosts for device, leaf in groups[host.name].leaves.items() if device in rails}
    covers = {"host_pairs": share(covered.hosts, possible.hosts), "device_pairs": share(covered.devices, possible.devices)}
    if leaves:
        covers["leaf_pairs"] = share(len(covered.leaves), len(possible.leaves))
    summary = {
        "hosts": len(hosts), "rails": list(rails), "rounds": rounds, "pairs": covered.devices, "coverage": covers["device_pairs"]["share"],
        "seconds_per_pair": seconds, "minutes": round(rounds * seconds / 60, 1), "adaptive": adaptive, "leaves": len(leaves), "covers": covers,
        "leaf_unknown": {"hosts": len(unknown), "names": unknown[:NAMES_SHOWN]},
    }
    if cut is not None:
        summary["left_out"] = {"rounds": cut.rounds, "minutes": round(cut.rounds * seconds / 60, 1), "pairs": cut.pairs}
    blind = _invisible(plan, summary)
    return {**summary, "sees": {"classes": [name for name in CLASSES if name not in blind], "not": blind}}


def share(planned: int, possible: int) -> dict[str, Any]:
    """Return the numbers and the share, 0 to 1."""
    return {"planned": planned, "possible": possible, "share": round(planned / possible, 4) if possible else 0.0}


def _invisible(plan: str, summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the fault classes that a plan cannot find, each with the reason."""
    if not summary["pairs"]:
        return dict.fromkeys(CLASSES, "no pair is measured")
    blind = {}
    if summary["hosts"] == 2:
        blind["node"] = blind["device"] = "with two hosts, it cannot be determined which one is slow"
    elif summary["rounds"] < 2 and not summary["adaptive"]:
        blind["node"] = blind["device"] = "one round cannot distinguish the two NPUs of a pair"
    elif plan == "pairs":
        blind["node"] = blind["device"] = "a given list need not have a second partner for each NPU"
    if len(summary["rails"]) < 2:
        blind["rail"] = "there is no other rail to compare with"
    leaves, pairs = summary["leaves"], summary["covers"].get("leaf_pairs")
    if pairs is None:
        blind["leaf"] = "no leaf is known"
    elif leaves < 3:
        blind["leaf"] = "only one leaf is known" if leaves == 1 else "with two leaves, a leaf cannot be distinguished from the path between them"
    elif pairs["planned"] < pairs["possible"]:
        blind["leaf"] = f"{pairs['planned']} of {pairs['possible']} pairs of leaves are measured"
    if pairs is not None and leaves > 1 and pairs["planned"] < pairs["possible"]:
        blind["path"] = f"{pairs['planned']} of {pairs['possible']} pairs of leaves are measured"
    elif leaves < 2 and summary["covers"]["host_pairs"]["share"] < 1:
        blind["path"] = "no two leaves are known, and not all pairs of hosts are measured"
    return blind
