# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The findings of a run, from the variables that its roles registered on the hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import cabling, consistency, devices, fabric, ports, reading, stages, tls
from .finding import Finding, finding
from .check_mode import predicted

Registered = Callable[[str, str], Any]
"""Return what a host registered under a name, None if nothing."""

RESULTS: Mapping[str, Sequence[str]] = {
    "bring_up": ("bring_up_probe", "bring_up_devices", "tls_dry_run", "tls_devices"),
    "rank_table": ("rank_table_npus", "rank_table_result"),
    "check_fabric": ("check_fabric_other_run", "check_fabric_probe", "check_fabric_tools", "check_fabric_first_start", "check_fabric_first_result",
                     "check_fabric_ports", "check_fabric_start", "check_fabric_result", "check_fabric_ports_after"),
    "check_reachability": ("check_reachability_probe", "check_reachability_pings"),
    "check_collective": ("check_collective_probe", "check_collective_trust"),
}
"""The names under which the roles register answers of hosts, by stage in the order of the stages."""

DEVICES = (("bring_up", "bring_up_devices"), ("rank_table", "rank_table_npus"), ("check_fabric", "check_fabric_probe"),
           ("check_reachability", "check_reachability_probe"))
"""Results of device_info, the most complete one first."""

PORTS = (("bring_up", "bring_up_devices"), ("check_fabric", "check_fabric_probe"), ("check_fabric", "check_fabric_ports"),
         ("check_fabric", "check_fabric_ports_after"))
"""Results of device_info with the state of ports, in the order in which they were read."""


def changes_of(host: str, registered: Registered) -> list[Any]:
    """Return what device_network and device_tls changed on a host, or would change in check mode."""
    return [reading.mapping(registered(host, "bring_up_devices")).get("network"), registered(host, "tls_devices")]


LAST = (("bring_up", "bring_up_devices"), ("check_fabric", "check_fabric_verdict"), ("check_reachability", "check_reachability_verdict"))
"""The variable that every host has at the end of a stage unless it was lost."""

RANK_TABLES = ("rank_table_of_devices", "rank_table_of_job")
_WHEN_IDLE = "When the job has ended: ansible-playbook hccn.cluster.check_collective"
COLLECTIVES = ("check_collective_hccl", "check_collective_nccl")


@dataclass
class RunFindings:
    """``classes``: the verdicts on the checked hosts. ``ports``: evidence to attach to the merged findings. ``has_npus``: False if a tool of
    the hosts measured the fabric and no NPU was read."""

    findings: list[Finding] = field(default_factory=list)
    ports: ports.Ports = field(default_factory=ports.Ports)
    classes: dict[str, str] = field(default_factory=dict)
    has_npus: bool = True


def of_run(hosts: Sequence[str], registered: Registered, check_mode: bool = False) -> RunFindings:
    """Return the findings of all stages over ``hosts``; in check mode, those of the predicted devices."""
    run, has_devices = RunFindings(), False
    lost = {host: finding for host in hosts for finding in [_unreachable(host, registered)] if finding is not None}
    lost.update((host, finding) for host, finding in _silent(hosts, registered) if host not in lost)
    run.findings += lost.values()
    run.findings += _failures(hosts, registered)
    for stage, name in DEVICES:
        results = _answers(hosts, name, registered)
        has_devices = has_devices or bool(results)
        if check_mode:
            results = {host: predicted(result, changes_of(host, registered)) for host, result in results.items()}
        for host, result in results.items():
            run.findings += [one for one in devices.of_devices(host, result, stage) if one.cause != "failed_task" or not _failed_in(host, stage, registered)]
        run.findings += consistency.over_hosts(results, stage)
    tools = _answers(hosts, "check_fabric_tools", registered)
    run.has_npus = has_devices or not tools
    run.findings += consistency.over_rdma_hosts(tools, "check_fabric")
    _add_ports(run, hosts, registered)
    run.findings += tls.of_tls(hosts, registered)
    _add_fabric(run, hosts, registered)
    _add_reachability(run, hosts, registered)
    for name in RANK_TABLES:
        run.findings += stages.of_rank_table(_first(hosts, name, registered))
    run.findings += _collective(hosts, registered)
    return run


def _answers(hosts: Sequence[str], name: str, registered: Registered) -> dict[str, Mapping[str, Any]]:
    return {host: result for host in hosts for result in [registered(host, name)]
            if isinstance(result, Mapping) and not result.get("unreachable") and not result.get("skipped")}


def _add_ports(run: RunFindings, hosts: Sequence[str], registered: Registered) -> None:
    readings = [(stage, answers) for stage, name in PORTS for answers in [_answers(hosts, name, registered)] if answers]
    run.ports = ports.of_readings(readings)
    run.findings += run.ports.findings
    for stage, answers in readings[:1]:
        run.findings += cabling.of_neighbours(answers, lambda host: registered(host, "check_fabric_leaf"), stage)


