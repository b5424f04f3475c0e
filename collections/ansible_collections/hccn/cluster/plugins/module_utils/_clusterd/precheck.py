# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check the preconditions of a switch of NPUs, and list those that cannot be checked from here.

Sources: the description of link failover (SwitchNicTrack, Atlas A3 training only), Ascend/mind-cluster component/clusterd/pkg/domain/podgroup/pg_util.go.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence

from .._core.errors import HccnError
from .._core.problems import Problem
from .._core.words import printable
from .._rank_table.json_fields import entries
from . import kube, pod_specs
from .leaf_topology import Nics
from .pod_specs import Pod

RECOVERY_LABEL, RECOVERY_ON = "process-recover-enable", "on"
RUNNING = "Running"

ALWAYS_UNCHECKED = (
    "training iterates normally (past its first iterations, not saving a checkpoint)",
    "the framework reports start and end of each optimizer update and suspends at the end of an iteration (MindSpeed-LLM does; others must)",
)
"""Preconditions that only the training process knows."""
PRODUCT = "A3"
"""The only product whose links ClusterD can switch."""
_PROBED = "npu-smi"
SHOWN = 3
"""Pods that a sentence names."""
_MINDIO = "the framework started MindIO when it was initialised"
_TASKD = "TASKD_PROCESS_ENABLE=on was set before TaskD Manager started"
_OF_GROUP, _OF_PODS = ("process-level recovery of the job", "the job is running"), (_MINDIO, _TASKD)


class Prechecks(NamedTuple):
    """``problems`` forbid the switch; ``checked`` and ``unchecked`` are sentences."""

    problems: List[Problem]
    checked: List[str]
    unchecked: List[str]

    def __add__(self, other: Any) -> "Prechecks":
        return Prechecks(self.problems + other.problems, self.checked + other.checked, self.unchecked + other.unchecked)


def _none() -> Prechecks:
    return Prechecks(problems=[], checked=[], unchecked=[])


def products(nics: Nics, nodes: Mapping[str, Any], declared: Mapping[str, Any]) -> Prechecks:
    """Check the product of the nodes, as device_info read it and as the inventory declares it."""
    prechecks = _none()
    for node in nics:
        result = nodes.get(node) or {}
        known = [(printable(product), source) for product, source in ((result.get("product"), _PROBED), (declared.get(node), "the inventory")) if product]
        others = [(product, source) for product, source in known if product != PRODUCT]
        if others:
            message = "node %s has NPUs of the product %s according to %s: ClusterD switches the links of A3 only" % ((node,) + others[0])
            hint = "exclude this node" if others[0][1] == _PROBED else "exclude this node, or correct validate_product of its host"
            prechecks.problems.append(Problem("product", "error", message, host=node, hint=hint))
        elif known:
            prechecks.checked.append("node %s has NPUs of the product %s" % (node, PRODUCT))
        elif not isinstance(result.get("devices"), list):
            prechecks.unchecked.append("the product of node %s is A3: neither nodes nor products has it" % node)
    return prechecks


def unknown_products(nics: Nics, nodes: Mapping[str, Any], declared: Mapping[str, Any]) -> Prechecks:
    """Refuse nodes that were read but whose product neither npu-smi nor the inventory has."""
    unknown = [node for node in nics if isinstance((nodes.get(node) or {}).get("devices"), list) and not (nodes[node].get("product") or declared.get(node))]
    return Prechecks([Problem("product", "error", "the product of node %s is unknown: ClusterD switches the links of A3 only" % node, host=node,
                              hint="make npu-smi work on its host, or declare its product (validate_product: A3)") for node in unknown], [], [])


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
    prechecks = _none()
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
    metadata = item.get("metadata")
    return isinstance(metadata, dict) and any(owner.get("controller") and owner.get("uid") == job_id for owner in entries(metadata, "ownerReferences"))


def pod_group(group: Dict[str, Any]) -> Prechecks:
    """Check process-level recovery and the phase of the PodGroup of the job."""
    prechecks = _none()
    name, value = kube.name_of(group), kube.labels_of(group).get(RECOVERY_LABEL)
    if value == RECOVERY_ON:
        prechecks.checked.append("process-level recovery is on (PodGroup %s)" % name)
    else:
        prechecks.problems.append(Problem(
            "process_recovery", "error", "process-level recovery of the job is off: the PodGroup %s has %s" % (
                name, "no label %s" % RECOVERY_LABEL if value is None else "the label %s=%s" % (RECOVERY_LABEL, value)),
            where=name, hint="start the job with the label %s=%s; the value \"pause\" means that ClusterD is recovering it" % (RECOVERY_LABEL, RECOVERY_ON)))
    phase = (group.get("status") or {}).get("phase")
    if phase == RUNNING:
        prechecks.checked.append("the job is running (PodGroup %s)" % name)
    else:
        prechecks.problems.append(Problem("job_running", "error", "the job is not running: its PodGroup %s is %s" % (name, phase or "without a phase"),
                                          where=name, hint="switch while the job is training"))
    return prechecks


def _named(pods: Sequence[Pod]) -> str:
    names = ", ".join(pod.name for pod in pods[:SHOWN]) + (" and %d more" % (len(pods) - SHOWN) if len(pods) > SHOWN else "")
    return "the pod%s %s" % ("" if len(pods) == 1 else "s", names)


