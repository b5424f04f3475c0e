# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The state of a job of a collective and of the pods of a fabric check, from the answers of the API server. It is the same for all engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...module_utils._core.numbers import is_count
from .pods import ROLE_LABEL

ENDS = ("Completed", "Failed", "Aborted", "Terminated", "Succeeded")
"""Phases in which a job stays."""

_GOOD_ENDS = ("Completed", "Succeeded")
_PENDING = "Pending"


@dataclass(frozen=True)
class State:
    """``workers`` are in rank order, each with ``name`` and ``node``. ``problem`` is a sentence, empty if the job completed."""

    placed: bool
    phase: str
    ended: bool
    workers: list[dict[str, Any]]
    problem: str

    def as_dict(self) -> dict[str, Any]:
        """Return the result of the filter."""
        return asdict(self)


def state(pods: Any, job: Any, name: str, replicas: int, nodes: Sequence[str] = ()) -> State:
    """Return the state of the job ``name``. ``pods`` and ``job`` are results of k8s_info; ``nodes`` are those that the job lists for its workers."""
    every = _resources(pods)
    workers = _workers(every)
    launchers = [_inside(pod, "status").get("phase", _PENDING) for pod in every if _role(pod) == "launcher"]
    # An engine may delete its pods once the job has ended.
    placed = launchers[-1:] in (["Succeeded"], ["Failed"]) or sum(1 for worker in workers if worker["node"]) == replicas
    phase = _phase(next(iter(_resources(job)), {}))
    if len(workers) != replicas:
        # Some pods no longer exist, so only their number is known.
        workers = [{"name": f"worker-{index}", "node": nodes[index] if index < len(nodes) else f"worker-{index}"} for index in range(replicas)]
    return State(placed, phase, phase in ENDS, workers, "" if phase in _GOOD_ENDS else _problem(name, phase, placed, every))


def of_pods(resources: Any, pods: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return ``phase``, ``address`` and ``reason`` of the pod of each host. ``resources``: of the result of k8s_info; ``pods``: the names of pods by host."""
    by_name = {str(_inside(pod, "metadata").get("name", "")): pod for pod in _mappings(resources)}
    return {host: _of_pod(by_name.get(name, {})) for host, name in pods.items()}


def _of_pod(pod: Mapping[str, Any]) -> dict[str, str]:
    status = _inside(pod, "status")
    return {"phase": str(status.get("phase") or _PENDING), "address": str(status.get("podIP") or ""), "reason": "; ".join(_reasons([pod])) or "no reason given"}


def _problem(name: str, phase: str, placed: bool, pods: Sequence[Mapping[str, Any]]) -> str:
    reasons = [] if placed else [f", its pods were not scheduled: {'; '.join(_reasons(pods)) or 'no reason given'}"]
    return f"The job {name} is {phase}{''.join(reasons)}."


def _workers(pods: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the workers in the order of the numbers at the end of their names."""
    names = {str(_inside(pod, "metadata").get("name", "")): _inside(pod, "spec").get("nodeName", "") for pod in pods if _role(pod) == "worker"}
    return [{"name": name, "node": names[name]} for name in sorted(names, key=_number)]


def _number(name: str) -> int:
    last = name.rpartition("-")[2]
    return int(last) if is_count(last) else 0


def _phase(job: Mapping[str, Any]) -> str:
    """Return the phase of a job. Volcano reports it in status.state.phase, MPI Operator as a condition that is true."""
    status = _inside(job, "status")
    true = (condition.get("type") for condition in _conditions(status) if condition.get("status") == "True")
    return str(_inside(status, "state").get("phase") or next((kind for kind in true if kind in ENDS), _PENDING))


def _reasons(pods: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the messages of the cluster that explain why pods wait."""
    messages = (str(condition["message"]) for pod in pods for condition in _conditions(_inside(pod, "status"))
                if condition.get("status") != "True" and "message" in condition)
    return list(dict.fromkeys(messages))


def _role(pod: Mapping[str, Any]) -> Any:
    return _inside(_inside(pod, "metadata"), "labels").get(ROLE_LABEL)


def _inside(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def _conditions(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return _mappings(status.get("conditions"))


def _resources(result: Any) -> list[Mapping[str, Any]]:
    return _mappings(result.get("resources")) if isinstance(result, Mapping) else []


def _mappings(values: Any) -> list[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, (list, tuple)) else []
