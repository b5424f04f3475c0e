# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Return codes and result texts of ClusterD in words, and which of them may be tried again.

Sources: Ascend/mind-cluster component/clusterd/pkg/domain/common/code.go and pkg/application/recover/om_controller.go, and the document of Elastic-Agent, which
shares the codes. Where both name a code differently, the server's name stands here. By the server's own comment 4xx is final and 5xx may be tried again.
"""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Optional


class Code(NamedTuple):
    """``hint``: what to do; empty where nothing but what the server said helps."""

    name: str
    meaning: str
    hint: str = ""
    retryable: bool = False


_RECOVERY = "switch process-level recovery on for the job (label process-recover-enable of its PodGroup) and start it anew"
_LATER = "try again later"

CODES: Mapping[int, Code] = {
    0: Code("OK", "taken"),
    200: Code("SuccessCode", "answered"),
    201: Code("ExitIsolateRanksCode", "the isolated ranks were ended"),
    400: Code("UnRegistry", "the job or client is not registered", "is the id right, and does ClusterD know the job?"),
    401: Code("OrderMix", "the call came out of the order of the state machine"),
    402: Code("JobNotExist", "there is no such job", "the id of a job is the UID of its Kubernetes object"),
    403: Code("ProcessRecoverEnableOff", "process-level recovery is off (the document calls it ProcessRescheduleOff)", _RECOVERY),
    404: Code("ProcessNotReady", "the training process is not up", "wait until the job trains"),
    405: Code("RecoverableRetryError", "cleaning the device failed"),
    406: Code("UnRecoverableRetryError", "stopping the device failed"),
    407: Code("DumpError", "the dying checkpoint was not saved"),
    408: Code("UnInit", "the job was not initialised for recovery"),
    409: Code("InvalidReqParam", "a parameter of the request is invalid"),
    410: Code("InvalidReqRate", "the rate of requests is invalid"),
    411: Code("OMIsRunning", "the job is being switched or recovered already", "wait for its end, then look anew: nothing was switched by this call"),
    413: Code("OMParamInvalid", "the request does not fit the job"),
    429: Code("RateLimitedCode", "too many requests or clients", "wait a second"),
    499: Code("ClientError", "failed for another reason (UnRecoverTrainError has this number, too)"),
    500: Code("OutOfMaxServeJobs", "ClusterD serves 10000 jobs already", _LATER, True),
    501: Code("OperateConfigMapError", "a ConfigMap could not be read or written", _LATER, True),
    502: Code("OperatePodGroupError", "the PodGroup could not be read or written", _LATER, True),
    503: Code("ScheduleTimeout", "pods were not scheduled in time", _LATER, True),
    504: Code("SignalQueueBusy", "the control signal was not enqueued", _LATER, True),
    505: Code("EventQueueBusy", "the event of the state machine was not enqueued", _LATER, True),
    506: Code("ControllerEventCancel", "the state machine has ended", _LATER, True),
    507: Code("WaitReportTimeout", "the training process did not report in time", _LATER, True),
    508: Code("WaitPlatStrategyTimeout", "the platform did not name its strategy in time", _LATER, True),
    509: Code("WriteConfirmFaultOrWaitPlatResultFault", "the platform's fault information is wrong", _LATER, True),
    510: Code("HCCLRoutingConvergenceFail", "the routes of HCCL did not converge", _LATER, True),
    599: Code("ServerInnerError", "ClusterD failed inside", "read ClusterD's log", True),
}

OK = 0
SUCCESS = 200


def explain(code: int) -> Dict[str, object]:
    """``name``, ``meaning``, ``retryable``, and ``hint`` where there is one; also of a code that is not in the table."""
    found = CODES.get(code)
    if found is None:
        return {"name": "unknown", "meaning": "a code that neither the document nor the server's source has", "retryable": False}
    told: Dict[str, object] = {"name": found.name, "meaning": found.meaning, "retryable": found.retryable}
    if found.hint:
        told["hint"] = found.hint
    return told


def sentence(code: int, info: str) -> str:
    """``413 OMParamInvalid: the request does not fit the job: job:x is not running``."""
    found = explain(code)
    return "%d %s: %s%s" % (code, found["name"], found["meaning"], ": " + info if info else "")


FINISHED = "switch nic finish"
"""The only text of a switch that went well."""

_LOOK = "look at the job before anything else: a failed switch can end it, and each saves a checkpoint"

_PAUSE = "training was not paused, so no NPU was switched"
_SWITCH = "the NPUs were not all switched"
_RESUME = "the NPUs were switched, but training does not go on"

RESULTS: Mapping[str, str] = {
    "pause train failed, job service not ready": _PAUSE + ": no MindIO of the job answered",
    "om failed, pause train failed": _PAUSE,
    "pause train timeout": _PAUSE + " within the time that ClusterD waits",
    "switch nic failed, job service not ready": _SWITCH + ": TaskD of the job does not answer",
    "switch nic failed, switch nic failed": _SWITCH + ": a worker failed to switch",
    "switch nic failed, report error when switching nic": _SWITCH + ": a worker reported an error",
    "switch nic failed, report switch nic timeout": _SWITCH + ": not all workers reported in time",
    "continue train failed, job service not ready": _RESUME + ": no MindIO of the job answers",
    "switch nic failed, continue train failed": _RESUME,
    "switch nic failed, continue train timeout": _RESUME + " within the time that ClusterD waits",
    "send switch nic signal failed, please check manually": "ClusterD could not tell the job to switch, so what was done is not known",
    "report switch nic result timeout, please check manually": "no result within the time that ClusterD waits, so what was done is not known",
}
"""Texts of failed switches, as ClusterD sends them, and what they mean."""


def explain_result(text: str) -> Optional[str]:
    """What a failed switch means and what to do; None for one that went well."""
    if text == FINISHED:
        return None
    return "%s; %s" % (RESULTS.get(text, "a text that the server's source does not have"), _LOOK)
