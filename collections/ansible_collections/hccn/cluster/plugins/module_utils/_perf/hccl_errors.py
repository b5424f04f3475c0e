# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Map the error texts of hccl_test and HCCL to errors with code, message and hint.

Causes come before their consequences: an error that is listed earlier explains those that are listed later.
Sources: the source and FAQ of hccl_test (oam-tools), hccl_types.h.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Pattern

from .._core.errors import HccnError
from .launch_failure import decisive, later, line_of
from .tool_output import known, once, search

_LEFTOVER_HINT = ("check every host for processes of an earlier run, for different TLS settings (hccn_tool -tls -g), "
                  "for device addresses that cannot reach each other, and for a firewall")
_ARGUMENT_HINT = "the program rejected its arguments; compare them with the hccl_test of these hosts"
_TLS_HINT = "the TLS setting differs between NPUs: make it equal with hccn.cluster.device_tls"
_CONNECT_HINT = "two NPUs cannot connect: compare their TLS settings, ping the addresses, or raise HCCL_CONNECT_TIMEOUT"

# Errors of the program: arguments, environment, devices.
_PROGRAM = (
    known("invalid_environment", r"Check whether HCCL_\w+ is", "correct this variable in environment"),
    known("no_device", r"The number of device is 0",
          "no NPU is visible: check the driver, the permissions on /dev/davinci*, and the devices of the container"),
    known("invalid_argument", r"non-option ARGV-elements:|invalid option|invalid size specified|Error:In judge all digit|Error: \[-"
          r"|Error: Zero-copy and symmetric memory|std::invalid_argument", _ARGUMENT_HINT),
)

# Errors in the log of HCCL, if it is written to standard output; _EI finds the numbered errors.
_LOG = (
    known("EI0016", r"for config \"tls\" is invalid|tlsStatus are inconsistent",
          _TLS_HINT),
    known("EI0001", r"device ip family\[[0-9]+\] is not same", "some NPUs have IPv4 and others IPv6 addresses: use one family"),
    known("EI0006", r"wait socket establish timeout", _CONNECT_HINT),
    known("roce_cqe_error", r"ROCE CQE ERROR|error cqe status",
          "an RDMA packet was lost after all retries: check the link, the optics and PFC of the two addresses"),
)

_ROOTINFO = (
    known("rootinfo_failed", r"HcclGetRootInfo failed|received invalid data from root process",
          "the root rank found no network interface: set HCCL_SOCKET_IFNAME and HCCL_SOCKET_FAMILY in environment"),
)

_EI = re.compile(r"\bEI[0-9]{4}\b")
_EI_HINTS: Dict[str, str] = {
    "EI0001": "an environment variable or parameter differs between the ranks, for example the family of the addresses",
    "EI0003": "a parameter of the collective is wrong",
    "EI0004": "the rank table cannot be read: find the error with hccn.cluster.rank_table_check",
    "EI0005": "the ranks were started with different parameters",
    "EI0006": _CONNECT_HINT,
    "EI0009": "an NPU could not set up its transport: check its link, optics and address",
    "EI0014": "the rank table or the TLS settings differ between ranks: find the error with hccn.cluster.rank_table_check",
    "EI0015": "not all ranks reached the root: check the host network and HCCL_SOCKET_IFNAME",
    "EI0016": _TLS_HINT,
    "EI0017": "an entry is missing in the rank table: find it with hccn.cluster.rank_table_check",
    "EI0019": "a port of the host is in use: end leftover processes, or set HCCL_IF_BASE_PORT",
    "EI0020": "a port of an NPU is in use: end leftover processes on the NPU",
}

_ACL = re.compile(r"acl interface return err (\S+), retcode: ([0-9]+)")
_ACL_HINTS: Dict[str, str] = {
    "100000": "the runtime was initialised with an invalid parameter: source CANN's set_env.sh, compare driver and CANN versions",
    "207001": "not enough device memory: use a smaller end size or HCCL_BUFFSIZE, end other processes on the NPU",
    "507033": "the NPU could not be opened: it is lost, in use by another process, or not permitted to this user; see npu-smi info",
    "507899": "the driver reported an internal error: see dmesg and npu-smi info -t health",
}
_HCCL = re.compile(r"hccl interface return err (\S+), retcode: ([0-9]+)")
# HcclResult of hccl_types.h.
_HCCL_RESULTS: Dict[str, str] = {
    "1": "invalid parameter", "2": "empty pointer", "3": "memory error", "4": "internal error", "5": "not supported",
    "6": "resource not found", "7": "resource unavailable", "8": "system call failed", "9": "timeout", "10": "file not opened",
    "11": "TCP connection failed", "12": "RoCE connection failed", "13": "TCP transfer failed", "14": "RoCE transfer failed",
    "15": "runtime call failed", "16": "driver call failed", "17": "profiling call failed", "18": "CCE call failed",
    "19": "network call failed", "20": "try again", "21": "remote error (CQE)", "22": "communicator suspended", "23": "retry not possible",
    "24": "out of memory", "207001": "out of device memory",
}
_HCCL_HINTS: Dict[str, str] = {
    "4": "see ~/ascend/log of the rank for the first ERROR line",
    "7": _LEFTOVER_HINT, "9": _LEFTOVER_HINT, "11": _LEFTOVER_HINT, "12": _LEFTOVER_HINT, "19": _LEFTOVER_HINT,
    "14": "check link, optics and PFC between the NPUs that ~/ascend/log names",
    "21": "an RDMA packet was lost after all retries: check link, optics and PFC between the NPUs that ~/ascend/log names",
    "24": _ACL_HINTS["207001"], "3": _ACL_HINTS["207001"], "207001": _ACL_HINTS["207001"],
}
_LOG_HINT = "see ~/ascend/log of the rank for the first ERROR line"


def find_errors(stdout: str, stderr: str = "") -> List[HccnError]:
    """Return every known error once, the likely cause first. ``message`` is the line that the tool printed."""
    text = stdout + "\n" + stderr
    found = decisive(text) + search(_PROGRAM, text) + _numbered(text) + search(_LOG, text) + search(_ROOTINFO, text)
    found += _returned(_ACL, "acl", {}, _ACL_HINTS, text) + _returned(_HCCL, "hccl", _HCCL_RESULTS, _HCCL_HINTS, text)
    return once(found + later(text))


def _numbered(text: str) -> List[HccnError]:
    """Return the errors with a number of HCCL, in the order of the text."""
    found = []
    for match in _EI.finditer(text):
        found.append(HccnError(match.group(), line_of(text, match.start(), match.end()), _EI_HINTS.get(match.group(), _LOG_HINT)))
    return found


def _returned(pattern: Pattern[str], kind: str, names: Dict[str, str], hints: Dict[str, str], text: str) -> List[HccnError]:
    found = []
    for match in pattern.finditer(text):
        place, number = match.group(1), match.group(2)
        name: Optional[str] = names.get(number)
        message = "%s interface returned %s%s at %s" % (kind, number, " (%s)" % name if name else "", place)
        found.append(HccnError("%s_%s" % (kind, number), message, hints.get(number, _LOG_HINT)))
    return found
