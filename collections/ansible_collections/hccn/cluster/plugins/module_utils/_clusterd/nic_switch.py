# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of clusterd_nic_switch: switch NPUs of a running job to their backup links, or back (SwitchNicTrack).

Code 0 only means that ClusterD accepted the request. The result is a single message of another stream, which can only be opened during the switch. ClusterD
keeps the result while the switch runs, so a lost stream is opened again. The request is never sent twice, since a switch is not idempotent and a failed switch
can end the job.
Source: Ascend/mind-cluster component/clusterd/pkg/application/recover/{om_service,om_controller}.go.
"""

from __future__ import annotations

import time
from typing import Any, Dict, Mapping, NamedTuple, Optional

from .._core.errors import HccnError, InputError
from .._core.problems import as_dicts
from . import kube, kube_access, leaf_topology, options, precheck, server_codes
from .grpc_channel import Channel
from .leaf_topology import Nics
from .subscription import Subscription

OPERATIONS: Mapping[str, bool] = {"failover": True, "switchback": False}
"""The value of ``op``, which is true for the backup link."""
NOT_SWITCHING = "is not swtiching nic"
"""The text of ClusterD (sic) if no switch of the job runs. After an accepted request it means that the result is lost."""
NOT_CONNECTED = "failed to connect"
"""The beginning of gRPC's message if there was no connection."""

FINISHED, FAILED, REFUSED, UNKNOWN, NOT_SENT = "finished", "failed", "refused", "unknown", "not_sent"
STOPPED, FORESEEN = "stopped", "foreseen"


class Outcome(NamedTuple):
    """The outcome of a switch. ``code`` and ``info`` are those of the answer, if there was one; ``result`` is the text of the result message.

    ``why`` and ``error`` are the reason for an unknown result, or for a request that did not reach ClusterD.
    """

    status: str
    code: Optional[int]
    info: str
    result: str
    why: str = ""
    error: Optional[HccnError] = None

    @property
    def distributed(self) -> bool:
        return self.status not in (REFUSED, NOT_SENT)

    def sentence(self) -> str:
        """Return the message of a failure; empty for a successful switch."""
        if self.status == FINISHED:
            return ""
        if self.status == NOT_SENT:
            return "nothing was switched, since the request did not reach ClusterD: %s" % self.why
        if self.status == REFUSED and self.code is not None:
            hint = server_codes.explain(self.code).get("hint")
            return "ClusterD refused the switch, nothing was switched: %s%s" % (server_codes.describe(self.code, self.info), " (%s)" % hint if hint else "")
        if self.status == FAILED:
            return "the switch failed: %s: %s" % (self.result, server_codes.explain_switch_failure(self.result))
        return ("the switch was %s, but its result is unknown: %s. Check the job and the log of ClusterD first, and do not send the request again "
                "before" % ("sent" if self.code is None else "accepted", self.why))


def request(job_id: str, nics: Nics, direction: str) -> Dict[str, Any]:
    """Return the message SwitchNics, in which devices are strings such as "0" or "8"."""
    operation = OPERATIONS[direction]
    return {"jobID": job_id, "nicOps": {node: {"dev": [str(device) for device in devices], "op": [operation] * len(devices)}
                                        for node, devices in nics.items()}}


def _result(channel: Channel, job_id: str, seconds: float) -> str:
    """Return the text of the result message. Raises HccnError, with the reason why there is no result."""
    subscription = Subscription(channel, "recover", "SubscribeSwitchNicSignal", {"jobID": job_id}, seconds)
    try:
        for message in subscription:
            text: str = message["msg"]
            return text
    except HccnError as error:
        if NOT_SWITCHING in error.message:
            raise HccnError("no_result", "the switch has ended, but its result went to another client or into a broken connection: %s%s" % (
                error.message, subscription.losses())) from None
        if error.code == "deadline":
            raise HccnError("no_result", "no result within %g s%s" % (seconds, subscription.losses()), error.hint) from None
        raise
    raise HccnError("no_result", "the stream of the result ended without a message: another client received it, or a switch of this job that had ended just "
                                 "before has reset the state of the job")


_NOT_RECEIVED = ("tls_failed", "client_certificate", "forbidden", "not_implemented", "rate_limited", "refused", "too_large")
"""Errors that mean that ClusterD did not start the switch."""


def _may_have_been_received(error: HccnError) -> bool:
    """Return True if ClusterD may have received the request although it did not answer."""
    if error.code == "server_unreachable":
        return NOT_CONNECTED not in error.message
    return error.code not in _NOT_RECEIVED


def switch(channel: Channel, message: Mapping[str, Any], seconds: float) -> Outcome:
    """Send the request and wait ``seconds`` for its result."""
    try:
        answer = channel.call("recover", "SwitchNicTrack", message)
    except HccnError as error:
        status = UNKNOWN if _may_have_been_received(error) else NOT_SENT
        return Outcome(status, code=None, info="", result="", why=error.sentence(), error=error)
    code, info = answer["code"], answer["info"]
    if code != server_codes.OK:
        return Outcome(REFUSED, code=code, info=info, result="")
    try:
        text = _result(channel, message["jobID"], seconds)
    except HccnError as error:
        return Outcome(UNKNOWN, code=code, info=info, result="", why=error.sentence(), error=error)
    return Outcome(FINISHED if text == server_codes.SWITCH_FINISHED else FAILED, code=code, info=info, result=text)


def _api(params: Mapping[str, Any]) -> kube.Api:
    """Return the Kubernetes API. Raises HccnError also if PyYAML is missing, since a switch does not need Kubernetes."""
    if kube_access.YAML_ERROR is not None:
        raise HccnError("no_kubernetes", "PyYAML is not installed, so no kubeconfig can be read")
    return options.api_of(params)


def change(params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """Return the values of clusterd_nic_switch, with ``failed`` and ``msg`` if the switch failed. Raises HccnError if nothing was sent."""
    nics = leaf_topology.select(params["nics"], params["topology"])
    if not params["job_id"]:
        raise InputError("job_id is empty")
    options.check_job_id(params["job_id"])
    if params["pause"] < 0 or params["wait"] < 1:
        raise InputError("wait must be 1 s or more, and pause 0 s or more")
    message = request(params["job_id"], nics, params["direction"])
    prechecks = precheck.run(nics, params["nodes"], params["products"], lambda: _api(params), params["namespace"] or "", params["job_id"])
    result: Dict[str, Any] = {"changed": False, "request": message, "checked": prechecks.checked, "unchecked": prechecks.unchecked,
                              "problems": as_dicts(prechecks.problems)}
    if prechecks.problems:
        first = prechecks.problems[0]
        more = len(prechecks.problems) - 1
        return dict(result, failed=True, status=STOPPED, msg="nothing was switched: %s (%s)%s" % (
            first.message, first.hint, "" if not more else ", and %d more" % more))
    if check_mode:
        return dict(result, changed=True, status=FORESEEN)
    if not params["confirm"]:
        raise InputError("nothing was switched: a failed switch can end the training job. Set confirm to true to allow this")
    with Channel(options.server_of(params), params["timeout"]) as channel:
        outcome = switch(channel, message, params["wait"])
    if outcome.distributed:
        time.sleep(params["pause"])
    result.update(changed=outcome.distributed, status=outcome.status)
    if outcome.code is not None:
        result.update(code=outcome.code, code_explained=server_codes.explain(outcome.code), info=outcome.info, result=outcome.result)
    elif outcome.error is not None and outcome.status == NOT_SENT:
        result.update(error=outcome.error.as_dict())
    if outcome.status != FINISHED:
        result.update(failed=True, msg=outcome.sentence())
    return result
