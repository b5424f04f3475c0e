# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Measure a collective over several groups of hosts (all, the first 2, 4, 8, ..., one device of each), and search for the hosts that make it slow."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.errors import InputError
from .._core.record import record, utc
from .._core.words import some
from . import bisection, collective
from .bisection import Finding, Search
from .collective import Outcome
from .collective_plan import Request

ALL, SCALING, RAILS = "all", "scaling", "rails"
RAIL = "rail"
"""Kind of a finding about the same device of all hosts."""
GROUPS = (ALL, SCALING, RAILS)
RELATIVE_FLOOR = 0.7
"""Share of the bus bandwidth of the best group below which a group is slow. It leaves room for larger groups, whose latency grows with the ring."""

_FACTS = {
    bisection.GROUP: "groups with %(it)s are slow, other groups are good",
    bisection.SIZE: "every group of %(count)d hosts is slow, smaller groups are good: the cause is the number of hosts, not a single host",
    bisection.EVERYWHERE: "every measured group is slow: no single host is the cause",
    bisection.TOO_FEW: "slow together: measure with a third host to find out which of them is the cause",
}
_NAMED = (bisection.GROUP, bisection.TOO_FEW)
"""Findings that name hosts."""


@dataclass(frozen=True)
class StudyOptions:
    """The options of a study. ``groups``: from GROUPS. A group is slow below ``floor_gbyte_s``, or, if that is None, below ``relative_floor``.

    ``isolate``: search for slow hosts. ``budget``: maximum number of groups that the search measures.
    """

    groups: Tuple[str, ...] = (ALL,)
    isolate: bool = False
    floor_gbyte_s: Optional[float] = None
    relative_floor: float = RELATIVE_FLOOR
    budget: int = bisection.BUDGET

    def check(self, request: Request) -> None:
        """Raises InputError."""
        if not 0 < self.relative_floor < 1:
            raise InputError("relative_floor is %g, it must be between 0 and 1" % self.relative_floor)
        self.check_floor()
        if self.budget < 1:
            raise InputError("isolate_budget is %d, it must be 1 or more" % self.budget)
        if len(request.hosts) < 2 and (self.isolate or set(self.groups) & {SCALING, RAILS}):
            raise InputError("groups and isolate need 2 or more hosts, but hosts has %d" % len(request.hosts))

    def check_floor(self) -> None:
        """Raises InputError."""
        if self.floor_gbyte_s is not None and self.floor_gbyte_s <= 0:
            raise InputError("floor_gbyte_s is %g, it must be above 0" % self.floor_gbyte_s)

    @property
    def plain(self) -> bool:
        """Whether only one run over all hosts is requested."""
        return set(self.groups) <= {ALL} and not self.isolate and self.floor_gbyte_s is None


@dataclass(frozen=True)
class Group:
    """``places``: indices of its hosts in the request; ``device`` None: all devices of the hosts."""

    name: str
    places: Tuple[int, ...]
    device: Optional[int] = None


@dataclass
class Study:
    """The result of a study. ``failed``: the failed run that ended it; None if all groups were measured. ``limit_gbyte_s`` is None without a comparison."""

    outcomes: List[Outcome] = field(default_factory=list)
    findings: List[Dict[str, Any]] = field(default_factory=list)
    failed: Optional[Outcome] = None
    limit_gbyte_s: Optional[float] = None
    slow: bool = False


def plan_groups(wanted: StudyOptions, hosts: int, ranks_per_host: int) -> List[Group]:
    """Return the groups to measure. The group of all hosts is the first, since a study ends if it fails."""
    whole = Group("all", tuple(range(hosts)))
    found = [whole]
    if SCALING in wanted.groups:
        size = bisection.MIN_HOSTS
        while size < hosts:
            found.append(Group("%d hosts" % size, whole.places[:size]))
            size *= 2
    if RAILS in wanted.groups:
        found += [Group("device %d" % device, whole.places, device) for device in range(ranks_per_host)]
    return found