def _specs(pods: Sequence[Pod]) -> str:
    return "the spec of 1 pod" if len(pods) == 1 else "the specs of %d pods" % len(pods)


def _wrong_values(pods: Iterable[Pod], rule: str, name: str, value: Any, consequence: str) -> List[Problem]:
    """Return a problem if pods set a variable to something else than ``on``."""
    wrong = [pod for pod in pods if value(pod) not in (None, pod_specs.ON)]
    if not wrong:
        return []
    return [Problem(rule, "error", "%s is %r in the spec of %s: %s" % (name, printable(value(wrong[0])), _named(wrong), consequence), where=wrong[0].name,
                    hint="start the job with %s=%s" % (name, pod_specs.ON))]


def _taskd(pods: Sequence[Pod]) -> Prechecks:
    """PyTorch needs no value: there, TaskD Manager is only disabled by ``off``."""
    name = pod_specs.TASKD_ENABLE
    problems = _wrong_values(pods, "taskd", name, lambda pod: pod.taskd_enable, "TaskD does not take part in a switch")
    absent = [pod for pod in pods if pod.taskd_enable is None and pod.framework != pod_specs.PYTORCH]
    if absent:
        return Prechecks(problems, [], ["%s: the spec of %s does not set it, so only a start script may; MindSpore requires it" % (_TASKD, _named(absent))])
    state = "not off" if any(pod.taskd_enable is None for pod in pods) else "on"
    return Prechecks(problems, [] if problems else ["%s is %s in %s" % (name, state, _specs(pods))], [])


def _mindio(pods: Sequence[Pod]) -> Prechecks:
    """The variables of Ascend Operator do not include TSP, so a spec without it is no problem: the start script has to set it."""
    without = [pod for pod in pods if pod.mindio is None]
    if without:
        setting = "MS_ENABLE_TFT with TSP:1" if without[0].framework == pod_specs.MINDSPORE else "HIGH_AVAILABILITY or --enable-high-availability"
        return Prechecks([], [], ["%s: the spec of %s has no %s, so only a start script may" % (_MINDIO, _named(without), setting)])
    return Prechecks([], ["MindIO is enabled in %s (%s)" % (_specs(pods), ", ".join(sorted({str(pod.mindio) for pod in pods})))], [])


def _running(pods: Sequence[Pod]) -> Prechecks:
    others = [pod for pod in pods if pod.phase != RUNNING]
    if not others:
        return Prechecks([], ["%d of %d pods of the job %s running" % (len(pods), len(pods), "is" if len(pods) == 1 else "are")], [])
    return Prechecks([Problem("job_running", "error", "%s of the job is %s, not running" % (_named(others[:1]), others[0].phase), where=others[0].name,
                              hint="switch while the job is training")], [], [])


def _port(pods: Sequence[Pod]) -> Prechecks:
    without = [pod for pod in pods if not pod.has_taskd_port]
    if without:
        return Prechecks([], [], ["port %d of TaskD: the spec of %s does not declare it" % (pod_specs.TASKD_PORT, _named(without))])
    return Prechecks([], ["port %d of TaskD is declared in %s" % (pod_specs.TASKD_PORT, _specs(pods))], [])


def pods_of_job(pods: Sequence[Pod]) -> Prechecks:
    """Check what the pods of the job show: their phases, and the settings of TaskD, MindIO and process-level recovery."""
    recovery = _wrong_values(pods, "process_recovery", pod_specs.RECOVERY, lambda pod: pod.recovery, "its process started without process-level recovery")
    return _running(pods) + Prechecks(recovery, [], []) + _taskd(pods) + _mindio(pods) + _port(pods)


def _unchecked(texts: Iterable[str], reason: str) -> Prechecks:
    return Prechecks([], [], ["%s: %s" % (text, reason) for text in texts])


def job(make_api: Any, namespace: str, job_id: str) -> Prechecks:
    """Check the PodGroup and the pods of the job. Without a namespace, the pods are searched in that of the PodGroup, since a cluster may have very many."""
    try:
        api = make_api()
        group = next((item for item in api.items(kube.POD_GROUPS, "podgroups", namespace) if _of_job(item, job_id)), None)
    except HccnError as error:
        return _unchecked(_OF_GROUP + _OF_PODS, error.message)
    if group is None:
        return _unchecked(_OF_GROUP + _OF_PODS, "no PodGroup belongs to %s" % job_id)
    try:
        items = api.items("v1", "pods", namespace or group["metadata"].get("namespace", ""))
    except HccnError as error:
        return pod_group(group) + _unchecked(_OF_PODS, error.message)
    pods = sorted((pod_specs.read(item) for item in items if _of_job(item, job_id)), key=lambda pod: pod.name)
    return pod_group(group) + (pods_of_job(pods) if pods else _unchecked(_OF_PODS, "no pod belongs to %s" % job_id))


def run(nics: Nics, nodes: Mapping[str, Any], declared: Mapping[str, Any], make_api: Any, namespace: str, job_id: str) -> Prechecks:
    """Run all checks. ``make_api`` returns the Kubernetes API; if it raises HccnError, the checks of the job are unchecked."""
    of_nodes = products(nics, nodes, declared) + links(nics, nodes) + unknown_products(nics, nodes, declared)
    return of_nodes + job(make_api, namespace, job_id) + Prechecks([], [], list(ALWAYS_UNCHECKED))
