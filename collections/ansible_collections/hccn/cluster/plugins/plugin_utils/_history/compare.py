# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Compare two runs: what became better or worse, what appeared, vanished or changed. Differences within the noise are not listed.

The noise of a group of values is the largest of three: the spread of the group over earlier runs, if it is known; the scatter of the changes of its endpoints
between the two runs; and ``LEAST_NOISE``, since two runs alone vary too little. The group has changed if the median of its values moved by more than SIGMAS
times the noise, an endpoint if it moved by more than that relative to its group, so that a change of the whole group is listed once.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...module_utils._core.numbers import is_number
from ...module_utils._core.samples import MICROSECONDS
from ...module_utils._core.words import natural, printable
from .._findings.causes import SEVERITIES
from .._findings.conclusion import CLASSES
from .._findings.finding import Finding
from .baseline import LEAST_DROP, LEAST_DROP_OF_ENDPOINT, SIGMAS, as_fields
from .pair_results import Endpoint
from .reader import Run
from .summary import Group, GroupStatistics, Summary, summarise

WORSE, APPEARED, VANISHED, CHANGED, BETTER = STATES = ("worse", "appeared", "vanished", "changed", "better")
"""States of a change, in the order in which changes are listed. Appeared and vanished: findings, hosts and values that only one of the runs has."""

VALUE, FINDING, HOST, SETTING = KINDS = ("value", "finding", "host", "setting")
"""Kinds of changes: a measured value, a finding by its severity, a host by its class, a setting or version of a device."""

LEAST_NOISE = 0.003
VERSIONS = ("driver", "firmware")
SETTINGS = ("mtu", "speed", "tls", "address", *VERSIONS, "network_driver", "network_firmware", "cann", "dscp_to_tc", "pfc", "switch", "port")
"""Settings of devices that are compared, by the names in Snapshot."""
LONGEST_VALUE = 200
MOST_CHANGES = 200
"""Changes that a result contains, the worst first."""
MOST_ENDPOINTS = 20
"""Endpoints of a group that are listed, those that changed most."""


class Change(NamedTuple):
    """One difference.

    ``name``: the component (``npu3 NPU 5``, ``leaf-1``) or, for the value of a whole group, ``fabric`` or ``collective``. ``what``: the operation and size
    of a value, the cause of a finding, the name of a setting, ``class`` of a host. ``before`` and ``after`` are None if only one run has it.
    ``change_percent`` and ``noise_percent`` belong to values; a positive change is better. ``group`` has the fields of the group of a value.
    """

    state: str
    kind: str
    name: str
    what: str
    before: Any
    after: Any
    unit: str = ""
    change_percent: float | None = None
    noise_percent: float | None = None
    host: str | None = None
    device: int | str | None = None
    group: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that apply, and the sentence as ``message``."""
        return {**{key: value for key, value in self._asdict().items() if value not in (None, "") or key in ("before", "after")}, "message": self.sentence()}

    def sentence(self) -> str:
        """Return the change as one sentence: ``npu3 NPU 5: write 64 KiB was 195.9 Gbit/s, it is 155.2 Gbit/s (20.8 % worse)``."""
        if self.kind == VALUE and self.change_percent is not None:
            words = f"{abs(self.change_percent):g} % {self.state}"
            return f"{self.name}: {self.what} was {self.before:.4g} {self.unit}, it is {self.after:.4g} {self.unit} ({words})"
        if self.before is None or self.after is None:
            shown = self.after if self.before is None else self.before
            value = f"{shown:.4g} {self.unit}" if is_number(shown) else str(shown)
            return f"{self.name}: {self.what} {self.state} ({value})"
        return f"{self.name}: {self.what} was {self.before}, it is {self.after}"


@dataclass(frozen=True)
class Snapshot:
    """What is compared of a run. ``settings``: by (host, device), then by the names of SETTINGS. ``classes``: of hosts."""

    summary: Summary
    findings: tuple[Finding, ...] = ()
    classes: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[Endpoint, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """``before`` and ``after``: ids of the runs. ``changes``: in the order of STATES, the greatest first. ``compared``: number of groups that both measured."""

    before: str
    after: str
    changes: tuple[Change, ...]
    compared: int

    def counts(self) -> dict[str, int]:
        """Return the number of changes by state, without states that have none."""
        return {state: count for state in STATES for count in [sum(change.state == state for change in self.changes)] if count}

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as history_info returns it."""
        return {"before": self.before, "after": self.after, "headline": self.headline(), "compared": self.compared, "counts": self.counts(),
                "changes": [change.as_dict() for change in self.changes[:MOST_CHANGES]], "changes_count": len(self.changes)}

    def headline(self) -> str:
        """Return one sentence: ``awx-2 against awx-1: 1 worse, 2 appeared``."""
        counts = ", ".join(f"{count} {state}" for state, count in self.counts().items())
        return f"{self.after} against {self.before}: {counts or 'no change beyond the noise'}"


