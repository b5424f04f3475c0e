# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parse the report of linux-rdma/perftest: its table and its error texts. The perftest of the NPU (roce_test) prints the same report.

Columns are read from the heading, since versions differ in width, unit and number of columns: "MB/sec" and "MiB/sec" are both 2^20
bytes per second, "Gb/sec" is 10^9 bits per second. Warnings may occur between heading and rows. A failed test may print a table, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import HccnError, ParseError
from .._core.numbers import count_of, is_count
from .._core.words import beginning

_GBIT_S = {"Gb": 1.0, "MB": 8 * 1.048576 / 1000, "MiB": 8 * 1.048576 / 1000}


_ROUNDED_TO_0_GBIT_S = 0.005 * 1.02
"""Largest bandwidth that may be printed as 0.00, in the largest of these units, with the rounding of the message rate."""


class Failure(NamedTuple):
    """``text`` is searched for inside a line. ``here``: the cause is on the side that reports it, not anywhere between the two."""

    text: str
    code: str
    hint: str
    here: bool = False


CONNECTION_REFUSED = "connection_refused"
PEER_ENDED = "peer_ended"
CLOCK_NOT_MEASURED, CLOCK_HINT = "clock_not_measured", "the host was too busy to measure its clock: run the test again on idle cores"

_PACKETS = "packets are lost: check cable, switch port, MTU and PFC on both sides"
_COUNTERS = "the transfer was interrupted: check the counters on both sides"
_DRIVER = "check that the driver is loaded; see hccn.cluster.rdma_info"
_NO_SUBNET_MANAGER = "the link is up, but the port is not active: on InfiniBand, check that a subnet manager is running"
_MEMLOCK = "the limit of locked memory is too low (ulimit -l), or the size is too large"
_OTHER_SIDE = "see the error of the other side; both sides need the same test and options"

# Source: linux-rdma/perftest up to 6.29, and runs of 4.5 and 25.01. Specific texts come before general ones.
FAILURES: Tuple[Failure, ...] = (
    Failure("Couldn't connect to", CONNECTION_REFUSED,
            "the server was not running yet, or its port is blocked: check route and firewall, or raise server_start_delay"),
    Failure("Couldn't listen to port", "port_in_use", "another perftest listens on this port: end it, or use another port", here=True),
    Failure("Failed status 12", "retry_exceeded", _PACKETS),
    Failure("Failed status-transport retry counter exceeded", "retry_exceeded", _PACKETS),
    Failure("Completion with error", "completion_error", _COUNTERS),
    Failure("Unexpected CM event", "connect_failed", "rdma_cm cannot connect: check addresses, routes, and that the other side runs the same test with -R"),
    Failure("to RTR", "connect_failed", "no route between the two ports, or a wrong GID: check addresses, gateways and gid_index"),
    Failure("Found Incompatibility issue with GID types", "gid_mismatch", "both sides need a GID of the same RoCE version and address family"),
    Failure("state is Down", "port_down", "check cable, optical module and switch port", here=True),
    Failure("state is Init", "port_down", _NO_SUBNET_MANAGER, here=True),
    Failure("state is Armed", "port_down", _NO_SUBNET_MANAGER, here=True),
    Failure("Is SM running?", "port_down", _NO_SUBNET_MANAGER, here=True),
    Failure("No IB devices found", "no_rdma_device", _DRIVER, here=True),
    Failure("IB device ", "no_rdma_device", _DRIVER, here=True),
    Failure("Did not detect devices", "no_rdma_device", _DRIVER, here=True),
    Failure("Unable to query port", "no_rdma_port", "the device has no such port: see hccn.cluster.rdma_info", here=True),
    Failure("Couldn't allocate MR", "memory_registration", _MEMLOCK, here=True),
    Failure("Failed to create MR", "memory_registration", _MEMLOCK, here=True),
    Failure("BW result is below bw limit", "below_limit", "the measured bandwidth is below the limit that was given to perftest"),
    Failure("Can't produce a report", CLOCK_NOT_MEASURED, CLOCK_HINT, here=True),
    Failure("Failed to exchange ", PEER_ENDED, _OTHER_SIDE),
    Failure("Failed to sync between server and client", PEER_ENDED, _OTHER_SIDE),
    Failure("Unable to read from socket/rdma_cm", PEER_ENDED, _OTHER_SIDE),
    Failure("Failed to close connection between server and client", PEER_ENDED, _OTHER_SIDE),
    Failure("Failed to complete run_iter", "transfer_failed", _COUNTERS),
    Failure("not compatible with versions older than", "version_mismatch", "the versions of perftest on the two sides are not compatible"),
    Failure("Problem in resolving basic address and port", "unknown_address",
            "the name does not resolve, or the address is not of the requested family", here=True),
    Failure("unrecognized option", "bad_option", "this version of perftest does not accept one of the options", here=True),
    Failure("Number of iterations must be a multiple of post list size", "bad_option",
            "give a number of iterations that is a multiple of the post list", here=True),
    Failure("should be between", "bad_option", "this version of perftest does not accept one of the values", here=True),
    Failure("Parser function exited with Error", "bad_option", "this version of perftest does not accept one of the options", here=True),
)
OF_EITHER_SIDE = frozenset(failure.code for failure in FAILURES if not failure.here)
"""Codes of failures whose cause may be on either side, or between them."""

