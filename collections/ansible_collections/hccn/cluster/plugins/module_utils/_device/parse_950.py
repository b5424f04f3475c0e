# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parsers of the queries of the 950, whose hccn_tool has a different command line and output. Each function parses the output of one query.

Queries are made for each port: ``hccn_tool -g -COMMAND -i NPU [-u UDIE -p PORT]``. Source: the manual Ascend_950_HCCN_Tool of hicann/driver; not
verified on hardware. Setting TLS reports success with the same text as on A2 (``failures.SUCCESS``), and ``-g -link`` prints the text of ``parse_link``.
All functions raise ParseError for unknown output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.errors import ParseError
from .._core.numbers import count_of, is_count
from .._core.words import beginning
from .parse_network import search

_DIALECT = re.compile(r"^\s*hccn_tool -mode -cmd -npu_info\b", re.MULTILINE)


def is_950_help(text: str) -> bool:
    """Return True if this is the output of ``hccn_tool -h`` of the 950."""
    return _DIALECT.search(text) is not None


@dataclass(frozen=True)
class Port950:
    """The port of a row, with the NPU id of npu-smi, the die and the port number."""

    npu: int
    udie: int
    port: int


def _rows(text: str, heading: Sequence[str], query: str) -> List[List[str]]:
    """Return the rows of a table below the row ``heading``. Raises ParseError if the heading is missing or a row has a different length."""
    search(re.compile(r"^\|\s*" + r"\s*\|\s*".join(heading) + r"\s*\|\s*$", re.MULTILINE), text, query)
    lines = [line.strip() for line in text.splitlines()]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    for row in rows[1:]:
        if len(row) != len(heading) or not all(is_count(cell) for cell in row[:3]):
            raise ParseError("%s printed an unknown row: %r" % (query, beginning(" | ".join(row), 120)))
    return rows[1:]


def _port(row: Sequence[str]) -> Port950:
    return Port950(int(row[0]), int(row[1]), int(row[2]))


@dataclass(frozen=True)
class LinkChanges950:
    """The link changes of a port. ``records``: (port, time as printed, up or down), newest first."""

    ups: int
    downs: int
    records: Tuple[Tuple[Port950, str, str], ...]


_UPS = re.compile(r"^link up count\s*:\s*(\d+)", re.MULTILINE)
_DOWNS = re.compile(r"^link down count\s*:\s*(\d+)", re.MULTILINE)
_CHANGES_HEAD = ("NPU", "UDie", "Port", "Link_Status", "Time_Stamp")
_CHANGES: Mapping[str, str] = {"LINK_UP": "up", "LINK_DOWN": "down"}


def parse_link_changes(text: str) -> LinkChanges950:
    """Parse ``-g -link_stat``."""
    query = "-g -link_stat"
    ups, downs = search(_UPS, text, query), search(_DOWNS, text, query)
    rows = _rows(text, _CHANGES_HEAD, query)
    for row in rows:
        if row[3] not in _CHANGES:
            raise ParseError("%s printed an unknown link status: %r" % (query, beginning(row[3], 120)))
    return LinkChanges950(count_of(ups.group(1)), count_of(downs.group(1)), tuple((_port(row), row[4], _CHANGES[row[3]]) for row in rows))


@dataclass(frozen=True)
class Speed:
    """The speed of a port. ``gbit_s`` is None for a port that is down, ``capability`` and ``width`` are lanes such as X4, ``status`` is a text of the tool."""

    port: Port950
    gbit_s: Optional[int]
    capability: str
    width: str
    status: str


@dataclass(frozen=True)
class DevicePort:
    """A port of ``-g -dev_info``, with its position on the NPU, its capabilities, and its link, ``up`` or ``down``."""

    udie: int
    port: int
    gbit_s: int
    kind: str
    link: str
    media: str


_PORTS_HEAD = ("UDie ID", "Port ID", r"Speed Ability\(Gbps\)", "Port Type", "Link Status", "Media Type")
_INTERFACES = re.compile(r"[\s|+-]*Interface Name\b")
_PORT_LINKS: Mapping[str, str] = {"UP": "up", "DOWN": "down"}