def snapshot(run: Run) -> Snapshot:
    """Return what is compared of a run."""
    findings, classes = [], {}
    for record in run.records:
        samples = record.get("samples")
        for sample in samples if isinstance(samples, list) and record.get("kind") in ("finding", "conclusion") else ():
            if record.get("kind") == "finding":
                findings.append(Finding.of_sample(sample))
            elif isinstance(sample, Mapping) and isinstance(sample.get("hosts"), Mapping):
                classes.update({str(host): str(name) for name, hosts in sample["hosts"].items() if isinstance(hosts, list) for host in hosts})
    return Snapshot(summarise(run), tuple(one for one in findings if one is not None), classes, settings_of(run.records))


def settings_of(records: Iterable[Mapping[str, Any]]) -> dict[Endpoint, dict[str, str]]:
    """Return the settings of each device, the last value of each in the run."""
    found: dict[Endpoint, dict[str, str]] = {}
    for record in records:
        source, samples = record.get("source"), record.get("samples")
        if record.get("kind") != "device" or not isinstance(source, Mapping) or not isinstance(source.get("host"), str):
            continue
        device = source.get("device")
        end = Endpoint(source["host"], device if isinstance(device, (int, str)) else None)
        context = record.get("context")
        host = {"cann": context.get("cann")} if isinstance(context, Mapping) else {}
        for sample in samples if isinstance(samples, list) else ():
            if isinstance(sample, Mapping):
                found.setdefault(end, {}).update(_settings({**sample, **host}))
    return found


def _settings(sample: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    versions, network, lldp = (part if isinstance(part, Mapping) else {} for part in map(sample.get, ("versions", "network_version", "lldp")))
    flat = {**sample, **{key: versions.get(key) for key in VERSIONS}, **{f"network_{key}": network.get(key) for key in VERSIONS},
            "switch": lldp.get("system_name"), "port": lldp.get("port")}
    for name in SETTINGS:
        value = flat.get(name)
        if value not in (None, "") and isinstance(value, (str, int, float, bool, list, Mapping)):
            yield name, printable(str(value), LONGEST_VALUE)


def compare(before: Snapshot, after: Snapshot, spreads: Mapping[Group, float] | None = None) -> Comparison:
    """Return the differences of two runs. ``spreads``: relative spread (one sigma) of groups over earlier runs, as far as it is known."""
    old, new = _of_any_firmware(before.summary.groups), _of_any_firmware(after.summary.groups)
    known = {_without_firmware(group): spread for group, spread in (spreads or {}).items()}
    groups = sorted({*old, *new}, key=Group.sort_key)
    changes = [change for group in groups for change in _values(group, old.get(group), new.get(group), known.get(group, 0.0))]
    changes += [*_findings(before, after), *_hosts(before, after), *changed_settings(before.settings, after.settings)]
    both = sum(group in old and group in new for group in groups)
    return Comparison(before.summary.run_id, after.summary.run_id, tuple(sorted(changes, key=_order)), both)


def _order(change: Change) -> tuple[Any, ...]:
    return STATES.index(change.state), KINDS.index(change.kind), -abs(change.change_percent or 0), natural(change.name), change.what


def _without_firmware(group: Group) -> Group:
    return group._replace(firmware="")


def _of_any_firmware(groups: Mapping[Group, GroupStatistics]) -> dict[Group, GroupStatistics]:
    """Return the groups without their firmware, since a run after an upgrade is to be compared with one before it."""
    found: dict[Group, GroupStatistics] = {}
    for group, one in groups.items():
        key = _without_firmware(group)
        found[key] = _joined(found[key], one) if key in found else one
    return found


def _joined(one: GroupStatistics, other: GroupStatistics) -> GroupStatistics:
    endpoints = {**one.endpoints, **{end: statistics.mean((value, one.endpoints.get(end, value))) for end, value in other.endpoints.items()}}
    median = statistics.median(endpoints.values()) if endpoints else statistics.mean((one.median, other.median))
    return GroupStatistics(median, min(one.least, other.least), max(one.greatest, other.greatest), one.count + other.count,
                           one.failed + other.failed, endpoints)


def _values(group: Group, old: GroupStatistics | None, new: GroupStatistics | None, spread: float) -> Iterator[Change]:
    name = "collective" if group.kind == "collective" else "fabric"
    if old is None or new is None:
        yield Change(APPEARED if old is None else VANISHED, VALUE, name, _title(group), old and old.median, new and new.median, group.unit,
                     group=as_fields(group))
        return
    sign = -1 if group.unit == MICROSECONDS else 1
    moves = {end: sign * (new.endpoints[end] / value - 1) for end, value in old.endpoints.items() if value and end in new.endpoints}
    shift = sign * (new.median / old.median - 1) if old.median else 0.0
    noise = max(spread, _scatter(moves.values()), LEAST_NOISE)
    if abs(shift) > max(LEAST_DROP, SIGMAS * noise):
        yield _moved(group, name, old.median, new.median, shift, noise)
    far = {end: move for end, move in moves.items() if abs(move - shift) > max(LEAST_DROP_OF_ENDPOINT, SIGMAS * noise) and abs(move) > LEAST_DROP_OF_ENDPOINT}
    for end in sorted(far, key=lambda one: (-abs(far[one]), natural(str(one))))[:MOST_ENDPOINTS]:
        yield _moved(group, str(end), old.endpoints[end], new.endpoints[end], far[end], noise)._replace(host=end.host, device=end.device)


def _moved(group: Group, name: str, old: float, new: float, move: float, noise: float) -> Change:
    return Change(BETTER if move > 0 else WORSE, VALUE, name, _title(group), old, new, group.unit, round(100 * move, 1), round(100 * noise, 1),
                  group=as_fields(group))


def _scatter(moves: Iterable[float]) -> float:
    """Return the scatter of the changes, robust against the few endpoints that really changed: 1.4826 times the median absolute deviation."""
    found = list(moves)
    if len(found) < 2:
        return 0.0
    middle = statistics.median(found)
    return 1.4826 * statistics.median(abs(move - middle) for move in found)


def _title(group: Group) -> str:
    size = f" {_size(group.size_bytes)}" if group.size_bytes is not None else ""
    parts = [part for part in (group.pair_class, group.product) if part]
    return f"{group.operation or group.kind}{' latency' if group.measure == 'latency' else ''}{size}" + (f" ({', '.join(parts)})" if parts else "")


def _size(size: float) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size:g} B"


