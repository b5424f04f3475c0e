# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read the jobs that ClusterD knows, from its ConfigMaps ``job-summary-*``, which affects no other client, or over gRPC.

Source: Ascend/mind-cluster component/clusterd/pkg/domain/job/job_cm_util.go, pkg/application/jobinfo/job_grpc_service.go.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Mapping, Optional

from .._core.errors import HccnError
from .._core.numbers import is_count
from . import kube, leaf_topology, options, server_codes
from .grpc_channel import Channel

SUMMARY_LABEL = "outside-job-info=true"
SUMMARY_PREFIX = "job-summary-"
MAX_JOBS = 10000
"""The number of jobs that ClusterD serves (MaxServeJobs)."""
RUNNING = "running"
DELETED = "delete"


def _servers(text: str) -> Optional[List[Dict[str, Any]]]:
    """Return the hosts with their devices in the ``hccl.json`` of a job; None if there is none, as for jobs of more than 40000 NPUs."""
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


def _job(job_id: str, *, name: str, namespace: str, status: str, framework: str, operator: str, hccl: str) -> Dict[str, Any]:
    return {"job_id": job_id, "name": name, "namespace": namespace, "status": status, "framework": framework, "deleted": operator == DELETED,
            "nodes": _servers(hccl)}


def _joined(parts: List[Mapping[str, str]]) -> str:
    """Return the ``hccl.json`` of a job whose table ClusterD split into several ConfigMaps, each with some of the servers."""
    if len(parts) == 1:
        return parts[0].get("hccl.json", "")
    servers: List[Any] = []
    for part in parts:
        try:
            servers += json.loads(part.get("hccl.json", "")).get("server_list") or []
        except (ValueError, AttributeError, TypeError, RecursionError):
            return ""
    return json.dumps({"server_list": servers})


def from_config_maps(api: kube.Api, namespace: str) -> List[Dict[str, Any]]:
    """Return all jobs of a namespace, or of all namespaces if it is empty, sorted by namespace and name."""
    parts: Dict[str, List[Dict[str, Any]]] = {}
    for item in sorted(api.items("v1", "configmaps", namespace, SUMMARY_LABEL), key=kube.name_of):
        data = item.get("data") or {}
        if item["metadata"]["name"].startswith(SUMMARY_PREFIX) and data.get("job_id"):
            parts.setdefault(data["job_id"], []).append(item)
    found = []
    for job_id, items in parts.items():
        data = sorted((item["data"] for item in items), key=lambda one: _number(one, "cm_index", 0))
        first = data[0]
        total = _number(first, "total", 1)
        found.append(_job(job_id, name=first.get("job_name", ""), namespace=items[0]["metadata"].get("namespace", ""), status=first.get("job_status", ""),
                          framework=first.get("framework", ""), operator=first.get("operator", ""), hccl=_joined(data) if len(data) >= total else ""))
    return found


def _from_signal(signal: Mapping[str, str]) -> Dict[str, Any]:
    return _job(signal["jobId"], name=signal["jobName"], namespace=signal["namespace"], status=signal["jobStatus"], framework=signal["frameWork"],
                operator=signal["operator"], hccl=signal["HcclJson"])


def over_grpc(channel: Channel, role: str, seconds: float) -> List[Dict[str, Any]]:
    """Return all jobs from the first messages of a subscription. It registers a new client, so the streams of others continue. Raises HccnError."""
    status = channel.call("job", "Register", {"role": role})
    if status["code"] != server_codes.SUCCESS:
        raise HccnError("refused", "ClusterD refuses the registration of %s: %s" % (role, server_codes.describe(status["code"], status["info"])))
    stream = channel.stream("job", "SubscribeJobSummarySignalList", {"role": role, "clientId": status["clientId"]}, seconds)
    found: Dict[str, Dict[str, Any]] = {}
    try:
        for message in stream:
            for signal in message["jobSummarySignals"]:
                found.setdefault(signal["jobId"], _from_signal(signal))
            if len(found) > MAX_JOBS:
                stream.close()
                raise HccnError("unexpected_output", "the server sent more than %d jobs, the maximum of ClusterD" % MAX_JOBS,
                                "check that the server is ClusterD")
            if len(found) >= message["JobTotalNum"]:
                stream.close()
                break
    except HccnError as error:
        # The stream sends no message if there are no jobs.
        if error.code != "deadline":
            raise
        if found:
            raise HccnError("incomplete", "ClusterD sent %d jobs within %g s, but announced more" % (len(found), seconds), "raise wait") from None
    return [found[job_id] for job_id in found]


def on_devices(jobs: Iterable[Mapping[str, Any]], wanted: Mapping[str, List[int]], everywhere: Optional[List[int]]) -> List[Dict[str, Any]]:
    """Return the running jobs that use any of the devices, each with ``nics``. ``wanted`` holds devices by node, ``everywhere`` those of all other nodes.

    Running jobs with unknown devices are included, with ``nics`` None.
    """
    found = []
    for job in jobs:
        if job["status"] != RUNNING or job["deleted"]:
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