def _unreachable(host: str, registered: Registered) -> Finding | None:
    """Return the finding if a host did not answer in the last stage that has answers of it. An unreachable host runs no further task of its play."""
    last: tuple[str, list[Mapping[str, Any]]] | None = None
    for stage, names in RESULTS.items():
        answers = [result for result in (registered(host, name) for name in names) if isinstance(result, Mapping) and not result.get("skipped")]
        last = (stage, answers) if answers else last
    return next((stages.of_unreachable(host, last[0], answer.get("msg")) for answer in last[1] if answer.get("unreachable")), None) if last else None


def _silent(hosts: Sequence[str], registered: Registered) -> Iterator[tuple[str, Finding]]:
    """Yield a finding per host without known failure that lacks the variable that others have at the end of a stage."""
    for stage, name in LAST:
        missing = [host for host in hosts if registered(host, name) is None]
        if len(missing) < len(hosts):
            yield from ((host, stages.of_unreachable(host, stage, "it was lost during a task that registers no result")) for host in missing
                        if not isinstance(registered(host, "hccn_failures"), Mapping))


def _failures(hosts: Sequence[str], registered: Registered) -> Iterator[Finding]:
    for host in hosts:
        kept = registered(host, "hccn_failures")
        for stage, failure in kept.items() if isinstance(kept, Mapping) else ():
            if isinstance(failure, Mapping):
                whole_run = bool(failure.get("whole_run"))
                yield stages.of_failed_task(None if whole_run else host, {"stage": str(stage), **failure})


def _failed_in(host: str, stage: str, registered: Registered) -> bool:
    """Return True if a failure of the host in this stage is known, which contains the message of the module."""
    kept = registered(host, "hccn_failures")
    return isinstance(kept, Mapping) and stage in kept


def _add_fabric(run: RunFindings, hosts: Sequence[str], registered: Registered) -> None:
    verdict = _first(hosts, "check_fabric_verdict", registered)
    if not isinstance(verdict, Mapping):
        return
    by_perf_tool = _first(hosts, "check_fabric_tools", registered) is not None
    # A confirmation run has replaced check_fabric_start.
    starts = {host: registered(host, "check_fabric_first_start") or registered(host, "check_fabric_start") for host in hosts}
    found, classes = fabric.of_verdict(verdict, _first(hosts, "check_fabric_left_out", registered) or [], by_perf_tool, starts)
    results = [registered(host, name) for host in hosts for name in ("check_fabric_first_result", "check_fabric_result")]
    records = [record for result in results for record in reading.mappings(reading.mapping(result).get("measurements"))]
    run.findings += fabric.with_output(found, records)
    run.classes.update(classes)


def _add_reachability(run: RunFindings, hosts: Sequence[str], registered: Registered) -> None:
    verdict = _first(hosts, "check_reachability_verdict", registered)
    if isinstance(verdict, Mapping):
        left_out = _first(hosts, "check_reachability_left_out", registered) or []
        found, classes = fabric.of_verdict(verdict, left_out, stage="check_reachability")
        run.findings += found
        # A host that a fabric check has classified keeps that class; pings know less about it.
        run.classes.update((host, name) for host, name in classes.items() if host not in run.classes)


def _collective(hosts: Sequence[str], registered: Registered) -> list[Finding]:
    """Return the findings of ``check_collective_outcome``: the state of the collective and the lines that the role displays."""
    outcome = _first(hosts, "check_collective_outcome", registered)
    if not isinstance(outcome, Mapping):
        return []
    lines = outcome.get("lines")
    text = "; ".join(map(str, lines)) if isinstance(lines, (list, tuple)) else str(lines)
    if outcome.get("state") == "skipped":
        return stages.of_collective({}, hosts, text)
    if outcome.get("state") == "busy":
        return [finding("busy_npu", stages.THE_CLUSTER, text, hosts, stage="check_collective", next_step=_WHEN_IDLE)]
    if outcome.get("state") == "unready":
        return stages.of_collective({"failed": True, "msg": text}, hosts)
    results = [result for result in (_first(hosts, name, registered) for name in COLLECTIVES) if isinstance(result, Mapping)]
    # The role lets the task of the module succeed, so that later plays run.
    return [one for result in results for call in _calls(result) for one in stages.of_collective({**call, "failed": bool(call.get("msg"))}, hosts)]


def _calls(result: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the results of all calls of a loop, without skipped ones, else the only result."""
    return [call for call in reading.mappings(result["results"]) if not call.get("skipped")] if "results" in result else [result]


def _first(hosts: Sequence[str], name: str, registered: Registered) -> Any:
    """Return the result of a task that ran once, from the first host that has it; None if it was skipped."""
    found = next((result for result in (registered(host, name) for host in hosts) if result is not None), None)
    return None if isinstance(found, Mapping) and found.get("skipped") else found