def _findings(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    old, new = ({(one.component, one.cause): one for one in found.findings} for found in (before, after))
    for key in dict.fromkeys([*old, *new]):
        first, last = old.get(key), new.get(key)
        states = [SEVERITIES.index(one.severity) if one else None for one in (first, last)]
        if states[0] == states[1]:
            continue
        state = APPEARED if first is None else VANISHED if last is None else WORSE if (states[1] or 0) < (states[0] or 0) else BETTER
        hosts = (last or first).hosts  # type: ignore[union-attr]
        yield Change(state, FINDING, key[0].name, key[1], first and first.severity, last and last.severity, host=hosts[0] if len(hosts) == 1 else None)


def _hosts(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    for host in dict.fromkeys([*before.classes, *after.classes]) if before.classes and after.classes else ():
        old, new = before.classes.get(host), after.classes.get(host)
        if old != new:
            ranks = [CLASSES.index(name) if name in CLASSES else len(CLASSES) for name in (old or "", new or "")]
            state = APPEARED if old is None else VANISHED if new is None else WORSE if ranks[1] < ranks[0] else BETTER
            yield Change(state, HOST, host, "class", old, new, host=host)


def changed_settings(before: Mapping[Endpoint, Mapping[str, str]], after: Mapping[Endpoint, Mapping[str, str]]) -> Iterator[Change]:
    """Yield changed settings, one change for all devices of a host that changed alike. Settings that only one of the runs has read are not compared."""
    alike: dict[tuple[str, str, str, str], list[Endpoint]] = {}
    for end, old in before.items():
        for name, value in old.items():
            now = after.get(end, {}).get(name, value)
            if now != value:
                alike.setdefault((end.host, name, value, now), []).append(end)
    for (host, name, value, now), ends in alike.items():
        mine = sum(end.host == host for end in before)
        if len(ends) == mine and mine > 1:
            yield Change(CHANGED, SETTING, host, name, value, now, host=host)
        else:
            yield from (Change(CHANGED, SETTING, str(end), name, value, now, host=host, device=end.device) for end in ends)
