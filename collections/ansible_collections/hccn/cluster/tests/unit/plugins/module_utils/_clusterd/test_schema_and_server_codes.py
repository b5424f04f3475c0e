"""The table of messages, compared with literal field numbers, and the return codes."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import schema, server_codes
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError


def test_field_numbers_of_messages():
    numbers = {"%s.%s" % (name, title): {field: number for field, (number, _type) in fields.items()}
               for name, file in schema.FILES.items() for title, fields in file.messages.items()}
    assert numbers == {
        "config.Status": {"code": 1, "info": 2},
        "config.ClientInfo": {"jobId": 1, "role": 2},
        "config.RankTableStream": {"jobId": 1, "rankTable": 2},
        "recover.Status": {"code": 1, "info": 2},
        "recover.DeviceList": {"dev": 1, "op": 2},
        "recover.SwitchNics": {"jobID": 1, "nicOps": 2},
        "recover.SwitchNicRequest": {"jobID": 1},
        "recover.SwitchNicResponse": {"jobID": 1, "msg": 2},
        "fault.Status": {"code": 1, "info": 2},
        "fault.ClientInfo": {"jobId": 1, "role": 2},
        "fault.SwitchFaultInfo": {"faultCode": 1, "switchChipId": 2, "switchPortId": 3, "faultTime": 4, "faultLevel": 5},
        "fault.DeviceFaultInfo": {"deviceId": 1, "deviceType": 2, "faultCodes": 3, "faultLevel": 4, "faultType": 5, "faultReason": 6,
                                  "switchFaultInfos": 7, "faultLevels": 8},
        "fault.NodeFaultInfo": {"nodeName": 1, "nodeIP": 2, "nodeSN": 3, "faultLevel": 4, "faultDevice": 5},
        "fault.FaultMsgSignal": {"uuid": 1, "jobId": 2, "signalType": 3, "nodeFaultInfo": 4},
        "fault.FaultQueryResult": {"code": 1, "info": 2, "faultSignal": 3},
        "job.Status": {"code": 1, "info": 2, "clientId": 3},
        "job.ClientInfo": {"role": 1, "clientId": 3},
        "job.JobSummarySignal": {"uuid": 1, "jobId": 2, "jobName": 3, "namespace": 4, "frameWork": 5, "jobStatus": 6, "time": 7, "cmIndex": 8, "total": 9,
                                 "HcclJson": 10, "deleteTime": 11, "sharedTorIp": 12, "masterAddr": 13, "operator": 14, "sid": 15},
        "job.JobSummarySignalList": {"jobSummarySignals": 1, "ReportTime": 2, "JobTotalNum": 3},
    }


def test_paths_of_calls():
    assert [schema.path_of(name, method) for name, file in schema.FILES.items() for method in file.methods] == [
        "/config.Config/Register", "/config.Config/SubscribeRankTable", "/Recover/SwitchNicTrack", "/Recover/SubscribeSwitchNicSignal",
        "/fault.Fault/Register", "/fault.Fault/GetFaultMsgSignal", "/fault.Fault/SubscribeFaultMsgSignal", "/job.Job/Register",
        "/job.Job/SubscribeJobSummarySignal", "/job.Job/SubscribeJobSummarySignalList"]


def test_all_codes_are_listed():
    documented = [0] + list(range(400, 409)) + [499] + list(range(500, 510)) + [599]
    only_in_the_source = [200, 201, 409, 410, 411, 413, 429, 510]
    assert list(server_codes.CODES) == sorted(documented + only_in_the_source)
    assert [code for code, entry in server_codes.CODES.items() if entry.documented] == documented
    assert [(code, entry.other_name) for code, entry in server_codes.CODES.items() if entry.other_name] == [
        (403, "ProcessRescheduleOff"), (499, "UnRecoverTrainError")]
    assert [code for code, entry in server_codes.CODES.items() if entry.retryable] == list(range(500, 511)) + [599]


@pytest.mark.parametrize("code, explanation", [
    (0, {"code": 0, "name": "OK", "meaning": "accepted", "retryable": False, "documented": True}),
    (403, {"code": 403, "name": "ProcessRecoverEnableOff", "other_name": "ProcessRescheduleOff", "meaning": "process-level recovery is off", "retryable": False,
           "documented": True, "hint": "enable process-level recovery for the job (label process-recover-enable of its PodGroup) and restart it"}),
    (413, {"code": 413, "name": "OMParamInvalid", "meaning": "the request does not fit the job", "retryable": False, "documented": False}),
    (500, {"code": 500, "name": "OutOfMaxServeJobs", "meaning": "ClusterD already serves 10000 jobs", "retryable": True, "documented": True,
           "hint": "try again later"}),
    (412, {"code": 412, "name": "unknown", "meaning": "a code that is neither in the documentation nor in the source of ClusterD", "retryable": False,
           "documented": False}),
])
def test_codes_are_explained(code, explanation):
    assert server_codes.explain(code) == explanation


@pytest.mark.parametrize("term, code", [
    ("403", 403), (" 0 ", 0), ("ProcessRecoverEnableOff", 403), ("processRescheduleOFF", 403), ("UnRecoverTrainError", 499), ("412", 412), ("-1", -1)])
def test_codes_are_found_by_number_and_name(term, code):
    assert server_codes.find(term) == server_codes.explain(code)


@pytest.mark.parametrize("term", ["", "  ", "unknown", "4e2", "0x193", "1234567890", "True", "Process"])
def test_unknown_names_are_refused(term):
    with pytest.raises(InputError) as caught:
        server_codes.find(term)
    assert caught.value.sentence() == "%r is no return code of ClusterD (give a number such as 403, or a name such as ProcessRecoverEnableOff)" % term


def test_switch_results_are_explained():
    assert server_codes.explain_switch_failure("switch nic finish") is None
    assert len(server_codes.SWITCH_FAILURES) == 12
    assert server_codes.explain_switch_failure("pause train timeout") == (
        "training was not paused, so no NPU was switched within the time that ClusterD waits; check the job first: a failed switch can end "
        "it, and every switch saves a checkpoint")
    assert server_codes.describe(413, "") == "413 OMParamInvalid: the request does not fit the job"
