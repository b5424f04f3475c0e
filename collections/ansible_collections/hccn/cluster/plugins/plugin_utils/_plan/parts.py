# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Plan the measurement of a large fabric in parts: every part by a job of its own, all at the same time, and then one plan over all hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._core.errors import InputError
from .pair_plan import planned
from .plan_summary import NAMES_SHOWN, SECONDS_PER_PAIR, share
from .schedule_order import LEAVES


def plan_in_parts(hosts: Sequence[Any], parts: Mapping[str, Sequence[str]], groups: Any = None, seconds_per_pair: float = SECONDS_PER_PAIR,
                  **settings: Any) -> dict[str, Any]:
    """Return the plan over all hosts, as of pair_plan.make_plan, with the time and coverage of the whole in ``summary.parts``.

    ``parts``: the hosts of each part, of which those are planned that are in ``hosts``. ``settings``: of the plan over all hosts. Raises InputError.
    """
    part_of: dict[str, str] = {}
    for part, names in parts.items():
        for name in names:
            if part_of.setdefault(name, part) != part:
                raise InputError(f"the host {name} is in the parts {part_of[name]} and {part}, which are measured at the same time: let it be in one of them")
    whole = planned(hosts, groups=groups, seconds_per_pair=seconds_per_pair, **settings)
    named = [(host["host"], host) for host in hosts]
    found = {part: planned([host for name, host in named if part_of.get(name) == part], LEAVES, groups=groups, seconds_per_pair=seconds_per_pair,
                           compact=True, allow_empty=True) for part in parts}
    outside = [name for name, _host in named if name not in part_of]
    longest = max(found, key=lambda part: found[part].plan["summary"]["rounds"])
    rounds = found[longest].plan["summary"]["rounds"]
    covered = whole.covered.leaves.union(*(part.covered.leaves for part in found.values()))
    summary = whole.plan["summary"]
    return {**whole.plan, "summary": {**summary, "parts": {
        "plan": LEAVES, "parts": len(found), "longest": longest, "rounds": rounds,
        "seconds": summary["seconds_per_pair"] * (rounds + summary["rounds"]), "leaf_pairs": share(len(covered), len(whole.possible.leaves)),
        "empty": [part for part, one in found.items() if not one.covered.devices],
        "outside": {"hosts": len(outside), "names": outside[:NAMES_SHOWN]}}}}
