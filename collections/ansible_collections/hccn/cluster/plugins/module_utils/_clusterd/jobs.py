# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read the jobs that ClusterD knows, from its ConfigMaps ``job-summary-*``, which affects no other client, or over gRPC.

Source: Ascend/mind-cluster component/clusterd/pkg/domain/job/job_cm_util.go, pkg/application/jobinfo/job_grpc_service.go.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Mapping, Optional, Set

from .._core.errors import HccnError
from .._core.numbers import is_count
from .._rank_table.json_fields import entries
from . import kube, leaf_topology, options, server_codes
from .grpc_channel import Channel

SUMMARY_LABEL = "outside-job-info=true"
SUMMARY_PREFIX = "job-summary-"
MAX_PARTS = 1000
"""ConfigMaps of one job."""
RELEASE_S = 0.5
MAX_JOBS = 10000
"""The number of jobs that ClusterD serves (MaxServeJobs)."""
RUNNING, PENDING = "running", "pending"
DELETED = "delete"


def _servers(text: str, status: str, total: int) -> Optional[List[Dict[str, Any]]]:
    """Return the hosts with their devices in the ``hccl.json`` of a job.

    None if they are unknown: for a pending job, and a job of more than 40000 NPUs, of which a message has no table. A job without NPUs has an empty text.
    """
    if not text and status != PENDING and total == 1:
        return []
    try:
        servers = json.loads(text)["server_list"]
        return [_server(server) for server in servers]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # any account that may write a ConfigMap with the label may have written the text


def _server(server: Mapping[str, Any]) -> Dict[str, Any]:
    ids = [str(device.get("device_id", "")) for device in server.get("device") or ()]
    return {"node": str(server.get("server_name") or ""), "address": str(server.get("server_id", "")), "devices": [int(one) for one in ids if is_count(one)]}


def _number(data: Mapping[str, str], key: str, default: int) -> int:
    text = data.get(key) or ""
    return int(text) if is_count(text) else default


def _job(job_id: str, *, name: str, namespace: str, status: str, framework: str, deleted: bool, nodes: Optional[List[Dict[str, Any]]]) -> Dict[str, Any]:
    return {"job_id": job_id, "name": name, "namespace": namespace, "status": status, "framework": framework, "deleted": deleted, "nodes": nodes}


def _nodes(parts: Mapping[int, Mapping[str, str]], total: int, status: str) -> Optional[List[Dict[str, Any]]]:
    """Return the hosts of a job whose table ClusterD split into ``total`` ConfigMaps, by ``cm_index``. Parts of an earlier, larger table are ignored."""
    found: List[Dict[str, Any]] = []
    for place in range(total):
        nodes = _servers(parts[place].get("hccl.json") or "", status, total) if place in parts else None
        if nodes is None:
            return None
        found += nodes
    return found


def from_config_maps(api: kube.Api, namespace: str) -> List[Dict[str, Any]]:
    """Return all jobs of a namespace, or of all namespaces if it is empty, sorted by namespace and name. Each has ``stale``, see ``_mark_stale``."""
    parts: Dict[str, List[Dict[str, Any]]] = {}
    for item in sorted(api.items("v1", "configmaps", namespace, SUMMARY_LABEL), key=kube.name_of):
        data = item.get("data") or {}
        if item["metadata"]["name"].startswith(SUMMARY_PREFIX) and data.get("job_id"):
            parts.setdefault(data["job_id"], []).append(item)
    found = []
    for job_id, items in parts.items():
        by_index: Dict[int, Mapping[str, str]] = {}
        for item in items:
            by_index.setdefault(_number(item["data"], "cm_index", 0), item["data"])
        first = by_index[min(by_index)]
        total, status = min(_number(first, "total", 1), MAX_PARTS), first.get("job_status", "")
        found.append(_job(job_id, name=first.get("job_name", ""), namespace=items[0]["metadata"].get("namespace", ""), status=status,
                          framework=first.get("framework", ""), deleted=first.get("operator", "") == DELETED, nodes=_nodes(by_index, total, status)))
    _mark_stale(api, namespace, found)
    return found


def _owners(items: Iterable[Mapping[str, Any]]) -> Set[str]:
    """Return the UIDs of objects and of those that control them: one of them is the id of their job."""
    found: Set[str] = set()
    for item in items:
        metadata = item.get("metadata")
        for owner in entries(metadata, "ownerReferences") if isinstance(metadata, dict) else ():
            if owner.get("controller"):
                found.add(str(owner.get("uid")))
        if isinstance(metadata, dict):
            found.add(str(metadata.get("uid")))
    return found