def parse_device_ports(text: str) -> Tuple[DevicePort, ...]:
    """Parse the first table of ``-g -dev_info``. A single card without a neighbour has no valid port."""
    query = "-g -dev_info"
    if _INTERFACES.match(text):
        return ()
    search(re.compile(r"^\|\s*" + r"\s*\|\s*".join(_PORTS_HEAD) + r"\s*\|\s*$", re.MULTILINE), text, query)
    ports: List[DevicePort] = []
    for line in text.split("Interface Name")[0].splitlines():
        row = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.strip().startswith("|") or row[0] in ("UDie ID", ""):
            continue
        if len(row) != len(_PORTS_HEAD) or not all(is_count(cell) for cell in row[:3]) or row[4] not in _PORT_LINKS:
            raise ParseError("%s printed an unknown row: %r" % (query, beginning(line.strip(), 120)))
        ports.append(DevicePort(int(row[0]), int(row[1]), int(row[2]), row[3], _PORT_LINKS[row[4]], row[5]))
    return tuple(ports)


_SPEED_HEAD = ("NPU", "UDie", "Port", "Speed", "Cap", "Width", "Status")
_GBIT = re.compile(r"^(\d+) G$")


def parse_speed(text: str) -> Tuple[Speed, ...]:
    """Parse ``-g -speed``, and return one value for each row."""
    query = "-g -speed"
    return tuple(Speed(_port(row), _gbit_s(row[3], query), row[4], row[5], row[6]) for row in _rows(text, _SPEED_HEAD, query))


def _gbit_s(text: str, query: str) -> Optional[int]:
    return None if text == "unknown" else count_of(search(_GBIT, text, query).group(1))


_COUNTER = re.compile(r"^(\w+):\s*(\d+)\s*$", re.MULTILINE)
_NOT_COUNTED = ("port_id", "is_uboe_port")


def parse_counters(text: str) -> Dict[str, int]:
    """Parse ``-g -stat``, and return the counters of a port by the names that the tool prints."""
    search(re.compile(r"^packet statistics:\s*^port_id:\s*\d+", re.MULTILINE), text, "-g -stat")
    return {name: count_of(value) for name, value in _COUNTER.findall(text) if name not in _NOT_COUNTED}


@dataclass(frozen=True)
class PortInfo:
    """The values of the two layers of a port, as the tool prints them. Both may contain the same name with different values."""

    port: int
    link: Mapping[str, str]
    physical: Mapping[str, str]


_PORT_ID = re.compile(r"^port_id:\s*(0x[0-9a-fA-F]+|\d+)\s*$", re.MULTILINE)
_SECTION = re.compile(r"^=+ (UB PORT LINK INFO|UB DLPHY INFO) =+\s*$", re.MULTILINE)
_FIELD = re.compile(r"^(\w+):[ \t]*(.*?)\s*$", re.MULTILINE)


def parse_port_info(text: str) -> PortInfo:
    """Parse ``-g -port_info``."""
    query = "-g -port_info"
    port = search(_PORT_ID, text, query).group(1)
    search(_SECTION, text, query)
    headings = list(_SECTION.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    parts = {heading.group(1): dict(_FIELD.findall(text[heading.end():end])) for heading, end in zip(headings, ends)}
    return PortInfo(int(port, 0), parts.get("UB PORT LINK INFO", {}), parts.get("UB DLPHY INFO", {}))


@dataclass(frozen=True)
class UbConnect:
    """The link states of an NPU: ``link`` is up, down, partial or unknown, ``ports`` are up, down, partial, initial or unknown, by port number."""

    link: str
    ports: Mapping[int, str]


_CONNECT_STATES: Mapping[str, str] = {"UP": "up", "DOWN": "down", "PARTIAL LINK": "partial", "PARTIAL UP": "partial", "INITIAL": "initial",
                                      "NA": "unknown"}
_CONNECT = re.compile(r"^link status\s*:\s*(UP|DOWN|PARTIAL LINK|NA)\s*$", re.MULTILINE)
_CONNECT_PORT = re.compile(r"^port (\d+)\s*:\s*(\S.*?)\s*$", re.MULTILINE)


def parse_ub_connect(text: str) -> UbConnect:
    """Parse ``-g -ub_connect``."""
    query = "-g -ub_connect"
    link = search(_CONNECT, text, query).group(1)
    ports: Dict[int, str] = {}
    for number, value in _CONNECT_PORT.findall(text):
        if value not in _CONNECT_STATES:
            raise ParseError("%s printed an unknown state of port %s: %r" % (query, number, beginning(value, 120)))
        ports[count_of(number)] = _CONNECT_STATES[value]
    return UbConnect(_CONNECT_STATES[link], ports)
