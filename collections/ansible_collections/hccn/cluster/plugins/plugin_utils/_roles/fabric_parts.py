# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Judge runs of check_fabric that each measured a part of the pairs as one: the pairs of all runs are diagnosed together.

A large fabric is measured in parts: each pod of the network by a job of its own, at the same time, and then a few rounds over all hosts. What is on one host,
such as a link that is down, comes from the newest run that concluded the host.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._diagnose.diagnosis import diagnose_records
from .._findings import fabric, reading
from .._findings.finding import Finding
from .._history.slices import Slices, concluded_runs
from .._plan.plan_record import PlanRecord

PLAYBOOK = "check_fabric"

JUDGED = frozenset({"slow_npu", "slow_host", "slow_fabric", "failed_npu", "failed_host", "failed_fabric", "not_measured"})
"""Causes of findings that the diagnosis makes from the pairs of a run."""


def of(folder: Path, hosts: Sequence[str], oldest: datetime.datetime, **floors: float | None) -> Slices:
    """Return what all runs since ``oldest`` together say about ``hosts``, including a finding about the hosts that no run concluded.

    ``floors``: as for diagnosis.diagnose.
    """
    found, wanted = Slices(missing=list(hosts)), set(hosts)
    measured: list[dict[str, Any]] = []
    topology: dict[str, Any] = {}
    for run_id, records, classes in concluded_runs(folder, PLAYBOOK, oldest):
        if not wanted.intersection(classes):
            continue
        mine = found.count(run_id, classes)
        if not mine:
            found.runs.append(run_id)
        for record in records:
            if record.get("kind") == "rdma":
                measured.append(record)
            elif record.get("kind") == "plan":
                topology = {**PlanRecord(record).topology(), **topology}
            elif record.get("kind") == "finding":
                found.add(Finding.of_sample(reading.first_sample(record)), mine, JUDGED)
    if measured:
        concluded = [host for host in hosts if host not in found.missing]
        judged = diagnose_records([one for one in measured if _between(one, wanted)], concluded, plan={"topology": topology}, **floors)
        findings, classes = fabric.of_verdict(judged.as_dict())
        explained = {host for one in found.findings for host in one.hosts}
        found.findings += [one for one in findings if one.cause != "not_measured" or not explained.issuperset(one.hosts)]
        found.classes.update((host, name) for host, name in classes.items() if found.classes.get(host) != "unreachable")
    found.add_missing(PLAYBOOK, oldest)
    return found


def _between(record: dict[str, Any], hosts: set[str]) -> bool:
    return all(reading.mapping(record.get(side)).get("host") in hosts for side in ("source", "target"))
