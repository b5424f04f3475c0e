# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Assemble the rank table of a job from its ConfigMaps ``rings-config-*`` as ClusterD does. ClusterD is not called, so no subscriber loses its stream.

Source: Ascend/mind-cluster component/clusterd/pkg/domain/epranktable/ranktable_util.go. Unlike ClusterD, this numbers the instances by the names of their
ConfigMaps, so that their groups stay the same, and it reports what ClusterD leaves out silently.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import HccnError, ParseError
from .._core.problems import Problem
from .._rank_table import config_map, document, global_table
from .._rank_table.model import COMPLETED
from . import kube

PREFIX = "rings-config-"
JOB_LABEL = "jobID"
APP_LABEL = "app"
COORDINATOR_APP, CONTROLLER_APP = "mindie-ms-coordinator", "mindie-ms-controller"
SINGLE_NODE, CROSS_NODE = "grt-server/deploy-server", "grt-group/deploy-server"
"""Labels of a ConfigMap. With SINGLE_NODE, instances have one server each and are all in one group; with CROSS_NODE, each instance is a group."""
_SINGLE_NODE_VERSION = "1.0"


class Instance(NamedTuple):
    """One ConfigMap. ``table`` is empty if it cannot be read."""

    name: str
    labels: Mapping[str, str]
    table: Mapping[str, Any]
    problems: Tuple[Problem, ...]

    @property
    def completed(self) -> bool:
        return self.table.get("status") == COMPLETED

    def as_dict(self) -> Dict[str, Any]:
        """Return an element of the return value ``instances``."""
        return {"config_map": self.name, "status": self.table.get("status", ""),
                "deploy_server": self.labels.get(CROSS_NODE, self.labels.get(SINGLE_NODE, "")),
                "servers": len(self.table.get("server_list") or ())}


def _instance(item: Dict[str, Any]) -> Instance:
    name, labels = kube.name_of(item), kube.labels_of(item)
    try:
        packed = config_map.unpack(dict(item, kind="ConfigMap"))
        table = packed.table if packed else {}
        parsed: Mapping[str, Any] = document.parse(table) if isinstance(table, str) else table
        _require_servers(parsed)
    except ParseError as error:
        return Instance(name, labels, {}, (Problem("config_map", "error", error.message, where=name, hint=error.hint or None, reader="clusterd"),))
    return Instance(name, labels, parsed, ())


def _require_servers(table: Mapping[str, Any]) -> None:
    """Raise ParseError for a completed table with malformed servers or devices."""
    if table.get("status") != COMPLETED:
        return
    servers = table.get("server_list")
    if not isinstance(servers, list) or not all(isinstance(server, dict) for server in servers):
        raise ParseError("the rank table is completed, but its server_list is not a list of servers")
    for server in servers:
        devices = server.get("device", [])
        if not isinstance(devices, list) or not all(isinstance(device, dict) for device in devices):
            raise ParseError("the key device of a server in the rank table is not a list of devices")


def instances(api: kube.Api, namespace: str, job_id: str, job_name: str) -> List[Instance]:
    """Return the ConfigMaps of a job, by the label of a MindIE job or by name. Raises HccnError ``no_rank_table`` if there are none."""
    labels = "%s=%s" % (JOB_LABEL, job_id) if job_id else ""
    found = [item for item in api.items("v1", "configmaps", namespace, labels) if (item.get("metadata") or {}).get("name", "").startswith(PREFIX)]
    if job_name:
        found = [item for item in found if item["metadata"]["name"] == PREFIX + job_name]
    if not found:
        name = "%s%s" % (PREFIX, job_name or "*") + (" with the label %s=%s" % (JOB_LABEL, job_id) if job_id else "")
        raise HccnError("no_rank_table", "there is no ConfigMap %s in the namespace %s" % (name, namespace),
                        "check the namespace; Ascend Operator creates the ConfigMap for jobs that mount it")
    return [_instance(item) for item in sorted(found, key=kube.name_of)]


def _pods(api: kube.Api, namespace: str, job_id: str) -> Dict[str, List[Dict[str, str]]]:
    """Return host and pod addresses of the scheduled coordinators and controllers, by app."""
    found: Dict[str, List[Dict[str, str]]] = {COORDINATOR_APP: [], CONTROLLER_APP: []}
    for pod in sorted(api.items("v1", "pods", namespace, "%s=%s" % (JOB_LABEL, job_id)), key=kube.name_of):
        app, status = kube.labels_of(pod).get(APP_LABEL, ""), pod.get("status") or {}
        if app in found and status.get("hostIP") and status.get("podIP"):
            found[app].append({"server_id": status["hostIP"], "server_ip": status["podIP"]})
    return found


