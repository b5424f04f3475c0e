# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter plan_review. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: plan_review
short_description: Describe a plan of pairwise measurements and check its settings
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns sentences that describe a plan before it is measured, and the reasons why it cannot be measured or classified with the settings of
    P(hccn.cluster.check_fabric#role).
positional: _input
options:
  _input:
    description:
      - The plan, from P(hccn.cluster.pair_plan#filter).
    type: dict
    required: true
  operation:
    description:
      - The operation of the measurements.
    type: str
    required: true
  measure:
    description:
      - Measured quantity, such as V(bandwidth).
    type: str
    required: true
  size:
    description:
      - Message size.
    type: str
    required: true
  relative_floor:
    description:
      - Share of the usual value above which nothing is slow.
    type: float
    required: true
  line_rate_floor:
    description:
      - Share of the line rate below which a pair is slow.
    type: float
    required: true
  timeout_s:
    description:
      - Time limit for the measurements in seconds. V(0) allows as long as the plan needs.
    type: int
  forks:
    description:
      - Number of hosts on which Ansible runs a task at the same time, from which the time of the whole check is estimated.
    type: int
    default: 5
seealso:
  - plugin: hccn.cluster.pair_plan
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the plan
  ansible.builtin.debug:
    msg: "{{ (plan | hccn.cluster.plan_review(operation='write', measure='bandwidth', size='64K', relative_floor=0.97, line_rate_floor=0.9,
                                              timeout_s=0)).lines }}"
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(lines), the description of the plan, and C(refusals), the reasons why it cannot run with these settings.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import is_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.review import Settings, lines, refusals
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def plan_review(plan: Mapping[str, Any], **settings: Any) -> dict[str, list[str]]:
    """See DOCUMENTATION."""
    if not is_plan(plan) or "summary" not in plan:
        raise InputError("the input is not a pair plan: create it with the filter hccn.cluster.pair_plan")
    given = Settings(**settings)
    return {"lines": lines(plan, given), "refusals": refusals(plan, given)}


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"plan_review": plan_review})
