# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parsers of the queries about the network of a device. Each function parses the output of one query.

All functions raise ParseError for unknown output. Failure messages of queries are in ``failures``.
Labels differ between versions of the tool, and all known labels are supported (source: hicann/driver, and logs of A2 hosts of 2025).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Match, Optional, Pattern, Tuple

from .._core.errors import ParseError
from .._core.numbers import count_of
from .._core.words import beginning

UNSET_ADDRESSES = ("0.0.0.0", "::")

HEALTH_STATES = {
    "Success": "success", "Socket fail": "socket_fail", "Socket failed": "socket_fail", "Receive timeout": "receive_timeout",
    "Unreachable": "unreachable", "Time exceeded": "time_exceeded", "Fault": "fault", "Init": "init",
    "Thread error": "thread_error", "Detect ip set": "detect_ip_set", "Unknown": "unknown",
}
"""States that ``-net_health -g`` prints (older 910A: "Socket failed"), and their values."""


@dataclass(frozen=True)
class Address:
    """An address. ``netmask`` is the dotted netmask for IPv4, and the prefix length as text for IPv6."""

    address: str
    netmask: str


@dataclass(frozen=True)
class Ping:
    """The result of a ping. ``times_ms``: one for each reply, in order. ``lost`` of ``sent`` packets were not answered."""

    target: str
    sent: int
    received: int
    times_ms: Tuple[float, ...]
    reasons: Tuple[str, ...]

    @property
    def lost(self) -> int:
        return self.sent - self.received


def search(pattern: Pattern[str], text: str, query: str) -> Match[str]:
    """Return the first match in the output of ``query``. Raises ParseError with the first line if there is none."""
    found = pattern.search(text)
    if found is None:
        first = text.strip().splitlines()
        raise ParseError("%s printed unexpected output: %s" % (query, repr(beginning(first[0], 120)) if first else "nothing"))
    return found


_IPV4 = re.compile(r"^ipaddr:\s*(\S+)\s*^netmask:\s*(\S+)", re.MULTILINE)
_IPV6 = re.compile(r"^ipv6_address:\s*(\S+)\s*^prefix_length:\s*(\d+)", re.MULTILINE)


def parse_address(text: str) -> Address:
    """Parse ``-ip [-inet6] -g``."""
    found = _IPV4.search(text) or search(_IPV6, text, "-ip -g")
    return Address(found.group(1), found.group(2))


_GATEWAY = re.compile(r"^(?:default )?gateway:\s*([^,\s]+)", re.MULTILINE)


def parse_gateway(text: str) -> str:
    """Parse ``-gateway [-inet6] -g``."""
    return search(_GATEWAY, text, "-gateway -g").group(1)


_NETDETECT = re.compile(r"^netdetect addr(?:ess)?:\s*(\S+)", re.MULTILINE)


def parse_netdetect(text: str) -> Optional[str]:
    """Parse ``-netdetect [-inet6] -g``. Return None if no address is set, for which the tool prints 0.0.0.0 or ::."""
    address = search(_NETDETECT, text, "-netdetect -g").group(1)
    return None if address in UNSET_ADDRESSES else address


_LINK = re.compile(r"^link status:\s*(UP|DOWN)\s*$", re.MULTILINE)


def parse_link(text: str) -> str:
    """Parse ``-link -g``, and return ``up`` or ``down``."""
    return search(_LINK, text, "-link -g").group(1).lower()


_HEALTH = re.compile(r"^net health status:\s*(\S[^\r\n]*?)\s*$", re.MULTILINE)


def parse_health(text: str) -> str:
    """Parse ``-net_health -g``, and return a value of HEALTH_STATES."""
    value = search(_HEALTH, text, "-net_health -g").group(1)
    if value not in HEALTH_STATES:
        raise ParseError("-net_health -g printed an unknown state: %r" % value)
    return HEALTH_STATES[value]


_PING_TARGET = re.compile(r"^device \d+ PING6? (\S+)", re.MULTILINE)
_PING_ANSWER = re.compile(r"recv seq=\d+,\s*time=([\d.]+)ms")
_PING_REASON = re.compile(r"(recv time out|Destination Host Unreachable|Message too long)")
PING_SUM = re.compile(r"(?<!\d)(\d+) packets transmitted, (\d+) received")
"""The lookbehind prevents a match attempt at every digit of a very long number."""


def parse_ping(text: str) -> Ping:
    """Parse ``-ping -g``, also with lost packets, for which the tool adds "Command execute failed!" and exits with 1."""
    total = search(PING_SUM, text, "-ping -g")
    target = _PING_TARGET.search(text)
    return Ping(
        target.group(1) if target else "", count_of(total.group(1)), count_of(total.group(2)),
        tuple(float(time) for time in _PING_ANSWER.findall(text)), tuple(_PING_REASON.findall(text)),
    )


@dataclass(frozen=True)
class HccsPing:
    """The result of an hccs_ping. Times are in microseconds, None if no packet came back. ``reasons``: the message for each packet without success.

    ``plane_faults`` counts packets whose L1 plane check did not return 0x0, whether they were lost or not.
    """

    target: str
    sent: int
    received: int
    min_us: Optional[float]
    average_us: Optional[float]
    max_us: Optional[float]
    p95_us: Optional[float]
    plane_faults: int
    reasons: Tuple[str, ...]

    @property
    def lost(self) -> int:
        return self.sent - self.received


_TARGET = re.compile(r"^device \d+ PING (\S+)", re.MULTILINE)
_PACKET = re.compile(r"^This pkt (.+)!\s*$", re.MULTILINE)
_PLANE = re.compile(r"L1 plane check result = (0x[0-9a-fA-F]+)")
_SUCCESS = "ping success"


def _time(label: str, text: str) -> float:
    return float(search(re.compile(r"^%s time (\d+\.\d+)us" % label, re.MULTILINE), text, "-hccs_ping -g").group(1))


def parse_hccs_ping(text: str) -> HccsPing:
    """Parse ``-hccs_ping -g``. Times are taken from the summary, since lost packets are printed with a time as well. Raises ParseError."""
    total, target = search(PING_SUM, text, "-hccs_ping -g"), _TARGET.search(text)
    received = count_of(total.group(2))
    times = [_time(label, text) if received else None for label in ("min", "average", "max", "TP95")]
    return HccsPing(
        target.group(1) if target else "", count_of(total.group(1)), received, times[0], times[1], times[2], times[3],
        sum(1 for result in _PLANE.findall(text) if int(result, 16)), tuple(value for value in _PACKET.findall(text) if value != _SUCCESS),
    )
