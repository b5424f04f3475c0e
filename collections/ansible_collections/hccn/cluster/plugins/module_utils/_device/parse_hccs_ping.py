# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parser of ``-hccs_ping -g``: packets over the inner network of an A3 super pod (source: hicann/driver, hccn_product_ext/tool_cmd.c)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional, Tuple

from .._core.numbers import count_of
from .parse_network import PING_SUM, search


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
