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
from . import jobs, options, server_codes
from .grpc_channel import Channel
from .subscription import Subscription

MAX_SIGNALS = 100
"""Signals of a watch that are kept: the first ones and the last one."""
MIN_JOB_ID, MAX_JOB_ID = 8, 128
"""Characters of a job id that the query accepts."""
MINDIE_ROLES = ("mindie-ms-server", "mindie-ms-controller", "mindie-ms-coordinator")
"""Roles with which ClusterD accepts the id of a MindIE job, the values of the label ``app`` of its pods."""
NOT_FOUND, NOT_EXIST = "not found fault info", "not exist and is not multi-instance"
"""Texts of ClusterD for an id that it does not know: with code 200 from a query, and as the refusal of a registration."""
QUEUE_S = 5
"""The longest time that a query of faults waits in the queue of ClusterD, which has 50 places."""
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


def _unknown_job(job_id: str, text: str) -> HccnError:
    return HccnError("unknown_job", "ClusterD has no job %s: %s" % (job_id, text),
                     "the id of a job is the UID of its Kubernetes object. The id of a MindIE job (its label jobID) is accepted only with watch, and with the "
                     "label app of its pods as role: %s. Just after a start, ClusterD does not know all jobs yet" % ", ".join(MINDIE_ROLES))


def query(channel: Channel, job_id: str, role: str) -> Dict[str, Any]:
    """Return ``faults`` of a job by node, or those of the cluster if ``job_id`` is empty, and ``info``, the text of ClusterD. Raises HccnError."""
    if job_id and not MIN_JOB_ID <= len(job_id) <= MAX_JOB_ID:
        raise InputError("job_id: ClusterD accepts ids of %d to %d characters, but %r has %d" % (MIN_JOB_ID, MAX_JOB_ID, job_id, len(job_id)))
    answer = channel.call("fault", "GetFaultMsgSignal", {"jobId": job_id, "role": role})
    if answer["code"] != server_codes.SUCCESS:
        raise HccnError("refused", "ClusterD refuses the query of faults: %s" % server_codes.describe(answer["code"], answer["info"]))
    if NOT_FOUND in answer["info"]:
        raise _unknown_job(job_id, answer["info"])
    return {"faults": _nodes(answer["faultSignal"]), "info": answer["info"]}


class Watch:
    """The signals of a subscription. Each signal has the whole state of one job, so ``faults`` merges the last signal of each job.

    ``signals`` are those that differ from the previous one of their job: the first ones and the last one. ``received`` counts all signals.
    """

    def __init__(self) -> None:
        self.signals: List[Dict[str, Any]] = []
        self.received = 0
        self._last: Dict[str, Dict[str, Any]] = {}

    def take(self, message: Mapping[str, Any]) -> None:
        self.received += 1
        job_id = message["jobId"]
        signal = {"job_id": job_id, "signal_type": message["signalType"], "faults": _nodes(message)}
        if self._last.get(job_id) == signal:
            return
        if job_id not in self._last and len(self._last) >= jobs.MAX_JOBS:
            raise HccnError("unexpected_output", "the server sent faults of more than %d jobs, the maximum of ClusterD" % jobs.MAX_JOBS,
                            "check that the server is ClusterD")
        self._last[job_id] = signal
        del self.signals[MAX_SIGNALS - 1:]
        self.signals.append(signal)

    @property
    def faults(self) -> List[Dict[str, Any]]:
        return [dict(node, job_id=job_id) for job_id, signal in self._last.items() for node in signal["faults"]]

    def as_dict(self) -> Dict[str, Any]:
        return {"faults": self.faults, "signals": self.signals, "received": self.received}


def _register(channel: Channel, job_id: str, role: str) -> None:
    try:
        status = channel.call("fault", "Register", {"jobId": job_id, "role": role})
    except HccnError as error:
        if NOT_EXIST not in error.message:
            raise
        if job_id:
            raise _unknown_job(job_id, error.message) from None
        raise HccnError("not_supported", "ClusterD 7.1 has no watch of the whole cluster: %s" % error.message,
                        "set job_id to watch one job, or query the cluster without watch") from None
    if status["code"] != server_codes.OK:
        raise HccnError("refused", "ClusterD refuses the registration for faults: %s" % server_codes.describe(status["code"], status["info"]))


def watch(channel: Channel, job_id: str, role: str, seconds: float, found: Watch) -> None:
    """Add the signals of ``seconds`` to ``found``. A lost stream is opened again. Raises HccnError, after which ``found`` has the signals until then."""
    request = {"jobId": job_id, "role": role}
    try:
        for signal in Subscription(channel, "fault", "SubscribeFaultMsgSignal", request, seconds, lambda: _register(channel, job_id, role)):
            found.take(signal)
    except HccnError as error:
        if error.code == "deadline":
            return
        raise
    raise HccnError("preempted", "the stream of faults ended early: another client has registered for the job%s" % (" with this role" if role else ""),
                    "query once without watch, or use another role (ClusterD 7.1 has one subscriber for each job, regardless of its role)")


def _warnings(params: Mapping[str, Any]) -> List[str]:
    if params["watch"] or params["timeout"] >= QUEUE_S:
        return []
    return ["timeout is %d s: ClusterD answers 10 queries of faults per second, and the others wait in a queue for up to %d s. Set timeout to %d or more"
            % (params["timeout"], QUEUE_S, QUEUE_S)]


def read(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the values of clusterd_fault_info, with ``failed`` if a watch ended early. Raises HccnError."""
    seconds = params["watch"]
    if seconds < 0:
        raise InputError("watch is %d, it must be a number of seconds, or 0 to query once" % seconds)
    if seconds and not params["confirm"]:
        raise InputError("watch may end the stream of another subscriber: set confirm to true to allow this")
    options.check_job_id(params["job_id"])
    with Channel(options.server_of(params), params["timeout"]) as channel:
        if not seconds:
            return dict(query(channel, params["job_id"], params["role"]), warnings=_warnings(params))
        found = Watch()
        try:
            watch(channel, params["job_id"], params["role"], seconds, found)
        except HccnError as error:
            if not found.received and error.code != "preempted":
                raise
            return dict(found.as_dict(), failed=True, msg=error.sentence(), error=error.as_dict())
    return found.as_dict()
