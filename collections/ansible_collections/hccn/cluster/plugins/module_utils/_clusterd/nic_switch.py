# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of clusterd_nic_switch: switch NPUs of a running job to their backup links, or back (SwitchNicTrack).

Code 0 only means that ClusterD accepted the request. The result is a single message of another stream, which can only be opened during the switch.
Nothing is sent twice, since a switch is not idempotent and a failed switch can end the job.
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

OPERATIONS: Mapping[str, bool] = {"failover": True, "switchback": False}
"""The value of ``op``, which is true for the backup link."""
EVENT_S = 5.0
"""ClusterD returns code 0 before its state machine has started, and until then refuses the stream with NOT_SWITCHING. Opening is retried this long."""
NOT_SWITCHING = "is not swtiching nic"
_PAUSE_S = 0.2
NOT_CONNECTED = "failed to connect"
"""The beginning of gRPC's message if there was no connection."""

FINISHED, FAILED, REFUSED, UNKNOWN = "finished", "failed", "refused", "unknown"
STOPPED, FORESEEN = "stopped", "foreseen"


class Outcome(NamedTuple):
    """The outcome of a switch. ``code`` and ``info`` are those of the answer, if there was one; ``result`` is the text of the result message."""

    status: str
    code: Optional[int]
    info: str
    result: str
    why: str = ""

    @property
    def distributed(self) -> bool:
        return self.status != REFUSED

    def sentence(self) -> str:
        """Return the message of a failure; empty for a successful switch."""
        if self.status == FINISHED:
            return ""
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
    """Return the text of the result message. Raises HccnError."""
    until = time.monotonic() + EVENT_S
    while True:
        try:
            for message in channel.stream("recover", "SubscribeSwitchNicSignal", {"jobID": job_id}, seconds):
                text: str = message["msg"]
                return text
            raise HccnError("no_result", "the stream of the result ended without a message")
        except HccnError as error:
            if NOT_SWITCHING not in error.message or time.monotonic() >= until:
                raise
            time.sleep(_PAUSE_S)


_NOT_RECEIVED = ("tls_failed", "not_implemented", "rate_limited", "refused", "too_large")
"""Errors that mean that ClusterD did not start the switch."""


def _may_have_been_received(error: HccnError) -> bool:
    """Return True if ClusterD may have received the request although it did not answer."""
    if error.code == "server_unreachable":
        return NOT_CONNECTED not in error.message
    return error.code not in _NOT_RECEIVED


def switch(channel: Channel, message: Mapping[str, Any], seconds: float) -> Outcome:
    """Send the request and wait ``seconds`` for its result. Raises HccnError if the request certainly did not reach ClusterD."""
    try:
        answer = channel.call("recover", "SwitchNicTrack", message)
    except HccnError as error:
        if not _may_have_been_received(error):
            raise
        return Outcome(UNKNOWN, code=None, info="", result="", why=error.message)
    code, info = answer["code"], answer["info"]
    if code != server_codes.OK:
        return Outcome(REFUSED, code=code, info=info, result="")
    try:
        text = _result(channel, message["jobID"], seconds)
    except HccnError as error:
        why = "no result within %g s" % seconds if error.code == "deadline" else error.message
        return Outcome(UNKNOWN, code=code, info=info, result="", why=why)
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
    result.update(changed=outcome.distributed, status=outcome.status, info=outcome.info, result=outcome.result)
    if outcome.code is not None:
        result.update(code=outcome.code, code_explained=server_codes.explain(outcome.code))
    if outcome.status != FINISHED:
        result.update(failed=True, msg=outcome.sentence())
    return result
