# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check the preconditions of a switch of NPUs, and list those that cannot be checked from here.

Sources: the description of link failover (seed of SwitchNicTrack), Ascend/mind-cluster component/clusterd/pkg/domain/podgroup/pg_util.go.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .._core.errors import HccnError
from .._core.problems import Problem
from . import kube
from .leaf_topology import Nics

POD_GROUPS = "scheduling.volcano.sh/v1beta1"
RECOVERY_LABEL, RECOVERY_ON = "process-recover-enable", "on"
RUNNING = "Running"

ALWAYS_UNCHECKED = (
    "training iterates normally (past its first iterations, not saving a checkpoint)",
    "the framework reports start and end of each optimizer update and suspends at the end of an iteration (MindSpeed-LLM does; others must)",
    "the framework started MindIO when it was initialised",
    "MindSpore: TASKD_PROCESS_ENABLE=on was set before TaskD Manager started",
)
"""Preconditions that only the training process knows."""


class Prechecks(NamedTuple):
    """``problems`` forbid the switch; ``checked`` and ``unchecked`` are sentences."""

    problems: List[Problem]
    checked: List[str]
    unchecked: List[str]


def _link(node: str, device: int, known: Mapping[int, Any]) -> Optional[Problem]:
    if device not in known:
        return Problem("link", "error", "the host of node %s has no NPU %d" % (node, device), host=node, device=device, hint="select NPUs of this host")
    if known[device] == "up":
        return None
    if known[device] is None:
        return Problem("link", "error", "the link of NPU %d on node %s could not be read" % (device, node), host=node, device=device,
                       hint="see errors in the result of hccn.cluster.device_info on this host")
    return Problem("link", "error", "the link of NPU %d on node %s is %s: the switch would fail" % (device, node, str(known[device]).upper()), host=node,
                   device=device, hint="repair the link, or exclude this NPU")


def _first_line(message: Any) -> str:
    lines = [line.strip() for line in str(message or "").splitlines() if line.strip()]
    return lines[0] if lines else "its host was lost"


def links(nics: Nics, nodes: Mapping[str, Any]) -> Prechecks:
    """Check the links. ``nodes`` are results of device_info by node. A failed result or a lost host forbids the switch; no result leaves it unchecked."""
    prechecks = Prechecks(problems=[], checked=[], unchecked=[])
    for node, devices in nics.items():
        names = "the links of NPU %s on node %s" % (", ".join(map(str, devices)), node)
        if not nodes.get(node):
            prechecks.unchecked.append(names + ": nodes has no result of device_info for it")
            continue
        entries = nodes[node].get("devices")
        if not isinstance(entries, list):
            prechecks.problems.append(Problem("link", "error", "%s could not be read: %s" % (names, _first_line(nodes[node].get("msg"))), host=node,
                                              hint="find out why hccn.cluster.device_info fails on this host, or exclude the node"))
            continue
        known = {entry.get("id"): entry.get("link") for entry in entries}
        found = [problem for problem in (_link(node, device, known) for device in devices) if problem]
        prechecks.problems.extend(found)
        if not found:
            prechecks.checked.append("the links of NPU %s on node %s are up" % (", ".join(map(str, devices)), node))
    return prechecks


def _of_job(item: Dict[str, Any], job_id: str) -> bool:
    owners = (item.get("metadata") or {}).get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == job_id for owner in owners)


def job(api: kube.Api, namespace: str, job_id: str) -> Prechecks:
    """Check process-level recovery and the phase of the PodGroup of the job. Raises HccnError."""
    prechecks = Prechecks(problems=[], checked=[], unchecked=[])
    groups = [item for item in api.items(POD_GROUPS, "podgroups", namespace) if _of_job(item, job_id)]
    if not groups:
        return Prechecks(problems=[], checked=[], unchecked=["process-level recovery of the job: no PodGroup belongs to %s" % job_id,
                                                             "the job is running: no PodGroup belongs to %s" % job_id])
    name, value = kube.name_of(groups[0]), kube.labels_of(groups[0]).get(RECOVERY_LABEL)
    if value == RECOVERY_ON:
        prechecks.checked.append("process-level recovery is on (PodGroup %s)" % name)
    else:
        prechecks.problems.append(Problem(
            "process_recovery", "error", "process-level recovery of the job is off: the PodGroup %s has %s" % (
                name, "no label %s" % RECOVERY_LABEL if value is None else "the label %s=%s" % (RECOVERY_LABEL, value)),
            where=name, hint="start the job with the label %s=%s; the value \"pause\" means that ClusterD is recovering it" % (RECOVERY_LABEL, RECOVERY_ON)))
    phase = (groups[0].get("status") or {}).get("phase")
    if phase == RUNNING:
        prechecks.checked.append("the job is running (PodGroup %s)" % name)
    else:
        prechecks.problems.append(Problem("job_running", "error", "the job is not running: its PodGroup %s is %s" % (name, phase or "without a phase"),
                                          where=name, hint="switch while the job is training"))
    return prechecks


def run(nics: Nics, nodes: Mapping[str, Any], make_api: Any, namespace: str, job_id: str) -> Prechecks:
    """Run all checks. ``make_api`` returns the Kubernetes API; if it raises HccnError, the checks of the job are unchecked."""
    found = links(nics, nodes)
    try:
        of_job = job(make_api(), namespace, job_id)
    except HccnError as error:
        reason = error.message
        of_job = Prechecks(problems=[], checked=[], unchecked=["process-level recovery of the job: " + reason, "the job is running: " + reason])
    return Prechecks(problems=found.problems + of_job.problems, checked=found.checked + of_job.checked,
                     unchecked=found.unchecked + of_job.unchecked + list(ALWAYS_UNCHECKED))
