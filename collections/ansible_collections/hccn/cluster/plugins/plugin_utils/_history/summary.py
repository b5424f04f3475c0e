# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Summaries of runs: the median of each group of comparable values and of each endpoint in it. Trends and baselines are computed from summaries."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...module_utils._core.numbers import is_number
from .._plan.plan_record import PlanRecord
from .pair_results import FAILED, GBYTE, OK, PAIR_KINDS, Endpoint, Metric, PairResult, Record, matrix_rows, pair_results
from .format import encoded
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

    def may_belong_to(self, other: Group) -> bool:
        """Return True if a failure of this group may belong to ``other``. A failure has no size, and its product and firmware may be unknown."""
        return all(own in ("", None) or own == known for own, known in zip(self.unsized(), other))


@dataclass
class GroupStatistics:
    """The statistics of a group in a run: median, minimum and maximum of ``count`` values, and the median of each endpoint as sender and receiver."""

    median: float
    least: float
    greatest: float
    count: int
    failed: int = 0
    endpoints: dict[Endpoint, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """The summary of a run. ``started`` is compact UTC, as in the name of the file. ``lost``: the number of failures of groups without any value."""

    run_id: str
    started: str
    playbook: str
    complete: bool
    groups: dict[Group, GroupStatistics]
    lost: dict[Group, int] = field(default_factory=dict)

    def search_terms(self) -> list[list[bytes]]:
        """Return lists of encoded texts. Every comparable run contains all texts of at least one list. Searching is much faster than parsing the run."""
        found = {(kind, group.operation) for group in (*self.groups, *self.lost) for kind in (("rdma", "matrix") if group.kind == "rdma" else (group.kind,))}
        return [[encoded(kind), *([encoded(operation)] if operation else [])] for kind, operation in sorted(found)]

    def is_comparable(self, other: Summary) -> bool:
        """Return True if ``other`` has values of a group that this run measured or that failed in it."""
        return not other.groups.keys().isdisjoint(self.groups) or any(failed.may_belong_to(group) for failed in self.lost for group in other.groups)


class RunContext:
    """The product and firmware of each host and the leaf of each endpoint, from the records of a run."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.products: dict[str, str] = {}
        self.firmwares: dict[str, str] = {}
        self.leaves: dict[Endpoint, str] = {}
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
            self.leaves.setdefault(Endpoint(str(host), device), str(leaf))

    def _context(self, record: Record) -> None:
        host, device = _of(record, "source", "host"), _of(record, "source", "device")
        self._host(str(host), _of(record, "context", "product"), _of(record, "context", "firmware"))
        leaf = _of(record, "context", "leaf")
        if host and isinstance(leaf, str):
            self.leaves.setdefault(Endpoint(str(host), device), leaf)

    def _plan(self, record: Record) -> None:
        self.leaves.update({Endpoint(host, device): leaf for host, device, leaf, _leaf_source in PlanRecord(record).wired() if leaf is not None})

    def _host(self, host: str, product: Any, firmware: Any) -> None:
        if isinstance(product, str):
            self.products[host] = product
        if isinstance(firmware, str):
            self.firmwares[host] = firmware

    def pair_class(self, source: Endpoint, target: Endpoint) -> str:
        """Return the class of a pair, such as ``same rail, cross leaf``. It has no leaf part if a leaf is unknown."""
        if source.host == target.host:
            return "same host"
        rail = "same rail" if source.device == target.device else "cross rail"
        source_leaf, target_leaf = self.leaves.get(source), self.leaves.get(target)
        if source_leaf is None or target_leaf is None:
            return rail
        return f"{rail}, {'same' if source_leaf == target_leaf else 'cross'} leaf"

    def group(self, metric: Metric, source: Endpoint, target: Endpoint) -> Group:
        return Group(metric.kind, metric.tool, metric.operation, metric.measure, metric.size_bytes, self.pair_class(source, target),
                     self.products.get(source.host, ""), self.firmwares.get(source.host, ""), metric.unit)


def summarise(run: Run) -> Summary:
    """Return the summary of a run."""
    context = RunContext(run.records)
    values: Values = {}
    by_endpoint: ByEndpoint = {}
    failed: dict[Group, int] = {}
    for record in run.records:
        if record.get("kind") == "matrix":
            _add_rows(record, context, values, by_endpoint, failed)
        elif record.get("kind") in PAIR_KINDS:
            for result in pair_results(record):
                _add(result, context, values, by_endpoint, failed)
        elif record.get("kind") == "collective":
            for group, value in collective_values(record):
                if value is None:
                    failed[group] = failed.get(group, 0) + 1
                else:
                    values.setdefault(group, []).append(value)
    groups = {group: _statistics(found, by_endpoint.get(group, {}), _failures(group, failed)) for group, found in values.items() if found}
    lost = {unsized: count for unsized, count in failed.items() if count and not any(map(unsized.may_belong_to, groups))}
    return Summary(run.file.run_id, run.file.started, str(run.header.get("playbook") or ""), run.complete, groups, lost)


def collective_values(record: Record) -> list[tuple[Group, float | None]]:
    """Return the bus bandwidth of a collective at each size. A failed collective has one None without a size."""
    hosts = record.get("hosts")
    scale = f"{len(hosts) if isinstance(hosts, list) else 0} hosts, {record.get('ranks') or 0} ranks"
    group = Group("collective", str(_of(record, "tool", "name") or ""), str(record.get("operation") or ""), "bandwidth", None, scale,
                  str(_of(record, "context", "product") or ""), str(_of(record, "context", "firmware") or ""), GBYTE)
    if record.get("status") == FAILED:
        return [(group, None)]
    samples = record.get("samples")
    return [(group._replace(size_bytes=sample.get("size_bytes")), sample["busbw_gbyte_s"])
            for sample in (samples if record.get("status") == OK and isinstance(samples, list) else ())
            if isinstance(sample, dict) and is_number(sample.get("busbw_gbyte_s"))]


Values = dict[Group, list[float]]
ByEndpoint = dict[Group, dict[Endpoint, list[float]]]


def _add(result: PairResult, context: RunContext, values: Values, by_endpoint: ByEndpoint, failed: dict[Group, int]) -> None:
    group = context.group(result.metric, result.source, result.target)
    if result.value is None:
        failed[group.unsized()] = failed.get(group.unsized(), 0) + (result.state == FAILED)
        return
    values.setdefault(group, []).append(result.value)
    endpoints = by_endpoint.setdefault(group, {})
    endpoints.setdefault(result.source, []).append(result.value)
    endpoints.setdefault(result.target, []).append(result.value)


def _add_rows(record: Record, context: RunContext, values: Values, by_endpoint: ByEndpoint, failed: dict[Group, int]) -> None:
    """Do the same as _add for a matrix record. Rows whose targets are all in one class are added at once, since a matrix of 512 hosts has 260,000 results."""
    for row in matrix_rows(record):
        classes = {target: context.pair_class(row.source, target) for target in row.targets if target != row.source} if context.leaves else {}
        if len(set(classes.values())) > 1:
            for result in row.results():
                _add(result, context, values, by_endpoint, failed)
            continue
        other = next((target for target in row.targets if target.host != row.source.host), None)
        if other is None:
            continue
        group = context.group(row.metric, row.source, other)
        failed[group.unsized()] = failed.get(group.unsized(), 0) + sum(map(len, row.failed.values()))
        if not row.values:
            continue
        found = values.setdefault(group, [])
        endpoints = by_endpoint.setdefault(group, {})
        of_source = endpoints.setdefault(row.source, [])
        for target, value in zip(row.targets, row.values):
            if value is not None and target != row.source:
                found.append(value)
                of_source.append(value)
                of_target = endpoints.get(target)
                if of_target is None:
                    endpoints[target] = [value]
                else:
                    of_target.append(value)


def _failures(group: Group, failed: dict[Group, int]) -> int:
    """Return the number of failures of a group. A failed pair has no size and counts for every size."""
    return sum(count for unsized, count in failed.items() if unsized.may_belong_to(group))


def _statistics(found: list[float], by_endpoint: dict[Endpoint, list[float]], failed: int) -> GroupStatistics:
    endpoints = {endpoint: statistics.median(values) for endpoint, values in by_endpoint.items() if values}
    return GroupStatistics(statistics.median(found), min(found), max(found), len(found), failed, endpoints)


def _of(record: Record, part: str, key: str) -> Any:
    return _part(record.get(part), key)


def _part(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