def _servers(instance: Instance) -> List[Dict[str, Any]]:
    servers = []
    for server in instance.table.get("server_list") or ():
        # Older Ascend Operators write the address as server_id, newer ones as host_ip.
        fields: Dict[str, Any] = {"server_id": server.get("host_ip", server.get("server_id", "")), "server_ip": server.get("container_ip", "")}
        if server.get("hardware_type"):
            fields["hardware_type"] = server["hardware_type"]
        fields["device"] = [dict(device, device_logical_id=str(place)) for place, device in enumerate(server.get("device") or ())]
        servers.append(fields)
    return servers


def _groups(complete: Sequence[Instance]) -> Iterator[Dict[str, Any]]:
    if complete and SINGLE_NODE in complete[0].labels:
        servers = [dict(server, deploy_server=one.labels.get(SINGLE_NODE, "")) for one in complete for server in _servers(one)[:1]]
        yield {"group_id": str(global_table.FIRST_INSTANCE), "server_count": str(len(servers)), "server_list": servers}
        return
    for place, one in enumerate(complete):
        servers = _servers(one)
        group: Dict[str, Any] = {"group_id": str(place + global_table.FIRST_INSTANCE), "deploy_server": one.labels.get(CROSS_NODE, ""),
                                 "server_count": str(len(servers)), "server_list": servers}
        if one.table.get("super_pod_list"):
            group["super_pod_list"] = one.table["super_pod_list"]
        yield group


def _labels_wrong(instance: Instance) -> Optional[Problem]:
    modes = [label for label in (SINGLE_NODE, CROSS_NODE) if label in instance.labels]
    if len(modes) == 1:
        return None
    reason = "both labels %s and %s" % (SINGLE_NODE, CROSS_NODE) if modes else "neither label %s nor %s" % (SINGLE_NODE, CROSS_NODE)
    return Problem("deploy_server_label", "error", "the ConfigMap has %s: ClusterD sends no table of this job at all" % reason, where=instance.name,
                   hint="label the instance as the deployment of MindIE-Motor does", reader="clusterd")


def _left_out(found: Sequence[Instance]) -> Iterator[Problem]:
    for one in found:
        wrong = _labels_wrong(one)
        if wrong is not None:
            yield wrong
        yield from one.problems
        if not one.completed and not one.problems:
            yield Problem("instance_incomplete", "warning", "the instance is %s, so it is not in the table; ClusterD omits it without an error"
                          % (one.table.get("status") or "without a status"), where=one.name, hint="wait until its pods are scheduled", reader="clusterd")


def global_of(api: kube.Api, namespace: str, job_id: str, found: Sequence[Instance]) -> Tuple[Dict[str, Any], List[Problem]]:
    """Return the global table of a MindIE job, and what ClusterD would do without or refuse. Raises HccnError ``no_rank_table`` if no instance is complete."""
    problems = list(_left_out(found))
    complete = [one for one in found if one.completed]
    if not complete:
        raise HccnError("no_rank_table", "no instance of job %s is complete yet: %s" % (job_id, ", ".join(one.name for one in found)),
                        "wait until their pods are scheduled")
    pods = _pods(api, namespace, job_id)
    groups: List[Dict[str, Any]] = []
    for group, app in ((global_table.COORDINATOR, COORDINATOR_APP), (global_table.CONTROLLER, CONTROLLER_APP)):
        if not pods[app]:
            problems.append(Problem("app_missing", "error", "no pod of %s with the label %s=%s is scheduled: ClusterD sends no table without it" % (
                app, JOB_LABEL, job_id), hint="wait for the pod, or find out why it is not scheduled", reader="clusterd"))
        groups.append({"group_id": group, "server_count": str(len(pods[app])), "server_list": pods[app]})
    single = SINGLE_NODE in complete[0].labels
    versions = sorted({str(one.table.get("version", "")) for one in complete})
    if len(versions) > 1:
        problems.append(Problem("versions_differ", "error", "the instances have tables of the versions %s: ClusterD uses the version of one of them" % (
            " and ".join(versions)), reader="clusterd"))
    table = {"version": _SINGLE_NODE_VERSION if single else str(complete[0].table.get("version", "")), "status": COMPLETED,
             "server_group_list": groups + list(_groups(complete))}
    return table, problems


def single_of(found: Sequence[Instance]) -> Dict[str, Any]:
    """Return the table of a job with one ConfigMap. Raises HccnError ``no_rank_table`` if it is not complete."""
    one = found[0]
    if one.problems or not one.completed:
        reason = one.problems[0].message if one.problems else "it is %s" % (one.table.get("status") or "without a status")
        raise HccnError("no_rank_table", "the ConfigMap %s contains no complete table: %s" % (one.name, reason),
                        "wait until the pods of the job are scheduled")
    return dict(one.table)
