# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Findings of lost hosts, failed tasks, validation, rank tables and collectives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import causes, reading
from .finding import CLUSTER, RUN, Component, Device, Finding, finding, of_host, of_npus

THE_CLUSTER, THE_RUN = Component(CLUSTER, CLUSTER), Component(RUN, RUN)

NO_REASON = "no reason given"
OUTPUT_LINES = 4
"""Lines from the end of the output of a program."""

_PREFIX = re.compile(
    r"""(?:Task failed: )?(?:(?:Failed to connect to the host via ssh: |Data could not be sent to remote host (["']).{1,255}?\1\. """
    r"""Make sure this host can be reached over ssh: )(?=.))?""", re.IGNORECASE)
"""The introductions that ansible-core puts before the message of ssh, depending on the moment at which ssh ended. ``Task failed:`` precedes them since 2.19."""
_DUPLICATES = ("device_ip_unique", "address_unique")
"""Rules of rank tables that two NPUs with the same address violate."""
_SEVERITY = {"error": None, "warning": causes.NOTE}
"""The severity by that of a problem; None for the default of the cause."""


def of_unreachable(host: str, stage: str, msg: Any = None) -> Finding:
    """Return the finding of a host that Ansible could not reach, or lost. The message of ssh may have several lines."""
    reason = _PREFIX.sub("", " ".join(reading.text(msg).split()), count=1)
    return finding("unreachable_host", of_host(host), f"Ansible did not reach it: {reason or NO_REASON}", [host], stage=stage)


def of_failed_task(host: str | None, failure: Mapping[str, Any]) -> Finding:
    """Return the finding of a failed task.

    ``failure``: ``stage``, ``task``, ``msg``, and if known the ``code`` of the error, ``whole_run``, and the ``last_line`` that a module printed if it ended
    without a result. A failure of the whole run belongs to no host, although Ansible reports it on one. The code determines the cause if it has one.
    """
    stage, task, message, last, code = (reading.text(failure.get(key)) for key in ("stage", "task", "msg", "last_line", "code"))
    msg = ": ".join(filter(None, (message, last)))
    cause = causes.of_code(code, "failed_task")
    if host is None or reading.is_true(failure.get("whole_run")):
        return finding("failed_task", THE_RUN, f"{task or 'A task'}: {msg or NO_REASON}", stage=stage)
    if cause == "failed_task":
        return finding(cause, of_host(host), f"{task or 'A task'}: {msg or NO_REASON}", [host], stage=stage)
    return finding(cause, of_host(host), msg or NO_REASON, [host], evidence=[f"Task {task}"] if task else (), stage=stage)


_CORRECT_ADDRESSES = "Correct the addresses or subnets in the inventory, then run: ansible-playbook hccn.cluster.validate"
"""No host was contacted yet, so the fault is in the inventory and not on a device."""


def of_validation(problems: Any) -> list[Finding]:
    """Return the findings of the validation of a job. ``problems``: as the action validate_job returns them."""
    found = []
    for problem in reading.mappings(problems):
        cause, message, hosts = reading.text(problem.get("cause")), reading.text(problem.get("message")), reading.texts(problem.get("hosts"))
        npus = [(host, number) for npu in reading.mappings(problem.get("devices"))
                for host, number in [(reading.text(npu.get("host")), reading.device_id(npu.get("device")))] if host and number is not None]
        component = of_npus(npus) if npus else of_host(*hosts) if hosts else THE_RUN
        if message:
            cause = cause if cause in causes.CAUSES else "invalid_variable"
            step = _CORRECT_ADDRESSES if cause in ("address_conflict", "address_invalid") else None
            found.append(finding(cause, component, message, hosts, npus, stage="validate", next_step=step))
    return found


def of_rank_table(result: Any) -> list[Finding]:
    """Return the findings about a rank table. ``result``: of the action rank_table, on the host that assembled the table."""
    answer = reading.mapping(result)
    groups: dict[tuple[str, str | None, str, str], tuple[dict[Device, None], dict[str, None]]] = {}
    for problem in reading.mappings(answer.get("problems")):
        rule, message, host, where, hint, code = (reading.text(problem.get(key)) for key in ("rule", "message", "host", "where", "hint", "error_code"))
        number = reading.device_id(problem.get("device"))
        cause = "address_conflict" if rule in _DUPLICATES and host and number is not None else "rank_table_problem"
        npus, evidence = groups.setdefault((cause, _SEVERITY.get(reading.text(problem.get("severity"))), host, message or rule or NO_REASON), ({}, {}))
        if host and number is not None:
            npus[host, number] = None
        evidence[" ".join(filter(None, (where, f"rule {rule}" if rule else "", code, f"({hint})" if hint else "")))] = None
    found = [finding(cause, of_npus(npus) if npus else of_host(host) if host else THE_CLUSTER, message, [host] if host else (), npus,
                     filter(None, evidence), "rank_table", severity=severity)
             for (cause, severity, host, message), (npus, evidence) in groups.items()]
    if reading.is_true(answer.get("failed")) and not any(one.severity == causes.FAILED for one in found):
        found.append(finding("rank_table_problem", THE_CLUSTER, reading.text(answer.get("msg")) or NO_REASON, stage="rank_table"))
    return found


def of_collective(result: Any, hosts: Sequence[str] = (), why_skipped: str = "") -> list[Finding]:
    """Return the findings about a collective. ``result``: of hccl_perf or nccl_perf; ``hosts``: its hosts, if the result does not contain them."""
    answer = reading.mapping(result)
    if why_skipped or reading.is_true(answer.get("skipped")):
        return [_of_collective("collective_skipped", why_skipped or reading.text(answer.get("skip_reason")) or "it was not run", hosts)]
    records = reading.mappings(answer.get("measurements"))
    if reading.is_true(answer.get("failed")):
        return [_failed_collective(answer, records, hosts)]
    samples = [sample for record in records if record.get("kind") == "finding" for sample in reading.mappings(record.get("samples"))]
    found = [one for one in map(Finding.of_sample, samples) if one is not None and one.cause == "collective_slow"]
    if not found and reading.is_true(answer.get("slow")):
        limit = answer.get("limit_gbyte_s")
        below = f" than the limit of {limit:.4g} GB/s" if isinstance(limit, (int, float)) and not isinstance(limit, bool) else ""
        found = [_of_collective("collective_slow", f"the collective over all hosts is slower{below}", hosts or _hosts(records))]
    return found


def _failed_collective(answer: Mapping[str, Any], records: Sequence[Mapping[str, Any]], hosts: Sequence[str]) -> Finding:
    error = next((error for record in records for error in [reading.mapping(record.get("error"))] if error), {})
    code, hint = reading.text(error.get("code")), reading.text(error.get("hint")) or reading.text(answer.get("hint"))
    message = reading.text(error.get("message")) or reading.text(answer.get("msg")) or NO_REASON
    output = reading.text(error.get("output")) or reading.text(answer.get("output"))
    last = [line for line in output.splitlines() if line.strip()][-OUTPUT_LINES:]
    cause = "busy_npu" if causes.of_code(code, "") == "busy_npu" else "collective_failed"
    return _of_collective(cause, message, hosts or _hosts(records), [*filter(None, (hint,)), *last], output)


def _of_collective(cause: str, message: str, hosts: Iterable[str], evidence: Iterable[str] = (), output: str = "") -> Finding:
    return finding(cause, THE_CLUSTER, message, hosts, evidence=evidence, stage="check_collective", output=output)


def _hosts(records: Sequence[Mapping[str, Any]]) -> list[str]:
    return next((names for record in records for names in [reading.texts(record.get("hosts"))] if names), [])
