# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The conclusion in a few lines for a terminal, independent of the number of hosts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...module_utils._core.words import npus, printable
from .conclusion import Conclusion
from .finding import HOST, NPU, Component, Finding, head, tail

MOST = 10
"""Findings that are displayed."""
LONGEST = 400
"""Characters of a line."""
_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
NAMED = 3
"""Hosts that a line names of many."""


def lines(conclusion: Conclusion) -> list[str]:
    """Return the headline and the worst findings."""
    found = grouped(conclusion.findings)
    shown = [conclusion.headline(), *(line(one) for one in found[:MOST])]
    if len(found) > MOST:
        more = len(found) - MOST
        shown.append(f"... and {more} more finding{'' if more == 1 else 's'}")
    return shown


def report_line(path: str | None, why_not: str = "") -> str:
    """Return the line with the path of the report, or why there is none. A path is never cut."""
    return f"Report: {printable(path, max(LONGEST, len(path)))}" if path else printable(f"No report: {why_not or 'none was requested'}", LONGEST)


def grouped(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with those that hosts have in common as one, at the position of the first."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, one in enumerate(findings):
        alike = len(one.hosts) == 1 and one.component.kind in (HOST, NPU)
        ids = tuple(device for _host, device in one.devices)
        key = (one.severity, one.cause, one.component.kind, _without_names(one), ids) if alike else (number,)
        groups.setdefault(key, []).append(one)
    return [_joined(alike) for alike in groups.values()]


def _without_names(one: Finding) -> str:
    """Return the message without the name and the addresses of the host."""
    return _ADDRESS.sub("*", one.message.replace(one.hosts[0], "*"))


def _joined(alike: list[Finding]) -> Finding:
    """Return one finding for all hosts. Its next step is that of the first host, as an example."""
    first = alike[0]
    hosts = tuple(dict.fromkeys(one.hosts[0] for one in alike if one.hosts))
    if len(hosts) < 2:
        return first
    name = ", ".join(hosts) if len(hosts) <= NAMED else f"{', '.join(hosts[:NAMED])} ... ({len(hosts)} hosts)"
    if first.component.kind == NPU:
        name += f": {npus(device for _host, device in first.devices)}"
    return replace(first, component=Component(first.component.kind, name), hosts=hosts, devices=tuple(npu for one in alike for npu in one.devices))


def line(one: Finding) -> str:
    """Return the line of a finding. If it is too long, the message is cut, not the next step."""
    start, end = head(one), tail(one)
    if len(start) + len(end) > LONGEST and len(end) <= LONGEST // 2:
        return printable(start, LONGEST - len(end)) + end
    return printable(start + end, LONGEST)
