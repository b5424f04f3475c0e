# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The progress of a fabric run: read the answer of its reporter and format one line from it and from the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...module_utils._core.numbers import is_number
from ...module_utils._core.words import LONGEST_TEXT, SHOWN, printable, some

NOT_UNDERSTOOD = "its answer does not have the format of rdma_perf_info"

STALE_SECONDS = 30.0
HOSTS_A_SECOND = 10
"""Reports of hosts that a reporter handles in a second. With more hosts each report is older, which does not mean that the reporter hangs."""

_COUNTS = ("hosts", "hosts_heard", "hosts_over", "hosts_silent", "pairs_done", "pairs_failed", "round")
_LARGEST = 1e12


class Extent(NamedTuple):
    """The size of a plan; ``seconds``: how long one round takes, None if the plan does not say."""

    pairs: int
    rounds: int
    seconds: float | None


def read_answer(answer: Any) -> dict[str, Any]:
    """Return ``state``, ``alive``, ``error`` and ``fabric`` of an answer of rdma_perf_info, or only ``lost`` with the reason why it cannot be used.

    Names in it come from hosts and are printed, so they are made printable.
    """
    if not isinstance(answer, Mapping):
        return {"lost": NOT_UNDERSTOOD}
    if "lost" in answer:
        return {"lost": printable(answer["lost"], LONGEST_TEXT)}
    reported, error = answer.get("fabric"), answer.get("error")
    fabric = {} if reported in (None, {}) else _fabric(reported)
    if not isinstance(answer.get("state"), str) or fabric is None:
        return {"lost": NOT_UNDERSTOOD}
    message = error.get("message") if isinstance(error, Mapping) else None
    return {"state": answer["state"], "alive": answer.get("alive") is True, "fabric": fabric,
            **({"error": {"message": printable(message, LONGEST_TEXT)}} if isinstance(message, str) else {})}


def _fabric(fabric: Any) -> dict[str, Any] | None:
    """Return the counts of a reporter with printable names, None if they do not have the form that rdma_perf_info returns."""
    if not isinstance(fabric, Mapping) or not all(isinstance(fabric.get(name), int) and _is_number(fabric[name]) for name in _COUNTS):
        return None
    silent, slowest = fabric.get("silent"), fabric.get("slowest")
    if not all(_is_number(fabric.get(name)) for name in ("seconds", "age")) or not isinstance(fabric.get("over"), bool) or not isinstance(silent, list):
        return None
    if slowest is not None and not (isinstance(slowest, Mapping) and _is_number(slowest.get("value"))):
        return None
    if slowest is not None:
        slowest = {"value": slowest["value"], **{name: printable(slowest.get(name)) for name in ("unit", "source", "target")}}
    return {**{name: fabric[name] for name in (*_COUNTS, "seconds", "age", "over")}, "silent": [printable(name) for name in silent[:SHOWN]], "slowest": slowest}


def _is_number(value: Any) -> bool:
    return is_number(value) and 0 <= value < _LARGEST


def extent(plan: Mapping[str, Any]) -> Extent:
    """Return the size of a plan of the filter pair_plan. Listed pairs are counted, since the summary counts both directions of a pair as one."""
    summary, rounds = plan.get("summary") or {}, plan.get("rounds") or []
    listed = "schedule" not in plan and bool(rounds)
    seconds = summary.get("seconds_per_pair")
    return Extent(sum(map(len, rounds)) if listed else int(summary.get("pairs", 0)), len(rounds) if listed else int(summary.get("rounds", 0)),
                  None if seconds is None else float(seconds))


def is_stale(fabric: Mapping[str, Any]) -> bool:
    """Return True if the reporter has written nothing for so long that it must hang."""
    return bool(fabric["age"] > STALE_SECONDS + fabric["hosts"] / HOSTS_A_SECOND)


def line(fabric: Mapping[str, Any], whole: Extent) -> str:
    """Return the progress as one line. ``fabric``: as ``read_answer`` returns it."""
    done, failed = fabric["pairs_done"], fabric["pairs_failed"]
    parts = [] if fabric["over"] else [f"round {min(max(1, fabric['round']), whole.rounds)} of {whole.rounds}"]
    parts += [f"{done} of {whole.pairs} pairs done", f"{failed} failed"]
    slowest = fabric.get("slowest")
    if slowest:
        parts.append(f"slowest {slowest['value']:.3g} {slowest['unit']} ({slowest['source']} to {slowest['target']})")
    parts.append("finished" if fabric["over"] else _left(fabric, whole))
    unheard = fabric["hosts"] - fabric["hosts_heard"]
    return "; ".join(filter(None, [", ".join(parts), _silent(fabric), f"{unheard} hosts have not started" if unheard and not fabric["over"] else ""]))


def _left(fabric: Mapping[str, Any], whole: Extent) -> str:
    """Estimate the time left from the pairs done so far, at the beginning from the plan."""
    done, open_pairs = fabric["pairs_done"], max(0, whole.pairs - fabric["pairs_done"])
    if done and fabric["seconds"]:
        return f"about {_time(open_pairs * fabric['seconds'] / done)} left"
    return f"about {_time(whole.rounds * whole.seconds)} left according to the plan" if whole.seconds else "time left unknown"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _silent(fabric: Mapping[str, Any]) -> str:
    count, names = fabric["hosts_silent"], fabric["silent"]
    if not count:
        return ""
    return f"no report from {some(names, len(names), count)}"
