# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A run that takes over what an earlier one has measured well: of the same plan, with the same options, within the time that journals are kept."""

from __future__ import annotations

import calendar
import hashlib
import json
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._core.errors import InputError
from . import journal as journals
from .plan import Pair, needed

LAST = "last"

CONFIRMATION_SUFFIX = "-confirmation"
"""Of the run ids of confirmation runs of the role check_fabric. Such a run measures a few pairs only and is never resumed."""


def plan_hash(plan: Mapping[str, Any], tool: Mapping[str, Any], conditions: Mapping[str, Any]) -> str:
    """Of what is measured and how. ``tool``: its ``describe()``; the release of the tool does not count. ``conditions``: of the RunRequest."""
    how = {**tool, "tool": tool["tool"]["name"], **conditions}
    return hashlib.sha256(json.dumps([needed(plan), how], sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def earlier(state_dir: str, resume: Optional[str], run_id: str, wanted_hash: str) -> List[Dict[str, Any]]:
    """The good records of the run to go on with, without those that it took over itself and that are too old by now. None where this host has no such
    run: it measures all.

    Raises InputError where that run is of another plan, too old, still at work, or this very one.
    """
    if not resume:
        return []
    if resume == run_id:
        raise InputError("resume names the run itself, %s" % run_id, "a run that goes on with another has a run_id of its own")
    name = _last(state_dir, run_id) if resume == LAST else resume
    snapshot = journals.read(state_dir, name) if name else None
    if snapshot is None or not snapshot.start:
        return []
    if snapshot.state == journals.RUNNING:
        raise InputError("run %s cannot be resumed: it is still at work on this host" % name, "wait for it, or end it (rdma_perf with state: absent)")
    now, began = time.time(), snapshot.start.get("started_at")
    if began is None:
        raise InputError("run %s cannot be resumed: its journal does not say when it began" % name, "measure all without resume")
    age = now - began
    if age > journals.KEPT_SECONDS:
        raise InputError("run %s cannot be resumed: it is %d days old, and a fabric changes within 7" % (name, age // 86400), "measure all without resume")
    if snapshot.start.get("plan_hash") != wanted_hash:
        raise InputError("run %s cannot be resumed: its plan or its options are not those of this run" % name, "measure all without resume")
    return [record for record in snapshot.records if record["status"] == "ok" and now - _moment(record, began) <= journals.KEPT_SECONDS]


def _moment(record: Mapping[str, Any], began: float) -> float:
    """When a pair was measured; the start of its run where the record does not tell."""
    try:
        return float(calendar.timegm(time.strptime(str(record.get("started_at"))[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return began


def measured(records: Sequence[Mapping[str, Any]], pairs: Sequence[Pair]) -> List[Pair]:
    """Those of the pairs that have a record."""
    done = {str(record["id"]).split("/")[1] for record in records}
    return [pair for pair in pairs if pair.id in done]


def _last(state_dir: str, but: str) -> Optional[str]:
    """Return the run that began last on this host, confirmation runs excepted."""
    found: Dict[str, float] = {}
    for name in journals.listed(state_dir):
        snapshot = journals.readable(state_dir, name)
        if name != but and not name.endswith(CONFIRMATION_SUFFIX) and snapshot is not None and "started_at" in snapshot.start:
            found[name] = snapshot.start["started_at"]
    return max(found, key=lambda name: found[name]) if found else None
