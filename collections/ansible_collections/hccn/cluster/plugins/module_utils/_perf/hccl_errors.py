# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What hccl_test and HCCL print when a collective goes wrong: text -> code, message, hint.

The order is the order of causes: what stands earlier explains what stands later. Sources: hccl_test's source and FAQ (oam-tools), hccl_types.h.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Pattern

from .._core.errors import HccnError
from .tool_output import END, LAUNCH, known, line_of, once, search

_LEFTOVER_HINT = ("look on every host for processes of an earlier run, for differing TLS switches (hccn_tool -tls -g), "
                  "for device addresses that do not reach each other, and for a firewall")
_ARGUMENT_HINT = "the program refused its arguments; compare them with the hccl_test of these hosts"

# Of the program: arguments, environment, devices.
_PROGRAM = (
    known("invalid_environment", r"Check whether HCCL_\w+ is", "correct this variable in environment"),
    known("no_device", r"The number of device is 0", "no NPU is visible: driver, permissions on /dev/davinci*, or a container without devices"),
    known("invalid_argument", r"non-option ARGV-elements:|invalid option|invalid size specified|Error:In judge all digit|Error: \[-"
          r"|Error: Zero-copy and symmetric memory|std::invalid_argument", _ARGUMENT_HINT),
)

# Of HCCL's own log, where it is sent to standard output; the numbered errors are found by _EI.
_LOG = (
    known("EI0016", r"for config \"tls\" is invalid|tlsStatus are inconsistent",
          "the TLS switch differs between NPUs: make it equal with hccn.cluster.device_tls"),
    known("EI0001", r"device ip family\[[0-9]+\] is not same", "some NPUs have IPv4 and others IPv6 addresses: use one family"),
    known("EI0006", r"wait socket establish timeout",
          "two NPUs cannot connect: compare TLS switches, ping the addresses, raise HCCL_CONNECT_TIMEOUT"),
    known("roce_cqe_error", r"ROCE CQE ERROR|error cqe status",
          "an RDMA packet was lost for good: check the link, the optics and PFC of the two addresses"),
)

_ROOTINFO = (
    known("rootinfo_failed", r"HcclGetRootInfo failed|received invalid data from root process",
          "the root rank found no network interface: set HCCL_SOCKET_IFNAME and HCCL_SOCKET_FAMILY in environment"),
)

_EI = re.compile(r"\bEI[0-9]{4}\b")
_EI_HINTS: Dict[str, str] = {
    "EI0001": "an environment variable or parameter differs between the ranks, e.g. the family of the addresses",
    "EI0003": "a parameter of the collective is wrong",
    "EI0004": "the rank table cannot be read: hccn.cluster.rank_table_check names the place",
    "EI0005": "the ranks were started with different parameters",
    "EI0006": "two NPUs cannot connect: compare TLS switches, ping the addresses, raise HCCL_CONNECT_TIMEOUT",
    "EI0009": "an NPU could not set up its transport: check its link, optics and address",
    "EI0014": "the rank table or the TLS switches disagree: hccn.cluster.rank_table_check names the place",
    "EI0015": "the ranks did not all reach the root: check the host network and HCCL_SOCKET_IFNAME",
    "EI0016": "the TLS switch differs between NPUs: make it equal with hccn.cluster.device_tls",
    "EI0017": "an entry is missing in the rank table: hccn.cluster.rank_table_check names it",
    "EI0019": "a host port is taken: look for leftover processes, or set HCCL_IF_BASE_PORT",
    "EI0020": "an NPU's port is taken: look for leftover processes on it",
}

_ACL = re.compile(r"acl interface return err (\S+), retcode: ([0-9]+)")
_ACL_HINTS: Dict[str, str] = {
    "100000": "the runtime was initialised with an invalid parameter: source CANN's set_env.sh, compare driver and CANN versions",
    "207001": "not enough device memory: use a smaller end size or HCCL_BUFFSIZE, end other processes on the NPU",
    "507033": "the NPU could not be set up: it is lost, held by another process or without permission; see npu-smi info",
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
    "21": "an RDMA packet was lost for good: check link, optics and PFC between the NPUs that ~/ascend/log names",
    "24": _ACL_HINTS["207001"], "3": _ACL_HINTS["207001"], "207001": _ACL_HINTS["207001"],
}
_LOG_HINT = "see ~/ascend/log of the rank for the first ERROR line"


def find_errors(stdout: str, stderr: str = "") -> List[HccnError]:
    """Every known error once, the likely cause first. ``message`` is the tool's own line."""
    text = stdout + "\n" + stderr
    found = search(LAUNCH, text) + search(_PROGRAM, text) + _numbered(text) + search(_LOG, text) + search(_ROOTINFO, text)
    found += _returned(_ACL, "acl", {}, _ACL_HINTS, text) + _returned(_HCCL, "hccl", _HCCL_RESULTS, _HCCL_HINTS, text)
    return once(found + search(END, text))


def _numbered(text: str) -> List[HccnError]:
    """HCCL's own error numbers, in the order of the text."""
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
