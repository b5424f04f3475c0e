# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The outcome of a collective: its state, the lines to show, and whether it fails the play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...module_utils._core.errors import InputError

SKIPPED, UNREADY, BUSY, PLANNED, MEASURED = "skipped", "unready", "busy", "planned", "measured"
"""States."""

_TOOL_MISSING = "tool_missing"
_GROUPS_WITHOUT_LINE = ("all", "bisection")
"""Groups without a separate line: all hosts, and the groups of the search for slow hosts."""


@dataclass(frozen=True)
class Run:
    """The options and circumstances of a run.

    ``hosts`` is the number of hosts. ``skip_message`` is the line to show if the tool is missing; if it is empty, a missing tool is a failure. ``job_problem``
    is a sentence about a Kubernetes job that did not complete. ``slow_hint`` is a sentence for a slow collective without a finding.
    """

    operation: str
    hosts: int
    busy: Sequence[str] = ()
    unready: Sequence[str] = ()
    skip_message: str = ""
    job_problem: str = ""
    slow_hint: str = ""
    fail_on: str = "slow"
    check_mode: bool = False


@dataclass(frozen=True)
class Outcome:
    """``lines`` is a string, or a list of strings if there is more than the measurement over all hosts."""

    state: str
    lines: str | list[str]
    fails: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the result of the filter."""
        return asdict(self)


def outcome(result: Mapping[str, Any], run: Run) -> Outcome:
    """Return the outcome of a run. ``result`` is that of hccl_perf or nccl_perf, empty if neither was called. Raises InputError for an invalid result.

    The result of a loop over operations has the lines of all of them, and the first state other than MEASURED.
    """
    calls = _of_operations(result)
    if not calls:
        return _of_call(result, run)
    found = [_of_call(call, replace(run, operation=operation)) for operation, call in calls]
    lines = list(dict.fromkeys(line for one in found for line in ([one.lines] if isinstance(one.lines, str) else one.lines)))
    state = next((one.state for one in found if one.state != MEASURED), MEASURED)
    return Outcome(state, lines if len(lines) > 1 else lines[0], any(one.fails for one in found))


def _of_operations(result: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return operation and result of each call of a loop, without skipped ones; nothing for the result of a single call."""
    items = result.get("results") if isinstance(result, Mapping) else None
    calls = [one for one in items if isinstance(one, Mapping) and not one.get("skipped")] if isinstance(items, (list, tuple)) else []
    return [(str(call.get(str(call.get("ansible_loop_var")))), call) for call in calls]


def _of_call(result: Mapping[str, Any], run: Run) -> Outcome:
    records = _records(result)
    # The first failure, or else the measurement over all hosts, which is the first record.
    record = next((one for one in records if one.get("status") != "ok"), records[0] if records else {})
    error = record.get("error")
    if run.skip_message and isinstance(error, Mapping) and error.get("code") == _TOOL_MISSING:
        return Outcome(SKIPPED, run.skip_message, False)
    return Outcome(_state(run), _lines(result, run, records, record), _fails(result, run))


def _records(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    measurements = result.get("measurements") or []
    if not isinstance(measurements, (list, tuple)):
        raise InputError("the result of the collective cannot be read: measurements is not a list")
    return [one for one in measurements if isinstance(one, Mapping) and one.get("kind") == "collective"]


def _state(run: Run) -> str:
    return UNREADY if run.unready else BUSY if run.busy else PLANNED if run.check_mode else MEASURED


def _fails(result: Mapping[str, Any], run: Run) -> bool:
    is_slow = bool(result.get("slow")) and run.fail_on in ("slow", "any")
    failed = "msg" in result and not result.get("skipped")
    return run.fail_on != "never" and (failed or bool(run.busy) or bool(run.unready) or is_slow)


def _lines(result: Mapping[str, Any], run: Run, records: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> str | list[str]:
    if run.unready:
        return f"{run.operation}: not run, a host is not ready: {'; '.join(run.unready)}"
    if run.busy:
        return f"{run.operation}: not run, {'GPUs' if ' GPUs ' in run.busy[0] else 'NPUs'} are at work: {', '.join(run.busy)}"
    if "msg" in result and not result.get("skipped"):
        return " ".join(filter(None, (f"{run.operation}: failed. {result['msg']}", run.job_problem)))
    if "samples" not in record:
        return f"{run.operation} would be run over {run.hosts} hosts."
    try:
        measured = _measured(run.operation, record)
        more = [_group(one) for one in records if one.get("status") == "ok" and _name(one) not in _GROUPS_WITHOUT_LINE] + _slow(result, run)
    except (AttributeError, LookupError, TypeError, ValueError):
        raise InputError("the result of the collective cannot be read: a record does not have the format of hccl_perf and nccl_perf") from None
    return [measured, *more] if more else measured


def _measured(operation: str, record: Mapping[str, Any]) -> str:
    last = record["samples"][-1]
    return (f"{operation} over {len(record['hosts'])} hosts, {record['ranks']} ranks: {record['status']}, at {last['size_bytes']} bytes "
            f"{round(last['time_us'], 1)} us, {round(last['busbw_gbyte_s'], 3)} GB/s bus bandwidth")


def _name(record: Mapping[str, Any]) -> str:
    context = record.get("context")
    return str(context.get("group", "all")) if isinstance(context, Mapping) else "all"


def _group(record: Mapping[str, Any]) -> str:
    return f"{_name(record)}: {round(record['samples'][-1]['busbw_gbyte_s'], 3)} GB/s"


def _slow(result: Mapping[str, Any], run: Run) -> list[str]:
    if not result.get("slow"):
        return []
    if result.get("findings"):
        return ["Slow: " + "; ".join(str(finding["message"]) for finding in result["findings"])]
    return [" ".join(filter(None, (f"Slow: below {round(result['limit_gbyte_s'], 3)} GB/s.", run.slow_hint)))]
