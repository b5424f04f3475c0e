# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""SwitchNicTrack: NPUs of a running job to their backup link, or back, and the one message that tells how it went.

Code 0 means that the order was handed out, no more. The result is a single message of another stream, which only opens while the job is being switched.
Nothing is ever sent twice: a switch is not idempotent, and a failed one can end the job.
Source: Ascend/mind-cluster component/clusterd/pkg/application/recover/{om_service,om_controller}.go.
"""

from __future__ import annotations

import time
from typing import Any, Dict, Mapping, NamedTuple, Optional

from .._core.errors import HccnError, InputError
from .._core.problems import as_dicts
from . import kube, kube_access, options, precheck, server_codes, topology
from .channel import Channel
from .topology import Nics

OPERATIONS: Mapping[str, bool] = {"failover": True, "switchback": False}
"""``op``: true is the backup link."""
SERVER_WAIT_S = 900
"""ClusterD gives up on a result after 15 min."""
EVENT_S = 5.0
"""Code 0 comes before the state machine has begun. Until then the result is refused with ``NOT_SWITCHING``; it is asked for anew for so long."""
NOT_SWITCHING = "is not swtiching nic"
_PAUSE_S = 0.2
NOT_CONNECTED = "failed to connect"
"""How gRPC begins where not even a connection came about."""

FINISHED, FAILED, REFUSED, UNKNOWN = "finished", "failed", "refused", "unknown"
STOPPED, FORESEEN = "stopped", "foreseen"


class Outcome(NamedTuple):
    """``status``: finished, failed, refused or unknown. ``code`` and ``info`` of the answer, if there was one; ``result``: the text of the one message."""

    status: str
    code: Optional[int]
    info: str
    result: str
    why: str = ""

    @property
    def distributed(self) -> bool:
        return self.status != REFUSED

    def sentence(self) -> str:
        """For the message of a failure; empty for a switch that went well."""
        if self.status == FINISHED:
            return ""
        if self.status == REFUSED and self.code is not None:
            hint = server_codes.explain(self.code).get("hint")
            return "ClusterD refused, nothing was switched: %s%s" % (server_codes.describe(self.code, self.info), " (%s)" % hint if hint else "")
        if self.status == FAILED:
            return "the switch failed: %s: %s" % (self.result, server_codes.explain_switch_failure(self.result))
        return ("the switch was %s, and how it went is not known: %s. Look at the job and at ClusterD's log before anything else: it is not to be "
                "sent again" % ("sent" if self.code is None else "handed out", self.why))


def request(job_id: str, nics: Nics, direction: str) -> Dict[str, Any]:
    """The message SwitchNics: on the wire a device is "0" or "8"."""
    operation = OPERATIONS[direction]
    return {"jobID": job_id, "nicOps": {node: {"dev": [str(device) for device in devices], "op": [operation] * len(devices)}
                                        for node, devices in nics.items()}}


def _result(channel: Channel, job_id: str, seconds: float) -> str:
    """The one message. Raises HccnError."""
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
"""Errors with which a request was turned away before the switch began."""


def _may_have_been_received(error: HccnError) -> bool:
    """May ClusterD have the request, although no answer came?"""
    if error.code == "server_unreachable":
        return NOT_CONNECTED not in error.message
    return error.code not in _NOT_RECEIVED


def switch(channel: Channel, message: Mapping[str, Any], seconds: float) -> Outcome:
    """Sends the request and waits for its result for ``seconds``. Raises HccnError where the request did not reach ClusterD for sure."""
    try:
        answer = channel.call("recover", "SwitchNicTrack", message)
    except HccnError as error:
        if not _may_have_been_received(error):
            raise
        return Outcome(UNKNOWN, None, "", "", error.message)
    code, info = answer["code"], answer["info"]
    if code != server_codes.OK:
        return Outcome(REFUSED, code, info, "")
    try:
        text = _result(channel, message["jobID"], seconds)
    except HccnError as error:
        why = "no result within %g s" % seconds if error.code == "deadline" else error.message
        return Outcome(UNKNOWN, code, info, "", why)
    return Outcome(FINISHED if text == server_codes.SWITCH_FINISHED else FAILED, code, info, text)


def _api(params: Mapping[str, Any]) -> kube.Api:
    """Raises HccnError also where a package lacks: a switch may be asked for without Kubernetes."""
    if kube_access.YAML_ERROR is not None:
        raise HccnError("no_kubernetes", "PyYAML is not installed, so no kubeconfig can be read")
    return options.api_of(params)


def change(params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """The return values, ``failed`` and ``msg`` among them where it did not go well. Raises HccnError where nothing was sent."""
    nics = topology.select(params["nics"], params["topology"])
    if not params["job_id"]:
        raise InputError("job_id is empty")
    message = request(params["job_id"], nics, params["direction"])
    prechecks = precheck.run(nics, params["nodes"], lambda: _api(params), params["namespace"] or "", params["job_id"])
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
        raise InputError("nothing was switched: a switch that fails can end the training job. Set confirm to true if that may be")
    with Channel(options.server_of(params), params["timeout"]) as channel:
        outcome = switch(channel, message, params["wait"])
    result.update(changed=outcome.distributed, status=outcome.status, info=outcome.info, result=outcome.result)
    if outcome.code is not None:
        result.update(code=outcome.code, code_explained=server_codes.explain(outcome.code))
    if outcome.status != FINISHED:
        result.update(failed=True, msg=outcome.sentence())
    return result
