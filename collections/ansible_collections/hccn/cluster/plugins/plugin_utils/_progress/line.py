# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""One line that says how far a run is, from what its reporter has heard and from its plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...module_utils._core.words import SHOWN, printable, some

STALE_SECONDS = 30.0
HOSTS_A_SECOND = 10
"""With more hosts a reporter hears of each more seldom, so it may be older before nothing comes any more."""

_COUNTS = ("hosts", "hosts_heard", "hosts_over", "hosts_silent", "pairs_done", "pairs_failed", "round")
_LARGEST = 1e12


class Extent(NamedTuple):
    """What a plan holds in all; ``seconds``: of one round, None where the plan does not say."""

    pairs: int
    rounds: int
    seconds: float | None


def checked(said: Any) -> dict[str, Any] | None:
    """Return what a reporter told with names fit to be shown, None where it has not the form that rdma_perf_info returns: the host may send anything."""
    if not isinstance(said, Mapping) or not all(isinstance(said.get(name), int) and _is_number(said[name]) for name in _COUNTS):
        return None
    silent, slowest = said.get("silent"), said.get("slowest")
    if not all(_is_number(said.get(name)) for name in ("seconds", "age")) or not isinstance(said.get("over"), bool) or not isinstance(silent, list):
        return None
    if slowest is not None and not (isinstance(slowest, Mapping) and _is_number(slowest.get("value"))):
        return None
    if slowest is not None:
        slowest = {"value": slowest["value"], **{name: printable(slowest.get(name)) for name in ("unit", "source", "target")}}
    return {**{name: said[name] for name in (*_COUNTS, "seconds", "age", "over")}, "silent": [printable(name) for name in silent[:SHOWN]], "slowest": slowest}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _LARGEST


def extent(plan: Mapping[str, Any]) -> Extent:
    """Of a plan of the filter pair_plan. What is listed is counted, since the summary counts both directions of a pair as one."""
    summary, rounds = plan.get("summary") or {}, plan.get("rounds") or []
    listed = "schedule" not in plan and bool(rounds)
    seconds = summary.get("seconds_per_pair")
    return Extent(sum(map(len, rounds)) if listed else int(summary.get("pairs", 0)), len(rounds) if listed else int(summary.get("rounds", 0)),
                  None if seconds is None else float(seconds))


def is_stale(fabric: Mapping[str, Any]) -> bool:
    """Has the reporter written nothing for so long that it must hang?"""
    return bool(fabric["age"] > STALE_SECONDS + fabric["hosts"] / HOSTS_A_SECOND)


def line(fabric: Mapping[str, Any], whole: Extent) -> str:
    """``fabric``: as ``checked`` returns it."""
    done, failed = fabric["pairs_done"], fabric["pairs_failed"]
    parts = [] if fabric["over"] else [f"round {min(max(1, fabric['round']), whole.rounds)} of {whole.rounds}"]
    parts += [f"{done} of {whole.pairs} pairs done", f"{failed} failed"]
    slowest = fabric.get("slowest")
    if slowest:
        parts.append(f"slowest {slowest['value']:.3g} {slowest['unit']} ({slowest['source']} to {slowest['target']})")
    parts.append("over" if fabric["over"] else _left(fabric, whole))
    unheard = fabric["hosts"] - fabric["hosts_heard"]
    said = "; ".join(filter(None, [", ".join(parts), _silent(fabric), f"{unheard} hosts have not begun" if unheard and not fabric["over"] else ""]))
    return said


def _left(fabric: Mapping[str, Any], whole: Extent) -> str:
    """By what was done so far; at the beginning by the plan."""
    done, open_pairs = fabric["pairs_done"], max(0, whole.pairs - fabric["pairs_done"])
    if done and fabric["seconds"]:
        return f"about {_time(open_pairs * fabric['seconds'] / done)} left"
    return f"about {_time(whole.rounds * whole.seconds)} left by the plan" if whole.seconds else "time left not known yet"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _silent(fabric: Mapping[str, Any]) -> str:
    count, names = fabric["hosts_silent"], fabric["silent"]
    if not count:
        return ""
    return f"no word from {some(names, len(names), count)}"
