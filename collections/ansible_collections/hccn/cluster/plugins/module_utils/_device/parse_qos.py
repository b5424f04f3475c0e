# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parsers of the queries about how a device marks, queues and limits its RoCE traffic.

All functions raise ParseError for unknown output (source: hicann/driver, tool.c, tool_roce.c, tool_prio_tc.c).
"""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, Pattern, Union

from .._core.errors import ParseError
from .._core.numbers import count_of, is_count
from .conf_values import DSCPS, PRIORITIES
from .parse_network import search

_UDP_PORT = re.compile(r"^udp_port:\s*(\S.*?)\s*$", re.MULTILINE)
_UDP_STATUS = re.compile(r"^status:\s*(custom|auto|multi_qp|code)\b", re.MULTILINE)
_UDP_UNKNOWN = re.compile(r"^Unknown udp port", re.MULTILINE)


def parse_roce_port(text: str) -> Union[int, str]:
    """Parse ``-udp -g``. Return the UDP source port, or how the device chooses it: auto, multi_qp or code; unknown if it does not report it.

    Ports of single pairs of addresses may follow. They are ignored.
    """
    if _UDP_UNKNOWN.search(text):
        return "unknown"
    port = search(_UDP_PORT, text, "-udp -g").group(1)
    status = search(_UDP_STATUS, text, "-udp -g").group(1)
    if status != "custom":
        return status
    if not is_count(port):
        raise ParseError("-udp -g printed no number as its custom port: %r" % port)
    return int(port)


_SHAPING = re.compile(r"^bw_limit\[(\d+) Mbps\]", re.MULTILINE)


def parse_shaping(text: str) -> int:
    """Parse ``-shaping -g``, and return the limit in Mbit/s."""
    return count_of(search(_SHAPING, text, "-shaping -g").group(1))


_PFC = re.compile(r"^enabled((?:\s+[01]){%d})\s*$" % PRIORITIES, re.MULTILINE)
_PRIO_TC = re.compile(r"^TC((?:\s+\d+){%d})\s*$" % PRIORITIES, re.MULTILINE)


def _by_priority(pattern: Pattern[str], text: str, query: str) -> List[int]:
    return [count_of(word) for word in search(pattern, text, query).group(1).split()]


def parse_pfc(text: str) -> List[int]:
    """Parse ``-pfc -g``. Return a number for each priority of 0 to 7: 1 with flow control, 0 without."""
    return _by_priority(_PFC, text, "-pfc -g")


def parse_prio_tc(text: str) -> List[int]:
    """Parse ``-prio_tc -g``, and return the traffic class of each priority of 0 to 7."""
    return _by_priority(_PRIO_TC, text, "-prio_tc -g")


_DSCP = re.compile(r"^\s*(\d+)\s+(\d+)\s*$", re.MULTILINE)


def parse_dscp_to_tc(text: str) -> Dict[str, int]:
    """Parse ``-dscp_to_tc -g``, and return the traffic class of each DSCP value. DSCP values are texts, since they are keys in JSON."""
    found = {dscp: count_of(tc) for dscp, tc in _DSCP.findall(text)}
    if len(found) != DSCPS:
        raise ParseError("-dscp_to_tc -g reported %d of %d DSCP values" % (len(found), DSCPS))
    return found


def dscp_ranges(classes: Mapping[str, int]) -> str:
    """Return the traffic classes of all DSCP values as a short text: ``0-15: 0, 16-63: 1``."""
    parts: List[List[int]] = []
    for dscp, tc in sorted((int(dscp), tc) for dscp, tc in classes.items()):
        if parts and parts[-1][1:] == [dscp - 1, tc]:
            parts[-1][1] = dscp
        else:
            parts.append([dscp, dscp, tc])
    return ", ".join("%s: %d" % ("%d" % first if first == last else "%d-%d" % (first, last), tc) for first, last, tc in parts)
