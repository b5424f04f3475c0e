# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Findings about the fabric, from the result of the action fabric_verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...module_utils._core.words import some
from . import causes, reading
from .evidence import PAIR, of_texts
from .finding import FABRIC, KINDS, Component, Device, Finding, cut_output, finding, of_host, of_npus
from .stages import NO_REASON, THE_RUN, of_unreachable

STAGE = "check_fabric"

STATES = ("unreachable", "failed", "busy", "slow", "not_measured", "good")
"""Classes of hosts in the order in which the verdict prefers them, see _diagnose/host_classes.py."""
NODE = "node"
WARNINGS = ("line_rates_differ",)
"""Rules whose violation does not keep a host from being good."""

PAIRS_FAILED = ("failed_npu", "failed_host", "failed_fabric")
"""Causes of findings that rest on failed pairs."""

_MANY = {", is slow": " are slow", ", fails": " fail", ", does other work": " do other work"}

Explained = dict[str, set[str]]
"""The classes of each host that a finding already explains."""


def of_verdict(result: Any, left_out: Any = (), perf_tool: bool = False, starts: Mapping[str, Any] | None = None,
               stage: str = STAGE) -> tuple[list[Finding], dict[str, str]]:
    """Return the findings and the class of each host.

    ``result``: of fabric_verdict, or of reachability_verdict with its ``stage``. ``left_out``: what measurable_hosts excluded from the plan; ``perf_tool``: a
    tool of the host measures instead of hccn_tool; ``starts``: what rdma_perf returned on each host.
    """
    answer = reading.mapping(result)
    verdicts = {reading.text(verdict.get("host")): verdict for verdict in reading.mappings(answer.get("verdicts"))}
    verdicts.pop("", None)
    classes = {host: verdict["class"] if verdict.get("class") in STATES else "not_measured" for host, verdict in verdicts.items()}
    if reading.is_true(answer.get("failed")) and not verdicts:
        return [finding("failed_task", THE_RUN, f"Diagnose the fabric: {reading.text(answer.get('msg')) or NO_REASON}", stage=STAGE)], {}
    explained: Explained = {}
    found = [*_left_out(left_out, explained, perf_tool), *_refused(starts or {}, explained)]
    for component in reading.mappings(answer.get("components")):
        found += _component(component, verdicts, explained)
    found += _problems(answer.get("problems"), explained)
    for host, state in classes.items():
        if not any(STATES.index(other) <= STATES.index(state) for other in explained.get(host, ())):
            found += _host(host, state, verdicts[host])
    found = [replace(one, stage=stage) for one in (*found, *_regressions(answer.get("regressions")))]
    return [_on_ports(one) for one in found] if perf_tool else found, classes


def _on_ports(one: Finding) -> Finding:
    """Return the finding with the next step for a host without NPUs."""
    return replace(one, next_step=causes.next_step_on_ports(one.cause, one.hosts) or one.next_step)


