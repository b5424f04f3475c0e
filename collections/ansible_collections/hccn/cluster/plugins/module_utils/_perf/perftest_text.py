# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The report of linux-rdma/perftest, which the NPU's own perftest (roce_test) prints too: the table, and what it says when it fails.

Columns are taken from the heading, since versions differ in width, unit and number of columns: "MB/sec" and "MiB/sec" both are 2^20
bytes a second, "Gb/sec" is 10^9 bits. Warnings may stand between heading and rows. The table may be there although the test failed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import HccnError, ParseError

_GBIT_S = {"Gb": 1.0, "MB": 8 * 1.048576 / 1000, "MiB": 8 * 1.048576 / 1000}


class Failure(NamedTuple):
    """``text`` is looked for inside a line."""

    text: str
    code: str
    hint: str


CONNECTION_REFUSED = "connection_refused"

# Source: linux-rdma/perftest up to 6.29. The specific texts first.
FAILURES: Tuple[Failure, ...] = (
    Failure("Couldn't connect to", CONNECTION_REFUSED,
            "the server was not up yet, or its port is blocked: check route and firewall, and server_start_delay"),
    Failure("Couldn't listen to port", "port_in_use", "another perftest listens there: end it, or take another port"),
    Failure("Failed status 12", "retry_exceeded", "packets do not come through: check cable, switch port, MTU and PFC of both ends"),
    Failure("Failed status-transport retry counter exceeded", "retry_exceeded",
            "packets do not come through: check cable, switch port, MTU and PFC of both ends"),
    Failure("Completion with error", "completion_error", "the transfer was broken off: look at the counters of both ends"),
    Failure("to RTR", "connect_failed", "no route between the two ports, or a wrong GID: check addresses, gateways and gid_index"),
    Failure("Found Incompatibility issue with GID types", "gid_mismatch", "both ends need an IPv4 or both an IPv6 GID of the same RoCE version"),
    Failure("state is Down", "port_down", "check cable, optical module and switch port"),
    Failure("No IB devices found", "no_rdma_device", "is the driver loaded?"),
    Failure("Couldn't allocate MR", "memory_registration", "the limit of locked memory is too low (ulimit -l), or the size too large"),
    Failure("Failed to create MR", "memory_registration", "the limit of locked memory is too low (ulimit -l), or the size too large"),
    Failure("Failed to exchange data between server and clients", "options_differ", "both ends need the same test and options"),
    Failure("Failed to complete run_iter", "transfer_failed", "the transfer was broken off: look at the counters of both ends"),
    Failure("not compatible with versions older than", "version_mismatch", "the perftest of the two ends do not fit together"),
    Failure("Parser function exited with Error", "bad_option", "this version of perftest does not take one of the options"),
)


def failure_in(text: str) -> Optional[HccnError]:
    """The first known failure that the report tells of, None where there is none."""
    lines = text.splitlines()
    for failure in FAILURES:
        for line in lines:
            if failure.text in line:
                return HccnError(failure.code, line.strip(), failure.hint)
    return None


# Lines of tests that end well: notices, titles, settings, addresses, the table.
_ORDINARY = re.compile(
    r"new post send flow is not supported.*|Conflicting CPU frequency values.*|Device not recognized to implement inline.*|Waiting for client.*"
    r"|[\w ]+ Test|[\w./ -]+ : .*|(?:local|remote) address:.*|GID:.*|#bytes.*|[\d.\s]+|"
)


def first_words(text: str) -> str:
    """The first line that tells a reason, for reports that are not understood."""
    lines = [line.strip(" -*\t") for line in text.splitlines()]
    return next((line[:160] for line in lines if _ORDINARY.fullmatch(line) is None), "the report names no reason")


_COLUMN = re.compile(
    r"#bytes|#iterations|BW peak ?\[\w+/sec\]|BW average ?\[\w+/sec\]|MsgRate ?\[Mpps\]|t_(?:min|max|typical|avg|stdev) ?\[usec\]"
    r"|99(?:\.9)?% percentile ?\[usec\]|tps average|CPU_Util ?\[%\]"
)
_BANDWIDTH = re.compile(r"BW average ?\[(\w+)/sec\]")
_LATENCIES = {"t_min": "min", "t_typical": "typical", "t_avg": "avg", "99% percentile": "p99", "t_max": "max"}


@dataclass(frozen=True)
class Row:
    """One message size. ``bandwidth_gbit_s`` is the average (the peak is 0 on receivers and in runs by duration); ``latency_us`` by word."""

    size_bytes: int
    iterations: int
    bandwidth_gbit_s: Optional[float]
    latency_us: Optional[Mapping[str, float]]

    def as_sample(self) -> Dict[str, object]:
        """As in the samples of a record."""
        sample: Dict[str, object] = {"size_bytes": self.size_bytes, "iterations": self.iterations}
        if self.bandwidth_gbit_s is not None:
            sample["bandwidth_gbit_s"] = self.bandwidth_gbit_s
        if self.latency_us is not None:
            sample["latency_us"] = dict(self.latency_us)
        return sample


def parse_rows(text: str) -> Tuple[Row, ...]:
    """The rows of the table, none where there is no table. Raises ParseError for a heading that is not known."""
    columns: List[str] = []
    rows: List[Row] = []
    for line in text.splitlines():
        if "#bytes" in line:
            columns = _heading(line)
            continue
        words = line.split()
        if columns and len(words) == len(columns) and words[0].isdigit():
            rows.append(_row(columns, words, line))
    return tuple(rows)


def _heading(line: str) -> List[str]:
    columns = [found.group(0) for found in _COLUMN.finditer(line)]
    rest = _COLUMN.sub("", line).strip()
    if rest or columns[:2] != ["#bytes", "#iterations"]:
        raise ParseError("the table of perftest has an unknown heading: %s" % line.strip()[:160])
    return columns


def _row(columns: Sequence[str], words: Sequence[str], line: str) -> Row:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise ParseError("a row of perftest's table holds something else than numbers: %s" % line.strip()[:160]) from None
    bandwidth = None
    latency = {}
    for column, number in zip(columns, numbers):
        found = _BANDWIDTH.fullmatch(column)
        if found:
            bandwidth = _gbit_s(number, found.group(1))
        name = column.split("[")[0].strip()
        if name in _LATENCIES:
            latency[_LATENCIES[name]] = number
    if bandwidth is None and not latency:
        raise ParseError("the table of perftest shows neither bandwidth nor latency: %s" % " ".join(columns))
    return Row(int(words[0]), int(numbers[1]), bandwidth, latency or None)


def _gbit_s(number: float, unit: str) -> float:
    if unit not in _GBIT_S:
        raise ParseError("perftest's table is in an unknown unit: %s/sec" % unit)
    return round(number * _GBIT_S[unit], 6)