def _mark_stale(api: kube.Api, namespace: str, found: Iterable[Dict[str, Any]]) -> None:
    """Set ``stale`` of all jobs: whether a running job has neither a PodGroup nor a pod. None if neither could be listed.

    A job that is deleted while ClusterD does not run keeps a ConfigMap with the status running.
    """
    suspects = []
    for job in found:
        job["stale"] = False
        if job["status"] == RUNNING and not job["deleted"]:
            suspects.append(job)
    stale: Optional[bool] = None
    for group, plural in ((kube.POD_GROUPS, "podgroups"), ("v1", "pods")):
        if not suspects:
            return
        try:
            owners = _owners(api.items(group, plural, namespace))
        except HccnError:
            continue
        stale = True
        suspects = [job for job in suspects if job["job_id"] not in owners]
    for job in suspects:
        job["stale"] = stale


def _from_signal(signal: Mapping[str, str]) -> Dict[str, Any]:
    total = _number(signal, "total", 1)
    return _job(signal["jobId"], name=signal["jobName"], namespace=signal["namespace"], status=signal["jobStatus"], framework=signal["frameWork"],
                deleted=signal["operator"] == DELETED, nodes=_servers(signal["HcclJson"], signal["jobStatus"], total))


def _listed(messages: Any, seconds: float) -> List[Dict[str, Any]]:
    """Return the jobs of the first messages of a list. Raises HccnError."""
    found: Dict[str, Dict[str, Any]] = {}
    try:
        for message in messages:
            for signal in message["jobSummarySignals"]:
                found.setdefault(signal["jobId"], _from_signal(signal))
            if len(found) > MAX_JOBS:
                raise HccnError("unexpected_output", "the server sent more than %d jobs, the maximum of ClusterD" % MAX_JOBS,
                                "check that the server is ClusterD")
            if len(found) >= message["JobTotalNum"]:
                break
    except HccnError as error:
        # The stream sends no message if there are no jobs.
        if error.code != "deadline":
            raise
        if found:
            raise HccnError("incomplete", "ClusterD sent %d jobs within %g s, but announced more" % (len(found), seconds), "raise wait") from None
    return list(found.values())


_NO_PLACE = ("ClusterD up to 7.3.0 has 20 places for clients of jobs, and a client that registers without subscribing keeps its place until ClusterD restarts: "
             "use source configmap")


def _release(channel: Channel, client: Mapping[str, str]) -> None:
    """End the registration at a ClusterD before 26.0, which has no list: its place is free again only after a subscription."""
    try:
        for _message in channel.stream("job", "SubscribeJobSummarySignal", client, RELEASE_S):
            pass
    except HccnError:
        pass


def over_grpc(channel: Channel, role: str, seconds: float) -> List[Dict[str, Any]]:
    """Return all jobs from the first messages of a subscription. It registers a new client, so the streams of others continue. Raises HccnError."""
    status = channel.call("job", "Register", {"role": role})
    if status["code"] != server_codes.SUCCESS:
        raise HccnError("refused", "ClusterD refuses the registration of %s: %s" % (role, server_codes.describe(status["code"], status["info"])), _NO_PLACE)
    client = {"role": role, "clientId": status["clientId"]}
    stream = channel.stream("job", "SubscribeJobSummarySignalList", client, seconds)
    try:
        return _listed(stream, seconds)
    except HccnError as error:
        if error.code == "not_implemented":
            _release(channel, client)
            raise HccnError(error.code, error.message, "lists of jobs need ClusterD 26.0: use source configmap") from None
        if error.code == "too_large":
            raise HccnError(error.code, "the list of jobs is larger than the 8 MiB that ClusterD can send: %s" % error.message,
                            "use source configmap") from None
        raise
    finally:
        stream.close()


def on_devices(jobs: Iterable[Mapping[str, Any]], wanted: Mapping[str, List[int]], everywhere: Optional[List[int]]) -> List[Dict[str, Any]]:
    """Return the running jobs that use any of the devices, each with ``nics``. ``wanted`` holds devices by node, ``everywhere`` those of all other nodes.

    Running jobs with unknown devices are included, with ``nics`` None.
    """
    found = []
    for job in jobs:
        if job["status"] != RUNNING or job["deleted"] or job.get("stale"):
            continue
        if job["nodes"] is None:
            found.append(dict(job, nics=None))
            continue
        nics = []
        for node in job["nodes"]:
            devices = [device for device in wanted.get(node["node"], everywhere or []) if device in node["devices"]]
            if devices:
                nics.append({"node": node["node"], "devices": devices})
        if nics:
            found.append(dict(job, nics=nics))
    return found


def read(params: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """Return the jobs of clusterd_job_info. Raises HccnError."""
    on_leaf = leaf_topology.on_leaf(params["topology"], params["leaf"]) if params["leaf"] else None
    if params["source"] == "configmap":
        found = from_config_maps(options.api_of(params), params["namespace"] or "")
    else:
        with Channel(options.server_of(params), params["timeout"]) as channel:
            found = over_grpc(channel, params["role"], params["wait"])
        found = [job for job in found if params["namespace"] in (None, "", job["namespace"])]
    return found if on_leaf is None else on_devices(found, *on_leaf)
