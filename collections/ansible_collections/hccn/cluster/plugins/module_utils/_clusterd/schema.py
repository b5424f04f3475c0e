# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The gRPC services and messages of ClusterD that this collection uses, as a table from which the descriptors are built at run time.

Source: Ascend/mind-cluster component/clusterd/pkg/interface/grpc/{config,recover,fault,job}/*.proto (v26.1). Names are those of ClusterD. Note
that most messages have ``jobId``, but those of the switch ``jobID``, and that recover.proto has no package.

A type is a scalar (``string``, ``int32``, ``bool``), ``[]`` with a type for a list, ``map:`` with a message for a map with string keys, or a message.
"""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Tuple

Field = Tuple[int, str]
"""Number and type."""


class Method(NamedTuple):
    """If ``streams`` is True, the answer is a stream of ``response``."""

    request: str
    response: str
    streams: bool = False


class File(NamedTuple):
    """One .proto file: its messages with their fields, and the methods of its only service."""

    package: str
    service: str
    messages: Mapping[str, Mapping[str, Field]]
    methods: Mapping[str, Method]


_STATUS: Dict[str, Field] = {"code": (1, "int32"), "info": (2, "string")}
_CLIENT: Dict[str, Field] = {"jobId": (1, "string"), "role": (2, "string")}


def _strings(*names: str) -> Dict[str, Field]:
    return {name: (number, "string") for number, name in enumerate(names, 1)}


FILES: Mapping[str, File] = {
    "config": File("config", "Config", {
        "Status": _STATUS,
        "ClientInfo": _CLIENT,
        "RankTableStream": _strings("jobId", "rankTable"),
    }, {
        "Register": Method("ClientInfo", "Status"),
        "SubscribeRankTable": Method("ClientInfo", "RankTableStream", True),
    }),
    # Only the methods for external clients; the others are for the training process.
    "recover": File("", "Recover", {
        "Status": _STATUS,
        "DeviceList": {"dev": (1, "[]string"), "op": (2, "[]bool")},
        "SwitchNics": {"jobID": (1, "string"), "nicOps": (2, "map:DeviceList")},
        "SwitchNicRequest": _strings("jobID"),
        "SwitchNicResponse": _strings("jobID", "msg"),
    }, {
        "SwitchNicTrack": Method("SwitchNics", "Status"),
        "SubscribeSwitchNicSignal": Method("SwitchNicRequest", "SwitchNicResponse", True),
    }),
    "fault": File("fault", "Fault", {
        "Status": _STATUS,
        "ClientInfo": _CLIENT,
        "SwitchFaultInfo": _strings("faultCode", "switchChipId", "switchPortId", "faultTime", "faultLevel"),
        "DeviceFaultInfo": {
            "deviceId": (1, "string"), "deviceType": (2, "string"), "faultCodes": (3, "[]string"), "faultLevel": (4, "string"),
            "faultType": (5, "[]string"), "faultReason": (6, "[]string"), "switchFaultInfos": (7, "[]SwitchFaultInfo"), "faultLevels": (8, "[]string")},
        "NodeFaultInfo": {
            "nodeName": (1, "string"), "nodeIP": (2, "string"), "nodeSN": (3, "string"), "faultLevel": (4, "string"),
            "faultDevice": (5, "[]DeviceFaultInfo")},
        "FaultMsgSignal": {"uuid": (1, "string"), "jobId": (2, "string"), "signalType": (3, "string"), "nodeFaultInfo": (4, "[]NodeFaultInfo")},
        "FaultQueryResult": {"code": (1, "int32"), "info": (2, "string"), "faultSignal": (3, "FaultMsgSignal")},
    }, {
        "Register": Method("ClientInfo", "Status"),
        "GetFaultMsgSignal": Method("ClientInfo", "FaultQueryResult"),
        "SubscribeFaultMsgSignal": Method("ClientInfo", "FaultMsgSignal", True),
    }),
    "job": File("job", "Job", {
        "Status": {"code": (1, "int32"), "info": (2, "string"), "clientId": (3, "string")},
        "ClientInfo": {"role": (1, "string"), "clientId": (3, "string")},
        "JobSummarySignal": _strings("uuid", "jobId", "jobName", "namespace", "frameWork", "jobStatus", "time", "cmIndex", "total", "HcclJson",
                                     "deleteTime", "sharedTorIp", "masterAddr", "operator", "sid"),
        "JobSummarySignalList": {"jobSummarySignals": (1, "[]JobSummarySignal"), "ReportTime": (2, "string"), "JobTotalNum": (3, "int32")},
    }, {
        "Register": Method("ClientInfo", "Status"),
        "SubscribeJobSummarySignal": Method("ClientInfo", "JobSummarySignal", True),
        "SubscribeJobSummarySignalList": Method("ClientInfo", "JobSummarySignalList", True),
    }),
}


def path_of(file: str, method: str) -> str:
    """Return the HTTP/2 path of a method, such as ``/config.Config/Register`` or ``/Recover/SwitchNicTrack``."""
    one = FILES[file]
    return "/%s%s/%s" % (one.package + "." if one.package else "", one.service, method)
