# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The requirements of a job on the controller: the library netaddr to plan addresses, the callback hccn.cluster.results for history and report."""

from __future__ import annotations

from collections.abc import Iterable

from .._history import location
from .._plan import address_pools
from .job_problem import REQUIREMENT_MISSING, JobProblem

NAMES = ("history", "netaddr")


def missing(names: Iterable[str], subnets: Iterable[str]) -> list[JobProblem]:
    """Return a problem per missing requirement. ``subnets``: the hosts that declare subnets to plan addresses from."""
    wanted, planned = set(names), tuple(subnets)
    found = []
    if "netaddr" in wanted and planned and not address_pools.can_plan():
        found.append(JobProblem(REQUIREMENT_MISSING, "Planning addresses from bring_up_subnets needs the Python library netaddr on the controller. Install it "
                                "beside ansible-core: pip install netaddr"))
    no_history = _no_history() if "history" in wanted else None
    if no_history:
        found.append(JobProblem(REQUIREMENT_MISSING, f"There will be no history and no report: {no_history}"))
    return found


def _no_history() -> str | None:
    if location.lost():
        return location.lost()
    if location.this_run() is None:
        return ("enable the callback hccn.cluster.results, with callbacks_enabled = hccn.cluster.results in the section [defaults] of ansible.cfg, "
                "or with the environment variable ANSIBLE_CALLBACKS_ENABLED=hccn.cluster.results")
    return None
