# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Assemble the rank table of a job from its ConfigMaps ``rings-config-*`` as ClusterD does. ClusterD is not called, so no subscriber loses its stream.

Source: Ascend/mind-cluster component/clusterd/pkg/domain/epranktable/ranktable_util.go, and tables of ClusterD 7.1.RC1 to 26.0.1. Unlike ClusterD, this numbers
the instances by the names of their ConfigMaps, so that their groups stay the same, and it reports what ClusterD omits, or why it sends nothing.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import HccnError, ParseError
from .._core.problems import Problem
from .._core.words import some
from .._rank_table import config_map, document, global_table
from .._rank_table.json_fields import entries
from .._rank_table.model import COMPLETED
from . import kube, server_version
from .rank_table_fields import Table, read_table

PREFIX = "rings-config-"
JOB_LABEL = "jobID"
APP_LABEL = "app"
VISIBLE_LABEL, VISIBLE = "mx-consumer-cim", "true"
"""ClusterD only sees ConfigMaps with this label."""
COORDINATOR_APP, CONTROLLER_APP, SERVER_APP = "mindie-ms-coordinator", "mindie-ms-controller", "mindie-ms-server"
DEPLOY_LABELS = ("grt-server/deploy-server", "grt-group/deploy-server")
"""A ConfigMap has one of them. Its value is ``deploy_server`` of the group; the two differ for MindIE-Motor only."""


class Instance(NamedTuple):
    """One ConfigMap. ``raw`` is the table as it was written, ``table`` the fields that ClusterD reads from that of a MindIE job.

    If it cannot be read, ``raw`` is empty, ``table`` is None and ``problem`` is the reason.
    """

    name: str
    labels: Mapping[str, str]
    table: Optional[Table]
    raw: Mapping[str, Any]
    problem: Optional[Problem]

    @property
    def status(self) -> str:
        return self.table.status if self.table else str(self.raw.get("status") or "")

    @property
    def completed(self) -> bool:
        return self.status == COMPLETED

    @property
    def visible(self) -> bool:
        return self.labels.get(VISIBLE_LABEL) == VISIBLE

    @property
    def deploy_server(self) -> str:
        return next((self.labels[label] for label in DEPLOY_LABELS if label in self.labels), "")

    def as_dict(self) -> Dict[str, Any]:
        """Return an element of the return value ``instances``."""
        return {"config_map": self.name, "status": self.status, "deploy_server": self.deploy_server,
                "servers": len(self.table.servers) if self.table else len(entries(self.raw, "server_list"))}


def _instance(item: Dict[str, Any], of_mindie: bool) -> Instance:
    name, labels = kube.name_of(item), kube.labels_of(item)
    try:
        raw = _raw(item, of_mindie)
        table = read_table(raw) if of_mindie else None
        if not of_mindie and raw.get("status") == COMPLETED and not isinstance(raw.get("server_list"), list):
            raise ParseError("the rank table is completed, but its server_list is not a list of servers")
    except ParseError as error:
        problem = Problem("config_map", "error", "%s%s" % (error.message, ": ClusterD sends no table of this job at all" if of_mindie else ""), where=name,
                          hint=error.hint or None, reader="clusterd")
        return Instance(name, labels, None, {}, problem)
    return Instance(name, labels, table, raw, None)


def _raw(item: Dict[str, Any], of_mindie: bool) -> Mapping[str, Any]:
    """Return the table as it was written. ClusterD reads only the key ``hccl.json``; other jobs may have another name for it."""
    if of_mindie:
        text = (item.get("data") or {}).get(config_map.KEY)
        if not isinstance(text, str):
            raise ParseError("the ConfigMap has no key %s" % config_map.KEY)
        return document.parse(text)
    packed = config_map.unpack(dict(item, kind="ConfigMap"))
    if packed is None:
        raise ParseError("the ConfigMap has no table")
    return document.parse(packed.table) if isinstance(packed.table, str) else packed.table


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
    return [_instance(item, bool(job_id)) for item in sorted(found, key=kube.name_of)]