class _Runs:
    """Runs groups one after another, each with its own id."""

    def __init__(self, request: Request, run: Callable[[Request], Outcome]) -> None:
        self._request = request
        self._run = run
        self.study = Study()
        self.values: Dict[Tuple[int, ...], float] = {}
        self.rails: Dict[int, float] = {}
        self._largest = ""

    def measure(self, group: Group, brief: bool = False) -> Optional[float]:
        """Return the bus bandwidth at the largest size; None if the run failed. ``brief``: measure only that size."""
        outcome = self._run(self._request_of(group, brief))
        self.study.outcomes.append(outcome)
        value = _bus_bandwidth(outcome)
        if outcome.failed or value is None:
            self.study.failed = outcome
            return None
        if group.device is None:
            self.values[group.places] = value
        else:
            self.rails[group.device] = value
        self._largest = self._largest or str(outcome.record["samples"][-1]["size_bytes"])
        return value

    def _request_of(self, group: Group, brief: bool) -> Request:
        request = self._request
        names = request.names or request.hosts
        options, environment = request.options, dict(request.environment)
        if group.device is not None:
            alone: Dict[str, Any] = {name: 1 for name in ("ranks_per_host", "gpus_per_process") if hasattr(options, name)}
            options = replace(options, **alone)
            environment[request.tool.device_variable] = str(group.device)
        if brief and self._largest:
            options = replace(options, begin=self._largest, end=self._largest)
        if options.root >= options.ranks_per_host * len(group.places):
            options = replace(options, root=0)
        first = not self.study.outcomes
        return replace(
            request, options=options, environment=environment, hosts=tuple(request.hosts[place] for place in group.places),
            names=tuple(names[place] for place in group.places), attempt=request.attempt + len(self.study.outcomes), context={"group": group.name},
            # The first run, over all hosts, has already checked the hosts and devices.
            check_hosts=request.check_hosts and first, allow_busy=request.allow_busy or not first)


def _bus_bandwidth(outcome: Outcome) -> Optional[float]:
    found = [sample["busbw_gbyte_s"] for sample in outcome.record.get("samples", ()) if "busbw_gbyte_s" in sample]
    return float(found[-1]) if found else None


def run(request: Request, wanted: StudyOptions, runner: Callable[[Request], Outcome] = collective.run) -> Study:
    """Measure all groups and search for slow hosts. Stop at the first group that fails. Raises InputError."""
    wanted.check(request)
    runs = _Runs(request, runner)
    for group in plan_groups(wanted, len(request.hosts), request.options.ranks_per_host) if request.hosts else [Group("all", ())]:
        if runs.measure(group) is None:
            return runs.study
    whole = tuple(range(len(request.hosts)))
    limit = _limit(runs, wanted, whole)
    runs.study.limit_gbyte_s = limit
    runs.study.slow = limit is not None and runs.values[whole] < limit
    if runs.study.slow and limit is not None and wanted.isolate:
        _isolate(runs, request, whole, limit, wanted.budget)
    _rails(runs, request, wanted)
    return runs.study


def of_log(outcome: Outcome, floor_gbyte_s: float) -> Study:
    """Return the study of a log. There are no other groups to compare it with, only the floor."""
    value = _bus_bandwidth(outcome)
    if outcome.failed or value is None:
        return Study([outcome], failed=outcome)
    return Study([outcome], limit_gbyte_s=floor_gbyte_s, slow=value < floor_gbyte_s)


def _limit(runs: _Runs, wanted: StudyOptions, whole: Tuple[int, ...]) -> Optional[float]:
    """Return the given floor, or else a share of the best group of several hosts."""
    if wanted.floor_gbyte_s is not None:
        return wanted.floor_gbyte_s
    if wanted.isolate and len(whole) > bisection.MIN_HOSTS:
        for places in (whole[:bisection.MIN_HOSTS], whole[-bisection.MIN_HOSTS:]):
            if places not in runs.values and runs.measure(Group("reference", places), brief=True) is None:
                return None
    parts = [value for places, value in runs.values.items() if places != whole]
    return wanted.relative_floor * max(parts + [runs.values[whole]]) if parts else None