# The formats of releases up to 25.07, of 25.10, and from 26.01 on. Each contains the number of enum ibv_wc_status.
_COMPLETION = re.compile(r"Failed status(?:-[^(]*\((?P<named>\d+)\)| (?P<bare>\d+)): (?:qp_num \d+ )?wr_id \d+ syndrom (?P<syndrome>0x[0-9a-f]+)")
_COMPLETIONS = {  # libibverbs, ibv_wc_status_str
    1: "local length error", 2: "local QP operation error", 4: "local protection error", 5: "work request flushed", 7: "bad response", 8: "local access error",
    9: "remote invalid request", 10: "remote access error", 11: "remote operation error", 12: "transport retry counter exceeded",
    13: "RNR retry counter exceeded", 21: "general error",
}
_COMPLETION_CODES = {
    12: ("retry_exceeded", _PACKETS),
    13: ("receiver_not_ready", "the other side does not accept messages: check whether it hangs or is overloaded"),
}


def failure_in(text: str) -> Optional[HccnError]:
    """Return the first known failure in the report, or None."""
    completion = _COMPLETION.search(text)
    if completion:
        status = count_of(completion.group("named") or completion.group("bare"))
        code, hint = _COMPLETION_CODES.get(status, ("completion_error", _COUNTERS))
        return HccnError(code, "completion error: %s (status %d, syndrome %s)" % (
            _COMPLETIONS.get(status, "unknown status"), status, completion.group("syndrome")), hint)
    lines = text.splitlines()
    for failure in FAILURES:
        for line in lines:
            if failure.text in line:
                return HccnError(failure.code, line.strip(), failure.hint)
    return None


# Lines of successful tests: notices, titles, settings, addresses, the table.
_ORDINARY = re.compile(
    r"new post send flow is not supported.*|Conflicting CPU frequency values.*|Device not recognized to implement inline.*|Waiting for client.*"
    r"|WARNING: BW peak won't be measured.*|Disabling dynamic polling|[\w ]+ Test|[\w./ -]+ : .*|(?:local|remote) address:.*|GID:.*|#bytes.*|[\d.\s]+|"
)


def first_words(text: str) -> str:
    """Return the first line that a successful test does not print, as the reason of an unknown failure."""
    lines = [line.strip(" -*\t") for line in text.splitlines()]
    return next((beginning(line, 160) for line in lines if _ORDINARY.fullmatch(line) is None), "the report gives no reason")