class _Pods(NamedTuple):
    """``placed``: addresses of the coordinators or controllers, by app. ``problems``: why ClusterD sends no table."""

    placed: Dict[str, List[Dict[str, str]]]
    problems: List[Problem]


def _pods(api: kube.Api, namespace: str, job_id: str) -> _Pods:
    by_app: Dict[str, List[Dict[str, Any]]] = {COORDINATOR_APP: [], CONTROLLER_APP: [], SERVER_APP: []}
    for pod in sorted(api.items("v1", "pods", namespace, "%s=%s" % (JOB_LABEL, job_id)), key=kube.name_of):
        by_app.get(kube.labels_of(pod).get(APP_LABEL, ""), []).append(pod)
    found = _Pods({}, [])
    for app, pods in by_app.items():
        if not pods:
            found.problems.append(Problem("app_missing", "error", "there is no pod of %s with the label %s=%s: ClusterD sends no table without it" % (
                app, JOB_LABEL, job_id), hint="wait for the pod, or find out why it was not created", reader="clusterd"))
        if app != SERVER_APP:
            found.placed[app] = [address for address in map(_address, pods) if address["server_id"] and address["server_ip"]]
            unplaced = [kube.name_of(pod) for pod in pods if not all(_address(pod).values())]
            if unplaced:
                found.problems.append(Problem("app_not_placed", "error", "%s of %s %s no node or address yet: ClusterD sends no table until then" % (
                    some(unplaced), app, "has" if len(unplaced) == 1 else "have"), where=unplaced[0],
                    hint="wait until it is scheduled, or find out why it is not", reader="clusterd"))
    return found


def _address(pod: Dict[str, Any]) -> Dict[str, str]:
    status = pod.get("status") or {}
    return {"server_id": status.get("hostIP") or "", "server_ip": status.get("podIP") or ""}


def _pod_groups(api: kube.Api, namespace: str, job_id: str) -> List[Problem]:
    """Return a problem if the job has PodGroups with its label, but none of the coordinators or controllers. ClusterD finds both by their PodGroups."""
    try:
        groups = [kube.labels_of(group) for group in api.items(kube.POD_GROUPS, "podgroups", namespace, "%s=%s" % (JOB_LABEL, job_id))]
    except HccnError:
        return []
    apps = {labels.get(APP_LABEL) for labels in groups}
    message = "no PodGroup has the labels %s=%s and %s=%s: ClusterD sends no table without them"
    return [Problem("pod_group_label", "error", message % (JOB_LABEL, job_id, APP_LABEL, app),
                    hint="label the deployment of %s as that of MindIE-Motor does" % app, reader="clusterd")
            for app in (COORDINATOR_APP, CONTROLLER_APP) if groups and app not in apps]


def _labels_wrong(instance: Instance) -> Optional[Problem]:
    modes = [label for label in DEPLOY_LABELS if label in instance.labels]
    if len(modes) == 1:
        return None
    reason = "%s labels %s and %s" % (("both",) + DEPLOY_LABELS) if modes else "neither label %s nor %s" % DEPLOY_LABELS
    return Problem("deploy_server_label", "error", "the ConfigMap has %s: ClusterD sends no table of this job at all" % reason, where=instance.name,
                   hint="label the instance as the deployment of MindIE-Motor does", reader="clusterd")


def _silencing(visible: Sequence[Instance]) -> Iterator[Problem]:
    """Yield the problems of ConfigMaps, even of incomplete ones, for which ClusterD sends no table at all."""
    for one in visible:
        problem = one.problem or _labels_wrong(one)
        if problem is not None:
            yield problem