def _isolate(runs: _Runs, request: Request, whole: Tuple[int, ...], limit: float, budget: int, device: Optional[int] = None) -> None:
    names = request.names or request.hosts
    place_of = {name: place for place, name in enumerate(names)}
    known = list(runs.values.items()) if device is None else [(whole, runs.rails[device])]

    def measure(group: Sequence[str]) -> Optional[float]:
        label = "bisection" if device is None else "bisection of device %d" % device
        return runs.measure(Group(label, tuple(place_of[name] for name in group), device), brief=True)

    rails = dict(runs.rails)
    search = Search(names, measure, limit, [([names[place] for place in places], value) for places, value in known], budget)
    for finding in search.findings():
        runs.study.findings.append(_as_dict(finding, limit, device))
    runs.rails = rails


def _rails(runs: _Runs, request: Request, wanted: StudyOptions) -> None:
    """Compare the rails. A rail consists of the devices with the same number on all hosts."""
    if len(runs.rails) < 2:
        return
    limit = wanted.relative_floor * statistics.median(runs.rails.values())
    for device, value in sorted(runs.rails.items()):
        if value >= limit:
            continue
        runs.study.slow = True
        if wanted.isolate and len(request.hosts) > bisection.MIN_HOSTS:
            _isolate(runs, request, tuple(range(len(request.hosts))), limit, wanted.budget, device)
        else:
            others = statistics.median(other for number, other in runs.rails.items() if number != device)
            runs.study.findings.append({
                "kind": RAIL, "device": device, "hosts": list(request.names or request.hosts),
                "message": "device %d of all hosts: %.4g GB/s, the other devices: %.4g GB/s" % (device, value, others), "evidence": []})


def _as_dict(finding: Finding, limit: float, device: Optional[int]) -> Dict[str, Any]:
    """Return an element of the return value ``findings``."""
    hosts = finding.hosts
    fact = "the cause is among these hosts: the search stopped, since %s" % finding.stopped if finding.stopped else _FACTS[finding.kind] % {
        "it": "it" if len(hosts) == 1 else "all of them", "count": len(hosts)}
    found: Dict[str, Any] = {
        "kind": finding.kind, "hosts": list(hosts), "message": _sentence(hosts, fact, bool(finding.stopped) or finding.kind in _NAMED, device),
        "limit_gbyte_s": float("%.6g" % limit),
        "evidence": ["%s over %s: %.4g GB/s" % ("slow" if one.slow else "good", some(one.hosts), one.value) for one in finding.tried]}
    if device is not None:
        found["device"] = device
    if finding.stopped:
        found["stopped"] = finding.stopped
    return found


def _sentence(hosts: Sequence[str], fact: str, named: bool, device: Optional[int]) -> str:
    return ("" if device is None else "device %d: " % device) + ("%s: " % some(hosts) if named else "") + fact


def _sample(finding: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the sample of a finding for the history, in which the message does not contain the name of the component."""
    kind, hosts, message = finding["kind"], finding["hosts"], finding["message"]
    if kind == RAIL:
        component = {"kind": RAIL, "name": "rail %d" % finding["device"]}
    elif kind in _NAMED or "stopped" in finding:
        component = {"kind": "host", "name": some(hosts)}
        message = message.replace("%s: " % some(hosts), "", 1)
    else:
        component = {"kind": "cluster", "name": "cluster"}
    sample = {"component": component, "cause": "collective_slow", "severity": "slow", "message": message, "hosts": hosts, "stage": "check_collective"}
    return dict(sample, evidence=finding["evidence"]) if finding["evidence"] else sample


def finding_records(study: Study, run_id: str) -> List[Dict[str, Any]]:
    """Return the findings as records of the launching host. They are not verdicts on the hosts that they name."""
    return [record("finding", "%s/finding/collective/%d" % (run_id, number), "failed", hosts=finding["hosts"], started_at=utc(),
                   samples=[_sample(finding)])
            for number, finding in enumerate(study.findings, 1)]