_COLUMN = re.compile(
    r"#bytes|#iterations|BW peak ?\[\w+/sec\]|BW average ?\[\w+/sec\]|MsgRate ?\[Mpps\]|t_(?:min|max|typical|avg|stdev) ?\[usec\]"
    r"|99(?:\.9)?% percentile ?\[usec\]|tps average|CPU_Util ?\[%\]"
)
_BANDWIDTH = re.compile(r"BW average ?\[(\w+)/sec\]")
_MESSAGES = re.compile(r"MsgRate ?\[Mpps\]")
_LATENCIES = {"t_min": "min", "t_typical": "typical", "t_avg": "avg", "99% percentile": "p99", "t_max": "max"}


@dataclass(frozen=True)
class PerftestRow:
    """One message size. ``bandwidth_gbit_s`` is the average (the peak is 0 on receivers and in runs by duration); ``latency_us`` has keys such as ``p99``.

    ``messages_mpps``: million messages per second, with six decimals.
    """

    size_bytes: int
    iterations: int
    bandwidth_gbit_s: Optional[float]
    latency_us: Optional[Mapping[str, float]]
    messages_mpps: Optional[float] = None

    def as_sample(self) -> Dict[str, object]:
        """Return the row as a sample of a record."""
        sample: Dict[str, object] = {"size_bytes": self.size_bytes, "iterations": self.iterations}
        if self.bandwidth_gbit_s is not None:
            sample["bandwidth_gbit_s"] = self.bandwidth_gbit_s
        if self.latency_us is not None:
            sample["latency_us"] = dict(self.latency_us)
        return sample


def is_without_traffic(rows: Sequence[PerftestRow]) -> bool:
    """Return True if no row of the table has a bandwidth above 0. Single small values of a sweep are rounded to 0."""
    found = [row.bandwidth_gbit_s for row in rows if row.bandwidth_gbit_s is not None]
    return bool(found) and not any(found)


def parse_rows(text: str) -> Tuple[PerftestRow, ...]:
    """Return the rows of the table, none if there is no table. Raises ParseError for an unknown heading."""
    columns: List[str] = []
    rows: List[PerftestRow] = []
    for line in text.splitlines():
        if "#bytes" in line:
            columns = _heading(line)
            continue
        words = line.split()
        if columns and len(words) == len(columns) and is_count(words[0]):
            rows.append(_row(columns, words, line))
    return tuple(rows)


def _heading(line: str) -> List[str]:
    columns = [found.group(0) for found in _COLUMN.finditer(line)]
    rest = _COLUMN.sub("", line).strip()
    if rest or columns[:2] != ["#bytes", "#iterations"]:
        raise ParseError("perftest printed a table with an unknown heading: %s" % beginning(line.strip(), 160))
    return columns


def _row(columns: Sequence[str], words: Sequence[str], line: str) -> PerftestRow:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise ParseError("perftest printed a row that does not consist of numbers: %s" % beginning(line.strip(), 160)) from None
    bandwidth = messages = None
    latency = {}
    for column, number in zip(columns, numbers):
        found = _BANDWIDTH.fullmatch(column)
        if found:
            bandwidth = _gbit_s(number, found.group(1))
        elif _MESSAGES.fullmatch(column):
            messages = number
        name = column.split("[")[0].strip()
        if name in _LATENCIES:
            latency[_LATENCIES[name]] = number
    if bandwidth == 0 and messages and 0 < messages * numbers[0] * 8 / 1000 <= _ROUNDED_TO_0_GBIT_S:
        # The bandwidth has two decimals, the message rate has six.
        bandwidth = round(messages * numbers[0] * 8 / 1000, 6)
    if bandwidth is None and not latency:
        raise ParseError("perftest printed a table without bandwidth or latency: %s" % " ".join(columns))
    return PerftestRow(size_bytes=int(words[0]), iterations=int(numbers[1]), bandwidth_gbit_s=bandwidth, latency_us=latency or None, messages_mpps=messages)


def _gbit_s(number: float, unit: str) -> float:
    if unit not in _GBIT_S:
        raise ParseError("perftest printed a table in an unknown unit: %s/sec" % unit)
    return round(number * _GBIT_S[unit], 6)