def _omitted(found: Sequence[Instance]) -> Iterator[Problem]:
    """Yield the ConfigMaps that are not in the table."""
    for one in found:
        if not one.visible:
            yield Problem("config_map_label", "warning", "the ConfigMap has no label %s=%s, so ClusterD does not see it: its instance is not in the table" % (
                VISIBLE_LABEL, VISIBLE), where=one.name, hint="add the label, as Ascend Operator does", reader="clusterd")
        elif one.table is not None and not one.completed:
            yield Problem("instance_incomplete", "warning", "the instance is %s, so it is not in the table; ClusterD omits it without an error"
                          % (one.table.status or "without a status"), where=one.name, hint="wait until its pods are scheduled", reader="clusterd")


class GlobalTable(NamedTuple):
    """``table`` is None if ClusterD sends none; ``problems`` has the reasons. ``version`` is that of ClusterD, None if it is unknown."""

    table: Optional[Dict[str, Any]]
    problems: List[Problem]
    version: Optional[str]


def _groups(complete: Sequence[Tuple[Instance, Table]], with_host_ip: bool) -> List[Dict[str, Any]]:
    return [table.group(str(place + global_table.FIRST_INSTANCE), one.deploy_server, with_host_ip) for place, (one, table) in enumerate(complete)]


def _version_matters(complete: Sequence[Tuple[Instance, Table]]) -> bool:
    return _groups(complete, True) != _groups(complete, False)


_VERSION_UNKNOWN = Problem(
    "clusterd_version", "warning", "the version of ClusterD is unknown: this is the table of 7.3.0 and newer, in which server_id is the host_ip of the "
    "ConfigMap. Older versions copy server_id",
    hint="set clusterd_version, or allow the account to list the pods of the namespace %s" % server_version.NAMESPACE,
    reader="clusterd")


def global_of(api: kube.Api, namespace: str, job_id: str, found: Sequence[Instance], version: Optional[str] = None) -> GlobalTable:
    """Return the global table of a MindIE job as ClusterD of this version sends it, by default of the version that runs in the cluster.

    Raises HccnError ``no_rank_table`` if no instance is complete.
    """
    visible = [one for one in found if one.visible]
    silencing, omitted = list(_silencing(visible)), list(_omitted(found))
    complete = [(one, one.table) for one in visible if one.table is not None and one.completed]
    if not complete and not silencing:
        raise HccnError("no_rank_table", "no instance of job %s is complete yet: %s" % (job_id, "; ".join(
            "%s: %s" % (problem.where, problem.message) for problem in omitted)), "wait until their pods are scheduled")
    pods = _pods(api, namespace, job_id)
    silencing += pods.problems + _pod_groups(api, namespace, job_id)
    known = version or server_version.probe(api)
    if silencing:
        return GlobalTable(None, silencing + omitted, known)
    versions = sorted({table.version for _config_map, table in complete})
    if len(versions) > 1:
        omitted.append(Problem("versions_differ", "error", "the instances have tables of the versions %s: ClusterD uses the version of one of them" % (
            " and ".join(versions)), reader="clusterd"))
    if known is None and _version_matters(complete):
        omitted.append(_VERSION_UNKNOWN)
    with_host_ip = known is None or server_version.parse(known) >= server_version.HOST_IP_SINCE
    fixed = [{"group_id": group, "server_count": str(len(pods.placed[app])), "server_list": pods.placed[app]}
             for group, app in ((global_table.COORDINATOR, COORDINATOR_APP), (global_table.CONTROLLER, CONTROLLER_APP))]
    table = {"version": complete[0][1].version, "status": COMPLETED, "server_group_list": fixed + _groups(complete, with_host_ip)}
    return GlobalTable(table, omitted, known)


def single_of(found: Sequence[Instance]) -> Dict[str, Any]:
    """Return the table of a job with one ConfigMap. Raises HccnError ``no_rank_table`` if it is not complete."""
    one = found[0]
    if not one.completed:
        reason = one.problem.message if one.problem else "it is %s" % (one.status or "without a status")
        raise HccnError("no_rank_table", "the ConfigMap %s contains no complete table: %s" % (one.name, reason),
                        "wait until the pods of the job are scheduled")
    return dict(one.raw)
