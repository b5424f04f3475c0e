# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Merge findings about the same thing, and drop those that follow from another finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...module_utils._core.words import natural
from .evidence import QUOTE, Evidence, of_text
from .finding import MOST_EVIDENCE, NPU, ON_HOST, PAIR, Device, Finding, of_npus, rank

ONE_FACT = frozenset({
    "link_down", "no_such_device", "tool_missing", "perf_tool_missing", "address_not_set", "address_conflict", "machine_listed_twice", "serial_duplicate",
    "tls_differs", "driver_differs", "firmware_differs", "unreachable_host", "slow_npu", "failed_npu", "slow_host", "failed_host", "busy_npu", "busy_host",
    "not_measured"})
"""Causes with a single finding per NPU or host, whatever its message."""

_NOT_TAKING_PART = frozenset({"not_measured", "failed_npu", "failed_host"})
_PORT = frozenset({"optics_out_of_range", "optics_dim", "errors_growing", "link_flaps"})
"""Causes that are evidence for a worse finding about the same NPU."""

FOLLOWS: Mapping[str, frozenset[str]] = {
    "unreachable_host": _NOT_TAKING_PART | {"failed_task", "answer_not_understood", "busy_npu", "busy_host"},
    "machine_listed_twice": _NOT_TAKING_PART | {"address_conflict", "serial_duplicate"},
    # A host without the tool reports it again for each of its NPUs.
    "tool_missing": _NOT_TAKING_PART | {"failed_task", "tool_missing"},
    "perf_tool_missing": _NOT_TAKING_PART,
    "failed_task": frozenset({"not_measured", "answer_not_understood"}),
    "busy_host": frozenset({"not_measured", "busy_npu"}),
    "busy_npu": frozenset({"not_measured"}),
    "link_down": _NOT_TAKING_PART | _PORT,
    "address_conflict": _NOT_TAKING_PART,
    **dict.fromkeys(("slow_npu", "slow_host", "failed_npu", "failed_host", "regression"), _PORT),
    **dict.fromkeys(("no_such_device", "tool_failed", "device_error", "address_not_set", "address_invalid"), _NOT_TAKING_PART | {"rank_table_problem"}),
}
"""The causes that follow from a cause on the same NPUs or the same host."""
_FOLLOWERS = frozenset().union(*FOLLOWS.values())
_CONSIDERED = _FOLLOWERS | FOLLOWS.keys()

