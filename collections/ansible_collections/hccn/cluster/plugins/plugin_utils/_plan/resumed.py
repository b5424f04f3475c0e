# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The run that a check of the fabric resumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._fabric.plan import check_name


def last_of_most(answers: Iterable[Any]) -> str | None:
    """Return the run that most hosts started last, of several the latest; None if there is none. ``answers``: of rdma_perf_info without a run id.

    Clocks of hosts differ, and a single host may have a run of its own, so that the latest start alone says little.
    """
    hosts: Counter[str] = Counter()
    starts: dict[str, float] = {}
    for answer in answers:
        run = answer.get("last_run") if isinstance(answer, Mapping) else None
        found = _checked(run) if isinstance(run, Mapping) else None
        if found is not None:
            run_id, started_at = found
            hosts[run_id] += 1
            starts[run_id] = max(started_at, starts.get(run_id, started_at))
    return max(hosts, key=lambda run_id: (hosts[run_id], starts[run_id]), default=None)


def _checked(run: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return id and start of a run, None if a host returned something else."""
    started_at = run.get("started_at")
    if not isinstance(started_at, (int, float)) or isinstance(started_at, bool):
        return None
    try:
        return (check_name("run_id", run.get("run_id")), float(started_at)) if isfinite(started_at) else None
    except (InputError, OverflowError):
        return None