def with_output(found: Iterable[Finding], records: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """Return the findings; those about failures have the output of the first failed pair of their NPUs, or of their hosts."""
    by_npu: dict[Device, str] = {}
    by_host: dict[str, str] = {}
    for record in records:
        output = reading.text(reading.mapping(record.get("error")).get("output"))
        for side in ("source", "target") if output else ():
            host, number = reading.text(reading.mapping(record.get(side)).get("host")), reading.device_id(reading.mapping(record.get(side)).get("device"))
            by_host.setdefault(host, output)
            if number is not None:
                by_npu.setdefault((host, number), output)
    return [replace(one, output=cut_output(_output_of(one, by_npu, by_host))) if one.cause in PAIRS_FAILED else one for one in found]


def _output_of(one: Finding, by_npu: Mapping[Device, str], by_host: Mapping[str, str]) -> str:
    candidates = [by_npu.get(npu, "") for npu in one.devices] if one.devices else [by_host.get(host, "") for host in one.hosts]
    return next(filter(None, candidates), "")


def _left_out(entries: Any, explained: Explained, perf_tool: bool) -> list[Finding]:
    """Return one finding per host and reason, with all NPUs that it applies to."""
    groups: dict[tuple[str, str, str], list[Device]] = {}
    for entry in reading.mappings(entries):
        host, code, message = (reading.text(entry.get(key)) for key in ("host", "code", "message"))
        if not host:
            continue
        cause = "perf_tool_missing" if perf_tool and code == "tool_missing" else causes.of_code(code, "tool_failed")
        npus = groups.setdefault((host, cause, message or NO_REASON), [])
        number = reading.device_id(entry.get("device"))
        npus += [] if number is None else [(host, number)]
        busy = cause in ("busy_npu", "busy_host")
        explained.setdefault(host, set()).add("busy" if busy else "not_measured" if code in ("tool_missing", "answer_not_understood") else "failed")
    return [finding(cause, of_npus(npus) if npus else of_host(host), message, [host], npus, stage=STAGE)
            for (host, cause, message), npus in groups.items()]


def _refused(starts: Mapping[str, Any], explained: Explained) -> list[Finding]:
    """Return one finding about the run for each reason why hosts do not resume the earlier run. It says nothing about the hosts."""
    groups: dict[str, list[str]] = {}
    for host, start in starts.items():
        error = reading.mapping(reading.mapping(start).get("error"))
        if error.get("code") == "resume_refused":
            groups.setdefault(reading.text(error.get("message")) or NO_REASON, []).append(host)
            explained.setdefault(host, set()).add("not_measured")
    return [finding("resume_refused", THE_RUN, message, hosts, evidence=[f"On {some(hosts)}"], stage=STAGE) for message, hosts in groups.items()]


def _component(component: Mapping[str, Any], verdicts: Mapping[str, Mapping[str, Any]], explained: Explained) -> list[Finding]:
    kind, name, state, message = (reading.text(component.get(key)) for key in ("kind", "name", "class", "message"))
    hosts = reading.texts(component.get("hosts"))
    if state not in ("slow", "failed", "busy") or not (name or hosts):
        return []
    if kind in ("npu", NODE, FABRIC):
        for host in hosts:
            explained.setdefault(host, set()).add(state)
    if kind not in ("npu", NODE):
        cause = "busy_npu" if state == "busy" else f"{state}_fabric"
        return [finding(cause, Component(kind if kind in KINDS else FABRIC, name or kind), _without_name(message, name), hosts,
                        evidence=of_texts(reading.texts(component.get("evidence")), PAIR), stage=STAGE)]
    host = hosts[0] if hosts else name.rpartition(" NPU ")[0] or name
    npus = [(reading.text(npu.get("host")) or host, number) for npu in reading.mappings(component.get("devices"))
            for number in [reading.device_id(npu.get("device"))] if number is not None]
    whole = kind == NODE or not npus
    words = _without_name(message, host)
    words = words if whole else re.sub(rf"^NPU {npus[0][1]} ", "it ", words)
    seen = reading.texts(verdicts.get(host, {}).get("evidence"))
    evidence = seen if whole else [line for line in seen if re.search(rf"(?<!\S){re.escape(host)} NPU {npus[0][1]}\b", line)]
    return [finding(f"{state}_{'host' if whole else 'npu'}", of_host(host) if whole else of_npus(npus), words, [host], npus,
                    of_texts(evidence, PAIR), STAGE)]


def _without_name(message: str, name: str) -> str:
    rest = message[len(name):] if name and message.startswith(name) else message
    for one, many in _MANY.items() if rest.startswith(", ") else ():
        rest = rest.replace(one, many, 1)
    return rest.lstrip(":, ") or NO_REASON


def _problems(problems: Any, explained: Explained) -> list[Finding]:
    found = []
    for problem in reading.mappings(problems):
        host, rule, message, hint = (reading.text(problem.get(key)) for key in ("host", "rule", "message", "hint"))
        if not message:
            continue
        if host and rule not in WARNINGS:
            explained.setdefault(host, set()).add("not_measured")
        found.append(finding("answer_not_understood", of_host(host) if host else THE_RUN, message, [host] if host else (), evidence=[hint] if hint else (),
                             stage=STAGE, severity=causes.NOTE if rule in WARNINGS else None))
    return found


def _host(host: str, state: str, verdict: Mapping[str, Any]) -> Sequence[Finding]:
    """Return the finding for the host as a whole, if neither its NPUs nor exclusions explain its class."""
    message = reading.text(verdict.get("message")) or NO_REASON
    if state == "good":
        return []
    if state == "unreachable":
        return [of_unreachable(host, STAGE, message.removeprefix("Ansible did not reach the host: "))]
    cause = {"failed": "failed_host", "slow": "slow_host", "busy": "busy_host"}.get(state, "not_measured")
    return [finding(cause, of_host(host), message, [host], evidence=of_texts(reading.texts(verdict.get("evidence")), PAIR), stage=STAGE)]


def _regressions(regressions: Any) -> Iterable[Finding]:
    for entry in reading.mappings(regressions):
        host, number = reading.text(entry.get("host")), reading.device_id(entry.get("device"))
        if host and number is not None:
            message = f"{entry.get('now')} {entry.get('unit')}, {entry.get('drop_percent')} % below the baseline of {entry.get('before')}"
            yield finding("regression", of_npus([(host, number)]), message, [host], [(host, number)], stage=STAGE)
