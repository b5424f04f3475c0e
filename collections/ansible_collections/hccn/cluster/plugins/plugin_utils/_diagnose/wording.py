# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Findings in words: one sentence and the cells behind it."""

from __future__ import annotations

from statistics import median
from typing import Any

from ...module_utils._core.words import some
from .finding import FABRIC, NODE, NPU, ON_HOST, PAIR, SOURCE, TARGET, Finding
from .rating import BUSY, FAILED, SLOW, Rating

PARTNERS_SHOWN = 4
LEAST_DROP = 0.01
"""Below what is normal: a smaller one is no news."""

_IS = {SLOW: "is slow", FAILED: "fails", BUSY: "does other work"}
_ARE = {SLOW: "are slow", FAILED: "fail", BUSY: "do other work"}


def sentence(finding: Finding, rating: Rating) -> str:
    """Without the name of the host where one host answers for it: the verdict stands beside that."""
    if finding.kind == FABRIC:
        hosts = {rating.table.ends[end].host for end in finding.ends}
        return _note(f"{finding.name}, {len(finding.ends)} NPUs of {len(hosts)} hosts, {_IS[finding.state]}", finding)
    if finding.kind in ON_HOST:
        return _note(f"{_who(finding, rating)}{_direction(finding)} {_with(finding, rating)}{_drop(finding, rating)}", finding)
    words = f"{finding.bad} of its pairs {_ARE[finding.state]}"
    if finding.kind == PAIR:
        words = _IS[finding.state] if finding.name.startswith("path") else _ARE[finding.state]
    return _note(f"{finding.name}: {words}{_direction(finding)}{_drop(finding, rating)}", finding)


def evidence(finding: Finding, rating: Rating) -> list[str]:
    """Its bad cells, the worst first."""
    links = sorted(set(finding.links), key=lambda link: (rating.share(*link) or 0.0, link))
    return [rating.described(source, target, finding.state) for source, target in links]


def as_dict(finding: Finding, rating: Rating) -> dict[str, Any]:
    """A component as the action returns it; the evidence of those on a host stands with its verdict."""
    hosts = sorted({rating.table.ends[end].host for end in finding.ends})
    message = sentence(finding, rating)
    found: dict[str, Any] = {"kind": finding.kind, "name": finding.name, "class": finding.state, "certain": finding.certain, "hosts": hosts,
                             "message": message if finding.kind == FABRIC or finding.kind not in ON_HOST else f"{hosts[0]}: {message}"}
    if finding.kind in (NPU, NODE):
        found["devices"] = [{"host": rating.table.ends[end].host, "device": rating.table.ends[end].device} for end in sorted(finding.ends)]
    if finding.kind not in ON_HOST:
        found["evidence"] = evidence(finding, rating)
    if finding.direction:
        found["direction"] = finding.direction
    return found


def _who(finding: Finding, rating: Rating) -> str:
    devices = sorted(rating.table.ends[end].device for end in finding.ends)
    if finding.kind == NPU:
        return f"npu {devices[0]} {_IS[finding.state]}"
    return f"{'all ' if finding.kind == NODE else ''}{len(devices)} NPUs {_ARE[finding.state]}"


def _direction(finding: Finding) -> str:
    return {SOURCE: " as source", TARGET: " as target"}.get(finding.direction, "")


def _with(finding: Finding, rating: Rating) -> str:
    if finding.proven:
        partners = sorted({rating.table.ends[end].host for end in finding.proven})
        counted = f"with {finding.hits} of {finding.tested} proven-good partners: "
    else:
        mine = set(finding.ends)
        partners = sorted({rating.table.ends[end].host for link in finding.links for end in link if end not in mine})
        counted = "with "
    return counted + some(partners, PARTNERS_SHOWN)


def _drop(finding: Finding, rating: Rating) -> str:
    """How far its cells lie below what is normal; nothing of those that only miss an absolute floor, which the evidence tells."""
    shares = [share for share in (rating.share(*link) for link in finding.links) if share is not None] if finding.state == SLOW else []
    return f", {100 * (1 - median(shares)):.2g} % below normal" if shares and median(shares) < 1 - LEAST_DROP else ""


def _note(said: str, finding: Finding) -> str:
    return f"{said}: {finding.note}" if finding.note else said
