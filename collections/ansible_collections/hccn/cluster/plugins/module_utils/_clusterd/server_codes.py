# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The return codes and result texts of ClusterD, their meaning, and which codes may be retried.

Sources: Ascend/mind-cluster component/clusterd/pkg/domain/common/code.go and pkg/application/recover/om_controller.go, and the document of Elastic-Agent, which
shares the codes. If the two names of a code differ, the name in the server is used. According to a comment in the server, 4xx is final and 5xx may be retried.
"""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Optional


class ServerCode(NamedTuple):
    """``hint`` says what to do; it is empty if only the message of the server helps."""

    name: str
    meaning: str
    hint: str = ""
    retryable: bool = False


_RECOVERY = "enable process-level recovery for the job (label process-recover-enable of its PodGroup) and restart it"
_LATER = "try again later"

CODES: Mapping[int, ServerCode] = {
    0: ServerCode("OK", "accepted"),
    200: ServerCode("SuccessCode", "answered"),
    201: ServerCode("ExitIsolateRanksCode", "the isolated ranks were ended"),
    400: ServerCode("UnRegistry", "the job or client is not registered", "check the id, and whether ClusterD has the job"),
    401: ServerCode("OrderMix", "the call does not match the state of the state machine"),
    402: ServerCode("JobNotExist", "there is no such job", "the id of a job is the UID of its Kubernetes object"),
    403: ServerCode("ProcessRecoverEnableOff", "process-level recovery is off (the document calls it ProcessRescheduleOff)", _RECOVERY),
    404: ServerCode("ProcessNotReady", "the training process is not running", "wait until the job is training"),
    405: ServerCode("RecoverableRetryError", "cleaning the device failed"),
    406: ServerCode("UnRecoverableRetryError", "stopping the device failed"),
    407: ServerCode("DumpError", "the dying checkpoint was not saved"),
    408: ServerCode("UnInit", "the job was not initialised for recovery"),
    409: ServerCode("InvalidReqParam", "a parameter of the request is invalid"),
    410: ServerCode("InvalidReqRate", "the rate of requests is invalid"),
    411: ServerCode("OMIsRunning", "the job is already being switched or recovered", "wait until this has ended and check the job; this call switched nothing"),
    413: ServerCode("OMParamInvalid", "the request does not fit the job"),
    429: ServerCode("RateLimitedCode", "too many requests or clients", "wait a second"),
    499: ServerCode("ClientError", "failed for another reason (UnRecoverTrainError has the same number)"),
    500: ServerCode("OutOfMaxServeJobs", "ClusterD already serves 10000 jobs", _LATER, True),
    501: ServerCode("OperateConfigMapError", "a ConfigMap could not be read or written", _LATER, True),
    502: ServerCode("OperatePodGroupError", "the PodGroup could not be read or written", _LATER, True),
    503: ServerCode("ScheduleTimeout", "pods were not scheduled in time", _LATER, True),
    504: ServerCode("SignalQueueBusy", "the control signal was not enqueued", _LATER, True),
    505: ServerCode("EventQueueBusy", "the event of the state machine was not enqueued", _LATER, True),
    506: ServerCode("ControllerEventCancel", "the state machine has ended", _LATER, True),
    507: ServerCode("WaitReportTimeout", "the training process did not report in time", _LATER, True),
    508: ServerCode("WaitPlatStrategyTimeout", "the platform did not send its strategy in time", _LATER, True),
    509: ServerCode("WriteConfirmFaultOrWaitPlatResultFault", "the platform's fault information is wrong", _LATER, True),
    510: ServerCode("HCCLRoutingConvergenceFail", "the routes of HCCL did not converge", _LATER, True),
    599: ServerCode("ServerInnerError", "internal error of ClusterD", "see the log of ClusterD", True),
}

OK = 0
SUCCESS = 200


def explain(code: int) -> Dict[str, object]:
    """Return ``name``, ``meaning``, ``retryable`` and, if there is one, ``hint`` of a code, even if it is unknown."""
    found = CODES.get(code)
    if found is None:
        return {"name": "unknown", "meaning": "a code that is neither in the documentation nor in the source of ClusterD", "retryable": False}
    explanation: Dict[str, object] = {"name": found.name, "meaning": found.meaning, "retryable": found.retryable}
    if found.hint:
        explanation["hint"] = found.hint
    return explanation


def describe(code: int, info: str) -> str:
    """Return a text such as ``413 OMParamInvalid: the request does not fit the job: job:x is not running``."""
    found = explain(code)
    return "%d %s: %s%s" % (code, found["name"], found["meaning"], ": " + info if info else "")


SWITCH_FINISHED = "switch nic finish"
"""The text of a successful switch."""

_INSPECT_JOB = "check the job first: a failed switch can end it, and every switch saves a checkpoint"

_NOT_PAUSED = "training was not paused, so no NPU was switched"
_NOT_SWITCHED = "not all NPUs were switched"
_NOT_RESUMED = "the NPUs were switched, but training does not continue"

SWITCH_FAILURES: Mapping[str, str] = {
    "pause train failed, job service not ready": _NOT_PAUSED + ": no MindIO of the job answered",
    "om failed, pause train failed": _NOT_PAUSED,
    "pause train timeout": _NOT_PAUSED + " within the time that ClusterD waits",
    "switch nic failed, job service not ready": _NOT_SWITCHED + ": TaskD of the job does not answer",
    "switch nic failed, switch nic failed": _NOT_SWITCHED + ": a worker failed to switch",
    "switch nic failed, report error when switching nic": _NOT_SWITCHED + ": a worker reported an error",
    "switch nic failed, report switch nic timeout": _NOT_SWITCHED + ": not all workers reported in time",
    "continue train failed, job service not ready": _NOT_RESUMED + ": no MindIO of the job answers",
    "switch nic failed, continue train failed": _NOT_RESUMED,
    "switch nic failed, continue train timeout": _NOT_RESUMED + " within the time that ClusterD waits",
    "send switch nic signal failed, please check manually": "ClusterD could not send the switch to the job, so its result is unknown",
    "report switch nic result timeout, please check manually": "no result within the time that ClusterD waits, so it is unknown what was switched",
}
"""The texts that ClusterD sends for failed switches, with their meaning."""


def explain_switch_failure(text: str) -> Optional[str]:
    """Return what the text of a failed switch means and what to do; None for a successful switch."""
    if text == SWITCH_FINISHED:
        return None
    return "%s; %s" % (SWITCH_FAILURES.get(text, "a text that is not in the source of ClusterD"), _INSPECT_JOB)