SHORTEST_QUOTE = 12
"""The shortest message that identifies a failed task as its consequence if the message of the task contains it."""


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Return the merged findings in the order of their first occurrence, with the evidence of all stages."""
    return _without_followers(_joined(findings))


def _joined(findings: Iterable[Finding]) -> list[Finding]:
    found: dict[int, Finding] = {}
    places: dict[tuple[object, ...], int] = {}
    for number, one in enumerate(findings):
        same = sorted({places[key] for key in _keys(one) if key in places})
        whole = one
        for place in reversed(same):
            whole = _join(found.pop(place), whole)
        place = same[0] if same else number
        found[place] = whole
        places.update(dict.fromkeys(_keys(whole), place))
    return [found[place] for place in sorted(found)]


def _keys(one: Finding) -> list[tuple[object, ...]]:
    """Return the keys of a finding. Findings that share a key are merged."""
    words = "" if one.cause in ONE_FACT else one.message
    if one.devices:
        return [(one.cause, words, npu) for npu in one.devices]
    return [(one.cause, words, one.component.kind, one.hosts if one.component.kind in ON_HOST and one.hosts else one.component.name)]


def _join(first: Finding, second: Finding) -> Finding:
    """Return the worse one of two findings, or the first of equal ones, with the hosts, NPUs and evidence of both."""
    kept, other = (first, second) if rank(first) <= rank(second) else (second, first)
    hosts = tuple(sorted({*kept.hosts, *other.hosts}, key=natural))
    devices = _sorted({*kept.devices, *other.devices})
    component = of_npus(devices) if kept.component.kind == NPU and devices != kept.devices else kept.component
    quote = () if other.message == kept.message else (_quoted(other),)
    return replace(kept, hosts=hosts, devices=devices, component=component, evidence=_evidence(kept.evidence, quote, other.evidence))


def _without_followers(found: list[Finding]) -> list[Finding]:
    """Drop the findings, or the NPUs of them, that follow from another finding, and quote them there as evidence."""
    roots = _Roots(found)
    quotes: dict[int, list[Evidence]] = {}
    kept = []
    for number, one in enumerate(found):
        explained_by, rest = roots.explain(number)
        kept.append(rest)
        for root in explained_by:
            quotes.setdefault(root, []).extend([_quoted(one), *one.evidence])
    return [replace(one, evidence=_evidence(one.evidence, quotes.get(number, ()))) for number, one in enumerate(kept) if one is not None]


class _Roots:
    """The findings that explain others, by NPU and by host. A finding is given by its index in ``found``."""

    def __init__(self, found: list[Finding]) -> None:
        self._found = found
        self._by_npu: dict[Device, list[int]] = {}
        self._by_host: dict[str, list[int]] = {}
        for number, one in enumerate(found):
            for npu in one.devices if one.cause in FOLLOWS else ():
                self._by_npu.setdefault(npu, []).append(number)
            for host in one.hosts if one.component.kind in ON_HOST else ():
                self._by_host.setdefault(host, []).append(number)

    def explain(self, number: int) -> tuple[list[int], Finding | None]:
        """Return the findings that explain a finding, and the part of it that remains unexplained."""
        one = self._found[number]
        if one.component.kind == PAIR and one.cause == "failed_fabric" and len(one.hosts) == 2:
            lost = [root for host in one.hosts for root in self._by_host.get(host, ()) if self._found[root].cause == "unreachable_host"]
            return lost[:1], None if lost else one
        if one.cause not in _CONSIDERED or one.component.kind not in ON_HOST or not one.hosts:
            return [], one
        of_hosts = self._of_hosts(number, one)
        if of_hosts:
            return of_hosts[:1], None
        of_npus = self._of_npus(number, one)
        return sorted(set(of_npus.values())), _left(one, of_npus)

    def _of_hosts(self, number: int, one: Finding) -> list[int]:
        """Return the findings that explain ``one`` on all of its hosts. Those that are not dropped themselves come first, since they get the evidence."""
        common = _common([[root for root in self._by_host.get(host, ()) if root != number and _explains_host(self._found[root], one)] for host in one.hosts])
        return sorted(common, key=lambda root: self._found[root].cause in _FOLLOWERS)

    def _of_npus(self, number: int, one: Finding) -> dict[Device, int]:
        """Return the finding that explains ``one`` on an NPU, by NPU: the first that is not dropped itself, since it gets the evidence."""
        candidates = {npu: [root for root in self._by_npu.get(npu, ()) if root != number and _explains(self._found[root], one)] for npu in one.devices}
        return {npu: min(roots, key=lambda root: self._found[root].cause in _FOLLOWERS) for npu, roots in candidates.items() if roots}


def _common(roots: list[list[int]]) -> list[int]:
    """Return the roots that all hosts share, else the first root of each host if every host has one."""
    return [root for root in roots[0] if all(root in others for others in roots)] or ([mine[0] for mine in roots] if all(roots) else [])


def _explains(root: Finding, one: Finding) -> bool:
    """Return True if ``one`` follows from ``root`` or has a shorter version of its message. A less severe finding explains nothing."""
    shorter = root.cause == one.cause and len(root.message) > len(one.message) >= SHORTEST_QUOTE and one.message in root.message
    return (shorter or one.cause in FOLLOWS.get(root.cause, ())) and rank(root) <= rank(one)


def _explains_host(root: Finding, one: Finding) -> bool:
    """Return True if ``root`` explains ``one`` on the whole host. The failure of a task follows from any finding that its message quotes."""
    if one.cause == "failed_task" and root.cause != "failed_task" and len(root.message) >= SHORTEST_QUOTE and root.message in one.message:
        return rank(root) <= rank(one)
    if root.cause == "machine_listed_twice" and not set(one.hosts) <= set(root.hosts):
        return False
    whole = not root.devices or (root.cause, one.cause) == ("tool_missing", "failed_task")
    return whole and _explains(root, one)


def _left(one: Finding, reasons: Mapping[Device, int]) -> Finding | None:
    """Return the finding without the explained NPUs, None if none remains."""
    if not reasons:
        return one
    devices = tuple(npu for npu in one.devices if npu not in reasons)
    if not devices:
        return None
    hosts = tuple(host for host in one.hosts if any(host == npu[0] for npu in devices))
    return replace(one, devices=devices, hosts=hosts, component=of_npus(devices) if one.component.kind == NPU else one.component)


def _quoted(one: Finding) -> Evidence:
    return of_text(f"{one.stage}: {one.message}" if one.stage else one.message, QUOTE)


def _evidence(*parts: Iterable[Evidence]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys(line for part in parts for line in part))[:MOST_EVIDENCE]


def _sorted(devices: Iterable[Device]) -> tuple[Device, ...]:
    return tuple(sorted(devices, key=lambda npu: (natural(npu[0]), npu[1])))
