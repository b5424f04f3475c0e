# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The summary of a run: the median of every group of comparable values, and of every end in it. Trends and baselines are computed from summaries."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._plan.plan_record import PlanRecord
from .cells import FAILED, GBYTE, OK, PAIR_KINDS, Cell, End, Record, What, cells, is_number, rows
from .format import written
from .reader import Run


class Group(NamedTuple):
    """The key of values that are comparable over runs: kind, tool, operation, measure, size, class of the pair, product, firmware."""

    kind: str
    tool: str
    operation: str
    measure: str
    size_bytes: int | float | None
    pair_class: str
    product: str
    firmware: str
    unit: str

    def sort_key(self) -> tuple[str, ...]:
        return tuple(f"{part:020}" if is_number(part) else str(part) for part in self)

    def unsized(self) -> Group:
        """Return the group without its size, since failures have none."""
        return self._replace(size_bytes=None)

    def may_be(self, other: Group) -> bool:
        """Return True if a failure of this group may belong to ``other``: a failure has no size, and without an answer product and firmware are unknown."""
        return all(mine in ("", None) or mine == theirs for mine, theirs in zip(self.unsized(), other))


@dataclass
class Stand:
    """The statistics of a group in a run: median, least and greatest of ``count`` values, and the median of each end as sender and receiver together."""

    median: float
    least: float
    greatest: float
    count: int
    failed: int = 0
    ends: dict[End, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """The summary of a run. ``started`` is compact UTC, as in the name of the file; ``lost``: the failures of groups without any value, without sizes."""

    run_id: str
    started: str
    playbook: str
    complete: bool
    groups: dict[Group, Stand]
    lost: dict[Group, int] = field(default_factory=dict)

    def marks(self) -> list[list[bytes]]:
        """Return sets of texts, one of which occurs completely in any comparable run. Searching for them takes a fraction of parsing the run."""
        found = {(kind, group.operation) for group in (*self.groups, *self.lost) for kind in (("rdma", "matrix") if group.kind == "rdma" else (group.kind,))}
        return [[written(kind), *([written(operation)] if operation else [])] for kind, operation in sorted(found)]

    def is_like(self, other: Summary) -> bool:
        """Return True if ``other`` has a value of any group that was measured here, or that failed."""
        return not other.groups.keys().isdisjoint(self.groups) or any(like.may_be(group) for like in self.lost for group in other.groups)


class Places:
    """The product and firmware of each host and the leaf of each end, from the records of a run."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.products: dict[str, str] = {}
        self.firmwares: dict[str, str] = {}
        self.leaves: dict[End, str] = {}
        for record in records:
            kind = record.get("kind")
            if kind == "device":
                self._device(record)
            elif kind == "plan":
                self._plan(record)
            elif kind in ("rdma", "matrix"):
                self._context(record)

    def _device(self, record: Record) -> None:
        host, device = _of(record, "source", "host"), _of(record, "source", "device")
        sample = (record.get("samples") or [{}])[0] if isinstance(record.get("samples"), list) else {}
        sample = sample if isinstance(sample, dict) else {}
        self._host(str(host), _of(record, "context", "product"), _part(sample.get("versions"), "firmware"))
        leaf = _part(sample.get("lldp"), "system_name")
        if host and leaf:
            self.leaves.setdefault(End(str(host), device), str(leaf))

    def _context(self, record: Record) -> None:
        host, device = _of(record, "source", "host"), _of(record, "source", "device")
        self._host(str(host), _of(record, "context", "product"), _of(record, "context", "firmware"))
        leaf = _of(record, "context", "leaf")
        if host and isinstance(leaf, str):
            self.leaves.setdefault(End(str(host), device), leaf)

    def _plan(self, record: Record) -> None:
        self.leaves.update({End(host, device): leaf for host, device, leaf, _told in PlanRecord(record).wired() if leaf is not None})

    def _host(self, host: str, product: Any, firmware: Any) -> None:
        if isinstance(product, str):
            self.products[host] = product
        if isinstance(firmware, str):
            self.firmwares[host] = firmware

    def pair_class(self, source: End, target: End) -> str:
        """Return the class of a pair, such as ``same rail, cross leaf``; without the leaf if it is not known."""
        if source.host == target.host:
            return "same host"
        rail = "same rail" if source.device == target.device else "cross rail"
        one, other = self.leaves.get(source), self.leaves.get(target)
        if one is None or other is None:
            return rail
        return f"{rail}, {'same' if one == other else 'cross'} leaf"

    def group(self, what: What, source: End, target: End) -> Group:
        return Group(what.kind, what.tool, what.operation, what.measure, what.size_bytes, self.pair_class(source, target),
                     self.products.get(source.host, ""), self.firmwares.get(source.host, ""), what.unit)


def summarise(run: Run) -> Summary:
    """Return the summary of a run."""
    places = Places(run.records)
    values: dict[Group, list[float]] = {}
    ends: dict[Group, dict[End, list[float]]] = {}
    failed: dict[Group, int] = {}
    for record in run.records:
        if record.get("kind") == "matrix":
            _take_rows(record, places, values, ends, failed)
        elif record.get("kind") in PAIR_KINDS:
            for cell in cells(record):
                _take(cell, places, values, ends, failed)
        elif record.get("kind") == "collective":
            for group, value in collective_values(record):
                if value is None:
                    failed[group] = failed.get(group, 0) + 1
                else:
                    values.setdefault(group, []).append(value)
    groups = {group: _stand(found, ends.get(group, {}), _failures(group, failed)) for group, found in values.items() if found}
    lost = {like: count for like, count in failed.items() if count and not any(map(like.may_be, groups))}
    return Summary(run.file.run_id, run.file.started, str(run.header.get("playbook") or ""), run.complete, groups, lost)


def collective_values(record: Record) -> list[tuple[Group, float | None]]:
    """Return the bus bandwidth of a collective at each size; None, without a size, for one that failed."""
    hosts = record.get("hosts")
    span = f"{len(hosts) if isinstance(hosts, list) else 0} hosts, {record.get('ranks') or 0} ranks"
    group = Group("collective", str(_of(record, "tool", "name") or ""), str(record.get("operation") or ""), "bandwidth", None, span,
                  str(_of(record, "context", "product") or ""), str(_of(record, "context", "firmware") or ""), GBYTE)
    if record.get("status") == FAILED:
        return [(group, None)]
    samples = record.get("samples")
    return [(group._replace(size_bytes=sample.get("size_bytes")), sample["busbw_gbyte_s"])
            for sample in (samples if record.get("status") == OK and isinstance(samples, list) else ())
            if isinstance(sample, dict) and is_number(sample.get("busbw_gbyte_s"))]


Values = dict[Group, list[float]]
ByEnd = dict[Group, dict[End, list[float]]]


def _take(cell: Cell, places: Places, values: Values, ends: ByEnd, failed: dict[Group, int]) -> None:
    group = places.group(cell.what, cell.source, cell.target)
    if cell.value is None:
        failed[group.unsized()] = failed.get(group.unsized(), 0) + (cell.state == FAILED)
        return
    values.setdefault(group, []).append(cell.value)
    mine = ends.setdefault(group, {})
    mine.setdefault(cell.source, []).append(cell.value)
    mine.setdefault(cell.target, []).append(cell.value)


def _take_rows(record: Record, places: Places, values: Values, ends: ByEnd, failed: dict[Group, int]) -> None:
    """Do the same as _take for rows, at once if all targets are in one class, since a matrix of 512 hosts has 260,000 cells."""
    for row in rows(record):
        classes = {target: places.pair_class(row.source, target) for target in row.targets if target != row.source} if places.leaves else {}
        if len(set(classes.values())) > 1:
            for cell in row.cells():
                _take(cell, places, values, ends, failed)
            continue
        other = next((target for target in row.targets if target.host != row.source.host), None)
        if other is None:
            continue
        group = places.group(row.what, row.source, other)
        failed[group.unsized()] = failed.get(group.unsized(), 0) + sum(map(len, row.failed.values()))
        if not row.values:
            continue
        found = values.setdefault(group, [])
        mine = ends.setdefault(group, {})
        own = mine.setdefault(row.source, [])
        for target, value in zip(row.targets, row.values):
            if value is not None and target != row.source:
                found.append(value)
                own.append(value)
                theirs = mine.get(target)
                if theirs is None:
                    mine[target] = [value]
                else:
                    theirs.append(value)


def _failures(group: Group, failed: dict[Group, int]) -> int:
    """Return the failures of a group. A failed pair has no size and counts for every size."""
    return sum(count for like, count in failed.items() if like.may_be(group))


def _stand(found: list[float], ends: dict[End, list[float]], failed: int) -> Stand:
    return Stand(statistics.median(found), min(found), max(found), len(found), failed, {end: statistics.median(mine) for end, mine in ends.items() if mine})


def _of(record: Record, part: str, key: str) -> Any:
    return _part(record.get(part), key)


def _part(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
