# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Describe a plan before it runs: its cost, the faults that it can detect, and why it cannot run with the given settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from ...module_utils._core.words import counted, some

ONCE, TASKS, TASK_S = 20, 8, 1.0
"""Tasks of a check that run once and on each host, without those that measure, and an estimate of the time of one over ssh."""


@dataclass(frozen=True)
class Settings:
    """Options of check_fabric, as an inventory gives them: numbers may be text. ``forks``: hosts on which Ansible runs a task at a time."""

    operation: str
    measure: str
    size: Any
    relative_floor: Any
    line_rate_floor: Any
    timeout_s: Any = None
    forks: Any = 5


def lines(plan: Mapping[str, Any], settings: Settings) -> list[str]:
    """Return sentences that describe the plan: its cost, what it can detect, and given pairs that cannot be measured."""
    summary = plan["summary"]
    found = [_cost(plan["plan"], summary, settings)]
    if summary["pairs"] > 0:
        found.append(_detects(summary))
    if "parts" in summary:
        found += _parts(plan["plan"], summary["parts"])
    return found + [f"Not measured: {pair}" for pair in summary.get("unmeasured", ())]


def refusals(plan: Mapping[str, Any], settings: Settings) -> list[str]:
    """Return the reasons why the plan cannot be measured and judged with these settings."""
    return list(_refusals(_seconds(plan["summary"]), settings))


def _refusals(seconds: float, settings: Settings) -> Iterator[str]:
    if not 0 < _number(settings.relative_floor) < 1:
        yield f"check_fabric_relative_floor is {settings.relative_floor}, not a number between 0 and 1 such as 0.97"
    if not 0 <= _number(settings.line_rate_floor) < 1:
        yield f"check_fabric_line_rate_floor is {settings.line_rate_floor}, neither 0 nor a number below 1 such as 0.9"
    timeout = int(_number(settings.timeout_s))
    if timeout and timeout < seconds:
        yield (f"check_fabric_timeout_s is {settings.timeout_s} s but the plan needs about {round(seconds, 1)} s: raise it, "
               "or limit the plan with check_fabric_budget_minutes")


def _number(value: Any) -> float:
    """Convert a number as the filter ``float`` does: return 0 for anything else."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def _seconds(summary: Mapping[str, Any]) -> float:
    return float(summary["rounds"] * summary["seconds_per_pair"])


def _cost(name: str, summary: Mapping[str, Any], settings: Settings) -> str:
    measuring = _seconds(summary)
    whole = measuring + TASK_S * (ONCE + TASKS * ceil(summary["hosts"] / max(1, _number(settings.forks))))
    return (f"{name}: {counted(summary['pairs'], 'pair')} of NPUs over {counted(summary['hosts'], 'host')} in {counted(summary['rounds'], 'round')}, "
            f"{round(100 * summary['coverage'], 1)} % of all pairs, {settings.operation} {settings.measure}, {settings.size} bytes, "
            f"about {_time(measuring)} of measuring, {_time(whole)} in all without a confirmation run")


def _parts(name: str, whole: Mapping[str, Any]) -> Iterator[str]:
    leaves, outside = whole["leaf_pairs"], whole["outside"]
    seen = f"{leaves['planned']} of {leaves['possible']} pairs of leaves" if leaves["possible"] else "no leaf is known"
    yield (f"In parts: {whole['plan']} in each of {counted(whole['parts'], 'part')} at the same time, at most {counted(whole['rounds'], 'round')} "
           f"({whole['longest']}), then {name} over all hosts: about {_time(whole['seconds'])} of measuring, {seen}")
    for part in whole["empty"]:
        yield f"The part {part} has no two hosts to measure: only {name} over all hosts measures it"
    if outside["hosts"]:
        yield f"{counted(outside['hosts'], 'host')} in no part, measured only by {name} over all hosts: {some(outside['names'], count=outside['hosts'])}"


def _time(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.0f} s"


def _detects(summary: Mapping[str, Any]) -> str:
    sees = summary["sees"]
    limits = [f"Cannot detect a slow {fault}: {reason}." for fault, reason in sees["not"].items()]
    if "left_out" in summary:
        limits.append(f"The budget leaves out {summary['left_out']['rounds']} rounds.")
    return (f"Can detect slow components: {', '.join(sees['classes']) or 'none'}. An NPU that is {sees['smallest_drop_percent']['npu']} % slower is detected "
            f"if measurements vary by {sees['spread_percent']} %. {' '.join(limits)}")
