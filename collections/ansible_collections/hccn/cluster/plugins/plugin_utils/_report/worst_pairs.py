# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The worst pairs of a run, with the results of each end with its other partners as evidence of which end is bad."""

from __future__ import annotations

import heapq
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from .._history.cells import FAILED, Cell, End, What
from .heatmaps import Expected, PairResults, share

WORST = 10
OF_ONE_HOST = 3
"""Pairs with the same host before those of other hosts are listed, since a dead NPU is bad with every partner."""
LOOKED_AT = 1000
"""The slowest pairs among which the listed ones are chosen."""


@dataclass(frozen=True)
class WorstPair:
    """One direction of a pair; ``value`` and ``share`` (of the expected value) are None if it failed, for the reason in ``message``.

    ``source_median``, ``target_median``: the median of each end with other partners in the same role, None without any. ``reverse``: the value of the other
    direction.
    """

    source: str
    target: str
    value: float | None
    share: float | None
    unit: str
    what: What
    message: str
    source_median: float | None
    target_median: float | None
    reverse: float | None


@dataclass(frozen=True)
class HostMedian:
    """The medians of a host as sender and as receiver over all its pairs; ``share`` is the lower one."""

    host: str
    sent: float | None
    received: float | None
    share: float


def pairs(measured: PairResults, expected: Expected, count: int = WORST) -> list[WorstPair]:
    """Return the worst pairs: failed ones first, then those with the lowest share of the expected value."""
    worst = _chosen(measured, expected, count)
    sent: dict[End, list[Cell]] = {cell.source: [] for cell in worst}
    received: dict[End, list[Cell]] = {cell.target: [] for cell in worst}
    reverse: dict[tuple[End, End], float | None] = {(cell.target, cell.source): None for cell in worst}
    for cell in measured.cells:
        if cell.source in sent:
            sent[cell.source].append(cell)
        if cell.target in received:
            received[cell.target].append(cell)
        if (cell.source, cell.target) in reverse:
            reverse[cell.source, cell.target] = cell.value
    return [_pair(cell, sent[cell.source], received[cell.target], reverse[cell.target, cell.source], expected) for cell in worst]


def _chosen(measured: PairResults, expected: Expected, count: int) -> list[Cell]:
    """Return failed and slowest cells, the worst first, with few of each host, so that many failures of one host do not hide a slow link."""
    failed = [cell for cell in measured.without if cell.state == FAILED][:LOOKED_AT * 10]
    slowest = heapq.nsmallest(LOOKED_AT, measured.cells, key=lambda cell: _share(cell, expected))
    candidates = [*failed, *slowest]
    seen: Counter[str] = Counter()
    taken: list[int] = []
    for most in (OF_ONE_HOST, len(candidates)):
        for number, cell in enumerate(candidates):
            hosts = {cell.source.host, cell.target.host}
            if len(taken) < count and number not in taken and max(seen[host] for host in hosts) < most:
                taken.append(number)
                seen.update(hosts)
    return [candidates[number] for number in sorted(taken)]


def _pair(cell: Cell, sent: Iterable[Cell], received: Iterable[Cell], reverse: float | None, expected: Expected) -> WorstPair:
    part = None if cell.value is None else share(cell.value, expected, cell.what.unit)
    return WorstPair(str(cell.source), str(cell.target), cell.value, part, cell.what.unit, cell.what, cell.message,
                     _median(one for one in sent if one.target != cell.target), _median(one for one in received if one.source != cell.source), reverse)


def _median(found: Iterable[Cell]) -> float | None:
    values = [cell.value for cell in found if cell.value is not None]
    return statistics.median(values) if values else None


def _share(cell: Cell, expected: Expected) -> float:
    return share(cell.value, expected, cell.what.unit) if cell.value is not None else 0.0


def hosts(measured: PairResults, expected: Expected, count: int = WORST) -> list[HostMedian]:
    """Return the hosts with the lowest medians as sender or as receiver."""
    sent: dict[str, list[float]] = {}
    received: dict[str, list[float]] = {}
    for cell in measured.cells:
        if cell.value is not None:
            sent.setdefault(cell.source.host, []).append(cell.value)
            received.setdefault(cell.target.host, []).append(cell.value)
    unit = measured.what.unit if measured.what else ""
    found = []
    for host in {**sent, **received}:
        medians = [statistics.median(values[host]) if host in values else None for values in (sent, received)]
        found.append(HostMedian(host, medians[0], medians[1], min(share(value, expected, unit) for value in medians if value is not None)))
    return heapq.nsmallest(count, found, key=lambda one: one.share)
