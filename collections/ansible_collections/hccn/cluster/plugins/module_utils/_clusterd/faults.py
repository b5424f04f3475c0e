# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read the faults that ClusterD knows, by a query or by a short subscription.

Source: Ascend/mind-cluster component/clusterd/pkg/application/fault/grpc_service.go. Newer versions register a subscription by job and role. Older versions
register it by job only, so a new subscription ends the stream of the previous subscriber.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping

from .._core.errors import HccnError, InputError
from . import options, server_codes
from .grpc_channel import Channel

MAX_SIGNALS = 100
"""Signals of a watch that are kept: the first ones and the last one."""
MIN_JOB_ID, MAX_JOB_ID = 8, 128
"""Characters of a job id that the query accepts."""
_UPPER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def _key(name: str) -> str:
    """Return ``node_ip`` for ``nodeIP``."""
    return _UPPER.sub("_", name).lower()


def _snake(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(key): _snake(one) for key, one in value.items()}
    return [_snake(one) for one in value] if isinstance(value, list) else value


def _nodes(signal: Mapping[str, Any]) -> List[Dict[str, Any]]:
    found = []
    for node in _snake(signal["nodeFaultInfo"]):
        node["devices"] = node.pop("fault_device")
        found.append(node)
    return found


def query(channel: Channel, job_id: str, role: str) -> List[Dict[str, Any]]:
    """Return the faults of a job by node, or those of the cluster if ``job_id`` is empty. Raises HccnError."""
    if job_id and not MIN_JOB_ID <= len(job_id) <= MAX_JOB_ID:
        raise InputError("job_id: ClusterD accepts ids of %d to %d characters, but %r has %d" % (MIN_JOB_ID, MAX_JOB_ID, job_id, len(job_id)))
    answer = channel.call("fault", "GetFaultMsgSignal", {"jobId": job_id, "role": role})
    if answer["code"] != server_codes.SUCCESS:
        raise HccnError("refused", "ClusterD refuses the query of faults: %s" % server_codes.describe(answer["code"], answer["info"]))
    return _nodes(answer["faultSignal"])


def watch(channel: Channel, job_id: str, role: str, seconds: float) -> List[Dict[str, Any]]:
    """Return ``signal_type`` and ``faults`` of the signals that a subscription received within ``seconds``. Raises HccnError."""
    status = channel.call("fault", "Register", {"jobId": job_id, "role": role})
    if status["code"] != server_codes.OK:
        raise HccnError("refused", "ClusterD refuses the registration for faults: %s" % server_codes.describe(status["code"], status["info"]))
    stream = channel.stream("fault", "SubscribeFaultMsgSignal", {"jobId": job_id, "role": role}, seconds)
    found: List[Dict[str, Any]] = []
    try:
        for signal in stream:
            entry = {"signal_type": signal["signalType"], "faults": _nodes(signal)}
            if not found or found[-1] != entry:
                del found[MAX_SIGNALS - 1:]
                found.append(entry)
    except HccnError as error:
        if error.code != "deadline":
            raise
        return found
    raise HccnError("preempted", "the stream of faults ended early: another client has registered for the job with this role",
                    "query once without watch, or use another role")


def read(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the values of clusterd_fault_info. Raises HccnError."""
    seconds = params["watch"]
    if seconds < 0:
        raise InputError("watch is %d, it must be a number of seconds, or 0 to query once" % seconds)
    if seconds and not params["confirm"]:
        raise InputError("watch may end the stream of another subscriber: set confirm to true to allow this")
    with Channel(options.server_of(params), params["timeout"]) as channel:
        if not seconds:
            return {"faults": query(channel, params["job_id"], params["role"])}
        signals = watch(channel, params["job_id"], params["role"], seconds)
    return {"faults": signals[-1]["faults"] if signals else [], "signals": signals}
