# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The options and the required packages that the modules for ClusterD and Kubernetes share."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core.errors import InputError
from .._core.words import printable
from . import grpc_channel, kube, kube_access, wire


def server_options(required: bool = False) -> Dict[str, Any]:
    """Return the options of doc_fragments/_clusterd.py."""
    return {
        "server": {"type": "str", "required": True} if required else {"type": "str"},
        "ca_cert": {"type": "path"},
        "client_cert": {"type": "path"},
        "client_key": {"type": "path"},
        "server_name": {"type": "str"},
        "tls": {"type": "bool", "default": False},
        "timeout": {"type": "int", "default": 30},
    }


def check_job_id(job_id: str) -> None:
    """Raise InputError for an id that ClusterD refuses or has no job for: the ids of jobs are UIDs or labels of Kubernetes, which are ASCII."""
    foreign = sorted({character for character in job_id if not "!" <= character <= "~"})
    if foreign:
        raise InputError("job_id: ClusterD accepts only ASCII characters without spaces, but %s contains %s" % (
            printable(job_id), printable(" ".join(foreign))), "the id of a job is the UID of its Kubernetes object, or the label jobID of a MindIE job")


def kubernetes_options() -> Dict[str, Any]:
    return {"kubeconfig": {"type": "path"}, "context": {"type": "str"}, "namespace": {"type": "str"}}


def topology_option() -> Dict[str, Any]:
    """Return the option of doc_fragments/_clusterd_topology.py."""
    qdd = {"qdd": {"type": "str", "required": True}, "backup": {"type": "str"}, "ports": {"type": "dict", "required": True}}
    leaf = {"leaf": {"type": "str", "required": True}, "backup": {"type": "str"}, "nodes": {"type": "list", "elements": "str"},
            "qdds": {"type": "list", "elements": "dict", "required": True, "options": qdd}}
    return {"type": "list", "elements": "dict", "options": leaf}


def server_of(params: Mapping[str, Any]) -> grpc_channel.Server:
    return grpc_channel.Server(address=params["server"], tls=params["tls"], ca=params["ca_cert"] or "", certificate=params["client_cert"] or "",
                               key=params["client_key"] or "", name=params["server_name"] or "")


def api_of(params: Mapping[str, Any]) -> kube.Api:
    """Raises HccnError."""
    return kube.Api(params["kubeconfig"] or "", params["context"] or "", params["timeout"])


def missing(grpc: bool, kubernetes: bool) -> List[Tuple[str, Optional[str]]]:
    """Return the required packages that are missing, with the traceback of their import."""
    wanted = [("grpcio", grpc_channel.GRPC_ERROR), ("protobuf", wire.PROTOBUF_ERROR)] if grpc else []
    wanted += [("PyYAML", kube_access.YAML_ERROR)] if kubernetes else []
    return [(name, error) for name, error in wanted if error]
