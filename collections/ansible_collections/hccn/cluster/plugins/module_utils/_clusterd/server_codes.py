# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The return codes and result texts of ClusterD, their meaning, and which codes may be retried.

Sources: Ascend/mind-cluster component/clusterd/pkg/domain/common/code.go and pkg/application/recover/om_controller.go, and the document of Elastic-Agent, which
shares the codes. If the two names of a code differ, the name in the server is used. According to a comment in the server, 4xx is final and 5xx may be retried.
"""

from __future__ import annotations

import re
from typing import Dict, Mapping, NamedTuple, Optional

from .._core.errors import InputError
from .._core.words import beginning

_NUMBER = re.compile(r"-?[0-9]{1,9}$")
_SHOWN = 60
"""Characters of an invalid term in its message."""


class ServerCode(NamedTuple):
    """``hint`` says what to do; it is empty if only the message of the server helps. ``other_name`` is that of the document or of a second constant in the
    source. ``documented`` is False for codes that only the source has."""

    name: str
    meaning: str
    hint: str = ""
    retryable: bool = False
    other_name: str = ""
    documented: bool = True


_RECOVERY = "enable process-level recovery for the job (label process-recover-enable of its PodGroup) and restart it"
_LATER = "try again later"
_TRAINING_LOG = "see the log of the training process, whose call this code answers"

CODES: Mapping[int, ServerCode] = {
    0: ServerCode("OK", "accepted"),
    200: ServerCode("SuccessCode", "answered", documented=False),
    201: ServerCode("ExitIsolateRanksCode", "the isolated ranks were ended", documented=False),
    400: ServerCode("UnRegistry", "the job or client is not registered", "check the id, and whether ClusterD has the job"),
    401: ServerCode("OrderMix", "the call does not match the state of the state machine", _TRAINING_LOG),
    402: ServerCode("JobNotExist", "there is no such job", "the id of a job is the UID of its Kubernetes object"),
    403: ServerCode("ProcessRecoverEnableOff", "process-level recovery is off", _RECOVERY, other_name="ProcessRescheduleOff"),
    404: ServerCode("ProcessNotReady", "the training process is not running", "wait until the job is training"),
    405: ServerCode("RecoverableRetryError", "cleaning the device failed", _TRAINING_LOG),
    406: ServerCode("UnRecoverableRetryError", "stopping the device failed", _TRAINING_LOG),
    407: ServerCode("DumpError", "the dying checkpoint was not saved", "check the free space and the permissions of the folder for checkpoints"),
    408: ServerCode("UnInit", "the job was not initialised for recovery", "the training process must call Init before Register: " + _TRAINING_LOG),
    409: ServerCode("InvalidReqParam", "a parameter of the request is invalid", documented=False),
    410: ServerCode("InvalidReqRate", "the rate of requests is invalid", documented=False),
    411: ServerCode("OMIsRunning", "the job is already being switched or recovered",
                    "wait until this has ended and check the job; this call switched nothing", documented=False),
    413: ServerCode("OMParamInvalid", "the request does not fit the job", documented=False),
    429: ServerCode("RateLimitedCode", "too many requests or clients", "wait a second", documented=False),
    499: ServerCode("ClientError", "failed for another reason", other_name="UnRecoverTrainError"),
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
    510: ServerCode("HCCLRoutingConvergenceFail", "the routes of HCCL did not converge", _LATER, True, documented=False),
    599: ServerCode("ServerInnerError", "internal error of ClusterD", "see the log of ClusterD", True),
}
"""The codes, in ascending order."""

OK = 0
SUCCESS = 200


def explain(code: int) -> Dict[str, object]:
    """Return ``code``, ``name``, ``meaning``, ``retryable``, ``documented`` and, if any, ``hint`` and ``other_name`` of a code, also of an unknown one."""
    found = CODES.get(code)
    if found is None:
        found = ServerCode("unknown", "a code that is neither in the documentation nor in the source of ClusterD", documented=False)
    explanation: Dict[str, object] = {"code": code}
    explanation.update((name, value) for name, value in found._asdict().items() if value != "")
    return explanation


def find(term: str) -> Dict[str, object]:
    """Return what ``explain`` returns, for a number or, in any case of its letters, the name of a code. Raises InputError."""
    text = term.strip()
    if _NUMBER.match(text):
        return explain(int(text))
    for code, entry in CODES.items():
        if text and text.lower() in (entry.name.lower(), entry.other_name.lower()):
            return explain(code)
    raise InputError("%r is no return code of ClusterD" % beginning(term, _SHOWN), "give a number such as 403, or a name such as %s" % CODES[403].name)


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
