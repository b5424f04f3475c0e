# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The pods of a fabric check in Kubernetes: one per node, with its devices, in which Ansible runs the modules that it otherwise runs on the node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.problems import Problem, as_dicts
from ...module_utils._fabric.journal import DEFAULT_STATE_DIR
from ...module_utils._perf.perftest_options import PERFTEST, ROCE_TEST, TOOLS
from . import kube_rules, pods
from .pods import Manifest
from .settings import ASCEND, ASCEND_MOUNTS, PodSettings, dictionary, typed

ROLE = "runner"
CONTAINER = "runner"
HOST_ANNOTATION = "hccn.cluster/host"
GROUP_API = "scheduling.volcano.sh/v1beta1"
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
VOLCANO = "volcano"
DEVICES = 8

WAIT_SCRIPT = """\
trap 'exit 0' TERM
sleep "$1" &
wait
"""
"""Ends at once when the pod is deleted. A process with PID 1 ignores TERM without a handler."""


@dataclass(frozen=True, kw_only=True)
class Runners(PodSettings):
    """``hosts`` are inventory names in the order of ``nodes``, by default the names of the nodes. ``lifetime`` is in seconds."""

    name: str = "hccn-fabric"
    tool: str = ROCE_TEST
    hosts: tuple[str, ...] = ()
    queue: str = ""
    lifetime: int = 7200
    state_dir: str = DEFAULT_STATE_DIR
    host_network: bool = True
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def deadline(self) -> int:
        return self.lifetime


def read(given: Any) -> Runners:
    """Return the settings of the runners. Raises InputError for unknown keys, wrong types and invalid values."""
    values = dictionary(given, "the runners")
    known = {one.name: one for one in fields(Runners) if one.name != "one_per_node"}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise InputError(f"unknown keys: {', '.join(unknown)}", f"valid keys are {', '.join(sorted(known))}")
    if not values.get("image"):
        raise InputError("image is missing", "give an image that contains python3 and a shell")
    found = Runners(**{name: typed(name, value, str(known[name].type)) for name, value in values.items()})
    if not found.nodes:
        raise InputError("nodes is empty", "give the nodes to check")
    for name in ("nodes", "hosts"):
        names = getattr(found, name)
        if len(set(names)) != len(names):
            raise InputError(f"{name} has a duplicate")
    if found.hosts and len(found.hosts) != len(found.nodes):
        raise InputError(f"hosts has {len(found.hosts)} names for {len(found.nodes)} nodes", "give one name per node, in the same order")
    for name in ("lifetime",):
        if getattr(found, name) < 1:
            raise InputError(f"{name} is {getattr(found, name)}, it must be 1 or more")
    if found.tool not in TOOLS:
        raise InputError(f"tool is {found.tool!r}", f"valid values are {', '.join(TOOLS)}")
    if found.tool == PERFTEST and not (found.resource or found.resources or found.security_context.get("privileged")):
        raise InputError("perftest needs the RDMA device of the node in the pod", "give it as a resource of the device plugin, such as "
                         "resources: {rdma/hca_shared_devices_a: 1}, or set privileged in security_context")
    if not found.state_dir.startswith("/"):
        raise InputError(f"state_dir {found.state_dir!r} is not an absolute path")
    state = {"name": "hccn-state", "host_path": found.state_dir, "type": "DirectoryOrCreate", "read_only": False}
    # Only roce_test uses NPUs, and the files of the driver. RDMA needs locked memory.
    npus = found.tool == ROCE_TEST
    locked = {"capabilities": {"add": ["IPC_LOCK"]}} if found.tool == PERFTEST else {}
    return replace(found, hosts=found.hosts or found.nodes, resource=found.resource or (ASCEND if npus else ""),
                   devices_per_pod=found.devices_per_pod or (DEVICES if npus else 1), security_context=found.security_context or locked,
                   scheduler=found.scheduler or (VOLCANO if found.queue else ""), mounts=(*(found.mounts or (ASCEND_MOUNTS if npus else ())), state))


def pod_name(runners: Runners, index: int) -> str:
    return f"{runners.name}-{index}"


def manifests(runners: Runners) -> list[Manifest]:
    """Return the pod group if there is a queue, then the pods in the order of the nodes."""
    return [*([_group(runners)] if runners.queue else []), *(_pod(runners, index) for index in range(len(runners.nodes)))]


def _group(runners: Runners) -> Manifest:
    """Return the pod group. A busy node does not block the others, since each pod is useful by itself."""
    spec: Manifest = {"minMember": 1, "queue": runners.queue}
    if runners.priority_class:
        spec["priorityClassName"] = runners.priority_class
    return {"apiVersion": GROUP_API, "kind": "PodGroup", "metadata": pods.metadata(runners), "spec": spec}


def _pod(runners: Runners, index: int) -> Manifest:
    whole = pods.metadata(runners)
    whole["name"] = pod_name(runners, index)
    whole["labels"] = {**whole["labels"], pods.ROLE_LABEL: ROLE}
    whole["annotations"] = {**runners.annotations, HOST_ANNOTATION: runners.hosts[index], **({GROUP_ANNOTATION: runners.name} if runners.queue else {})}
    container: Manifest = {
        "name": CONTAINER, "image": runners.image, "imagePullPolicy": runners.image_pull_policy,
        "command": ["/bin/sh", "-c", pods.literal(WAIT_SCRIPT), "wait", str(runners.lifetime)],
    }
    if runners.resource.startswith("huawei.com/"):
        container["env"] = [pods.field_of_pod("ASCEND_VISIBLE_DEVICES", f"metadata.annotations['{runners.resource}']")]
    spec = pods.device_spec(runners, container, pods.volumes_of_host(runners), pods.affinity(replace(runners, nodes=(runners.nodes[index],)), ROLE))
    if runners.priority_class:
        spec["priorityClassName"] = runners.priority_class
    return {"apiVersion": "v1", "kind": "Pod", "metadata": whole, "spec": spec}


def problems(objects: list[Manifest]) -> list[Problem]:
    """Return the problems for which the cluster would refuse the objects."""
    found: list[Problem] = []
    for one in objects:
        found += [*kube_rules.nulls(one), *kube_rules.names(one["metadata"]), *kube_rules.metadata(one["metadata"], "metadata")]
        if one["kind"] == "Pod":
            found += [*kube_rules.pod_name(one["metadata"]["name"], "metadata.name"), *kube_rules.template({"spec": one["spec"]}, one["metadata"]["name"])]
    return list(dict.fromkeys(found))


def planned(runners: Runners) -> dict[str, Any]:
    """Return the value of the filter runner_pods."""
    objects = manifests(runners)
    return {"name": runners.name, "namespace": runners.namespace, "container": CONTAINER, "deadline": runners.deadline, "objects": objects,
            "pods": {host: pod_name(runners, index) for index, host in enumerate(runners.hosts)}, "problems": as_dicts(problems(objects))}
