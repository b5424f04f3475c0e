# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of clusterd_rank_table_info: read the rank table of a job, from its ConfigMaps or from ClusterD, and check it."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .._core.errors import InputError
from .._core.problems import Problem, as_dicts, fails
from .._rank_table import checks
from . import options, rank_table_config_maps, rank_table_stream, server_version
from .grpc_channel import Channel

GLOBAL_READER, JOB_READER = "mindie_motor", "hccl"
"""The readers of a global table and of the table of one job."""
NOT_QUERIED = "the rank table: ClusterD is not queried in check mode, since that ends the stream of the job's subscriber; use source configmap instead"


def _checked(table: Mapping[str, Any], params: Mapping[str, Any]) -> List[Problem]:
    """Check a table by the readers of the options; without them, by the reader for which it was written."""
    named = params["readers"] is not None
    return checks.check(table, params["readers"] if named else [GLOBAL_READER if params["job_id"] else JOB_READER], named=named)


def _from_config_maps(params: Mapping[str, Any]) -> Dict[str, Any]:
    api = options.api_of(params)
    namespace, version = params["namespace"] or api.namespace, params["clusterd_version"]
    if version:
        server_version.parse(version)
    found = rank_table_config_maps.instances(api, namespace, params["job_id"] or "", params["job_name"] or "")
    listed = [one.as_dict() for one in found]
    if not params["job_id"]:
        table = rank_table_config_maps.single_of(found)
        return {"rank_table": table, "instances": listed, "problems": _checked(table, params)}
    built = rank_table_config_maps.global_of(api, namespace, params["job_id"], found, version)
    result: Dict[str, Any] = {"instances": listed, "clusterd_version": built.version, "problems": list(built.problems)}
    if built.table is not None:
        result.update(rank_table=built.table, problems=built.problems + _checked(built.table, params))
    return result


def _over_grpc(params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    if not params["confirm"]:
        raise InputError("source grpc registers for the job, which ends the stream of its present subscriber: set confirm to true to allow this, "
                         "or use source configmap")
    if params["wait"] < 1 or params["settle"] < 0:
        raise InputError("wait must be 1 s or more, and settle 0 s or more")
    # Opening the channel reads the TLS files; only the first call connects.
    with Channel(options.server_of(params), params["timeout"]) as channel:
        if check_mode:
            return {"messages": [], "received": 0, "preempted": False, "problems": [], "unchecked": [NOT_QUERIED]}
        received = rank_table_stream.subscribe(channel, params["job_id"], params["role"], params["wait"], params["settle"])
    return {"rank_table": received.table, "messages": received.messages, "received": received.received, "preempted": received.preempted,
            "problems": _checked(received.table, params)}


def read(params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """Return the values of clusterd_rank_table_info, with ``failed`` and ``msg`` according to ``fail_on``. Raises HccnError."""
    if params["job_id"]:
        options.check_job_id(params["job_id"])
    result = _over_grpc(params, check_mode) if params["source"] == "grpc" else _from_config_maps(params)
    problems: List[Problem] = result["problems"]
    if fails(problems, params["fail_on"]):
        result.update(failed=True, msg="the rank table has problems: " + checks.failure_message(problems))
    return dict(result, problems=as_dicts(problems))
