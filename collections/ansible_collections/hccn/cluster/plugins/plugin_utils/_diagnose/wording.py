# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Describe components: one sentence, and lines of evidence."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

from ...module_utils._core.samples import MICROSECONDS
from ...module_utils._core.words import counted, some
from .classification import BUSY, FAILED, SLOW, Classification
from .component import FABRIC, NODE, NPU, ON_HOST, PAIR, PROBABLE, SOURCE, TARGET, Component
from .measurement_table import INFERRED_CODES

PARTNERS_SHOWN, CODES_SHOWN = 4, 2
LEAST_DROP = 0.01
"""Smallest drop below the normal value that is mentioned."""

_IS = {SLOW: "is slow", FAILED: "fails", BUSY: "does other work"}
_ARE = {SLOW: "are slow", FAILED: "fail", BUSY: "do other work"}


def sentence(component: Component, classified: Classification) -> str:
    """Return a sentence about a bad component. It does not name the host of the component, since it is part of the verdict on the host."""
    if component.kind == FABRIC:
        hosts = {classified.table.npus[npu].host for npu in component.npus}
        return _with_note(f"{component.name}, {counted(len(component.npus), 'NPU')} of {counted(len(hosts), 'host')}, {_IS[component.state]}", component)
    if component.kind in ON_HOST:
        start = f"{_subject(component, classified)}{_direction(component)}"
        return _with_note(f"{start} {_partners(component, classified)}{_drop(component, classified)}{_error(component, classified)}", component)
    if component.kind == PAIR:
        words = f"{component.name} {_IS[component.state] if component.name.startswith('path') else _ARE[component.state]}"
    else:
        words = f"{component.name}: {component.bad} of its pairs {_ARE[component.state]}"
    return _with_note(f"{words}{_direction(component)}{_drop(component, classified)}{_error(component, classified)}", component)


def evidence(component: Component, classified: Classification) -> list[str]:
    """Return a line for each of its bad cells, the worst first."""
    links = sorted(set(component.links), key=lambda link: (classified.share(*link) or 0.0, link))
    return [classified.described(source, target, component.state) for source, target in links]


def as_dict(component: Component, classified: Classification) -> dict[str, Any]:
    """Return a component as the action returns it. The evidence of a component on a host is in the host's verdict."""
    hosts = sorted({classified.table.npus[npu].host for npu in component.npus})
    message = sentence(component, classified)
    found: dict[str, Any] = {"kind": component.kind, "name": component.name, "class": component.state, "certain": component.certain,
                             "certainty": component.certainty, "hosts": hosts,
                             "message": message if component.kind == FABRIC or component.kind not in ON_HOST else f"{hosts[0]}: {message}"}
    if component.kind in (NPU, NODE):
        found["devices"] = [{"host": classified.table.npus[npu].host, "device": classified.table.npus[npu].device} for npu in sorted(component.npus)]
    if component.kind not in ON_HOST:
        found["evidence"] = evidence(component, classified)
    if component.direction:
        found["direction"] = component.direction
    return found


def _subject(component: Component, classified: Classification) -> str:
    devices = sorted(classified.table.npus[npu].device for npu in component.npus)
    if component.kind == NPU:
        return f"NPU {devices[0]} {_IS[component.state]}"
    return f"{'all ' if component.kind == NODE else ''}{len(devices)} NPUs {_ARE[component.state]}"


def _direction(component: Component) -> str:
    return {SOURCE: " as source", TARGET: " as target"}.get(component.direction, "")


def _partners(component: Component, classified: Classification) -> str:
    if component.proven:
        partners = sorted({classified.table.npus[npu].host for npu in component.proven})
        counted = f"with {component.hits} of {component.tested} proven-good partners: "
    else:
        mine = set(component.npus)
        partners = sorted({classified.table.npus[npu].host for link in component.links for npu in link if npu not in mine})
        counted = "with "
    return counted + some(partners, PARTNERS_SHOWN)


def _drop(component: Component, classified: Classification) -> str:
    """Return how far its cells are below the normal value; nothing for cells that only miss an absolute floor, which is in the evidence."""
    shares = [share for share in (classified.share(*link) for link in component.links) if share is not None] if component.state == SLOW else []
    if not shares or median(shares) >= 1 - LEAST_DROP:
        return ""
    timed = all(kind.unit == MICROSECONDS for kind in classified.table.kinds if kind.unit)
    percent = 100 * (1 / median(shares) - 1 if timed else 1 - median(shares))
    shown = f"{percent:.0f}" if percent >= 10 else f"{percent:.2g}"
    return f", {shown} % {'above' if timed else 'below'} normal"


def _error(component: Component, classified: Classification) -> str:
    """Return the error codes of its failed cells, the most frequent first."""
    if component.state != FAILED:
        return ""
    codes = Counter(cell.code for link in component.links for cell in classified.cells(*link) if cell.worth is None and cell.code not in INFERRED_CODES)
    return f" ({some([code for code, _count in codes.most_common()], CODES_SHOWN)})" if codes else ""


def _with_note(text: str, component: Component) -> str:
    sure = f"{text} (probable)" if component.certainty == PROBABLE else text
    return f"{sure}: {component.note}" if component.note else sure
