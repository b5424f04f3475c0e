# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parsers of the queries that tell how a device is connected: one function a query, from its text to a value.

All raise ParseError for a text that they do not know; what a query says when it fails is in ``failures``.
Labels differ between versions of the tool: both forms are read (source: hicann/driver, and logs of 2025 A2 hosts).
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
"""What ``-net_health -g`` prints (older 910A: "Socket failed") and the values used here."""


@dataclass(frozen=True)
class Address:
    """``netmask`` is dotted for IPv4, the prefix length as text for IPv6."""

    address: str
    netmask: str


@dataclass(frozen=True)
class Ping:
    """``times_ms``: one for each answer, in order; ``lost`` of ``sent`` packets were not answered."""

    target: str
    sent: int
    received: int
    times_ms: Tuple[float, ...]
    reasons: Tuple[str, ...]

    @property
    def lost(self) -> int:
        return self.sent - self.received


def search(pattern: Pattern[str], text: str, query: str) -> Match[str]:
    """The first match in what ``query`` printed. Raises ParseError with the first line where there is none."""
    found = pattern.search(text)
    if found is None:
        first = text.strip().splitlines()
        raise ParseError("%s printed unexpected output: %s" % (query, repr(beginning(first[0], 120)) if first else "nothing"))
    return found


_IPV4 = re.compile(r"^ipaddr:\s*(\S+)\s*^netmask:\s*(\S+)", re.MULTILINE)
_IPV6 = re.compile(r"^ipv6_address:\s*(\S+)\s*^prefix_length:\s*(\d+)", re.MULTILINE)


def parse_address(text: str) -> Address:
    """``-ip [-inet6] -g``."""
    found = _IPV4.search(text) or search(_IPV6, text, "-ip -g")
    return Address(found.group(1), found.group(2))


_GATEWAY = re.compile(r"^(?:default )?gateway:\s*([^,\s]+)", re.MULTILINE)


def parse_gateway(text: str) -> str:
    """``-gateway [-inet6] -g``."""
    return search(_GATEWAY, text, "-gateway -g").group(1)


_NETDETECT = re.compile(r"^netdetect addr(?:ess)?:\s*(\S+)", re.MULTILINE)


def parse_netdetect(text: str) -> Optional[str]:
    """``-netdetect [-inet6] -g``; None where no address is set (the tool prints 0.0.0.0 or :: then)."""
    address = search(_NETDETECT, text, "-netdetect -g").group(1)
    return None if address in UNSET_ADDRESSES else address


_LINK = re.compile(r"^link status:\s*(UP|DOWN)\s*$", re.MULTILINE)


def parse_link(text: str) -> str:
    """``-link -g``: ``up`` or ``down``."""
    return search(_LINK, text, "-link -g").group(1).lower()


_HEALTH = re.compile(r"^net health status:\s*(\S[^\r\n]*?)\s*$", re.MULTILINE)


def parse_health(text: str) -> str:
    """``-net_health -g``: a value of HEALTH_STATES."""
    said = search(_HEALTH, text, "-net_health -g").group(1)
    if said not in HEALTH_STATES:
        raise ParseError("-net_health -g printed an unknown state: %r" % said)
    return HEALTH_STATES[said]


_PING_TARGET = re.compile(r"^device \d+ PING6? (\S+)", re.MULTILINE)
_PING_ANSWER = re.compile(r"recv seq=\d+,\s*time=([\d.]+)ms")
_PING_REASON = re.compile(r"(recv time out|Destination Host Unreachable|Message too long)")
PING_SUM = re.compile(r"(?<!\d)(\d+) packets transmitted, (\d+) received")
"""Nothing is begun in the middle of a number: of one that has no end each digit would be tried."""


def parse_ping(text: str) -> Ping:
    """``-ping -g``, also with packets lost: the tool then adds "Command execute failed!" and exits 1."""
    total = search(PING_SUM, text, "-ping -g")
    target = _PING_TARGET.search(text)
    return Ping(
        target.group(1) if target else "", count_of(total.group(1)), count_of(total.group(2)),
        tuple(float(time) for time in _PING_ANSWER.findall(text)), tuple(_PING_REASON.findall(text)),
    )


@dataclass(frozen=True)
class HccsPing:
    """Times in microseconds, None where no packet came back; ``reasons``: what was said of each packet that was not a success.

    ``plane_faults`` counts the packets whose check of the L1 plane was not 0x0, whatever became of them.
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
    """``-hccs_ping -g``. A packet without answer is printed with a time too, so only the summary counts. Raises ParseError."""
    total, target = search(PING_SUM, text, "-hccs_ping -g"), _TARGET.search(text)
    received = count_of(total.group(2))
    times = [_time(label, text) if received else None for label in ("min", "average", "max", "TP95")]
    return HccsPing(
        target.group(1) if target else "", count_of(total.group(1)), received, times[0], times[1], times[2], times[3],
        sum(1 for result in _PLANE.findall(text) if int(result, 16)), tuple(said for said in _PACKET.findall(text) if said != _SUCCESS),
    )
