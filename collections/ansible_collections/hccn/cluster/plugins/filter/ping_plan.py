# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter ping_plan. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: ping_plan
short_description: Plan pings between the NPUs of hosts
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Pairs each NPU with NPUs of the same id on several other hosts. One NPU of each pair sends the pings.
  - The pairs are the first rounds of the plan V(full) of P(hccn.cluster.pair_plan#filter), which cover as many pairs of leaves as possible.
positional: _input, partners, seed
options:
  _input:
    description:
      - The hosts, as for P(hccn.cluster.pair_plan#filter).
    type: list
    elements: dict
    required: true
  partners:
    description:
      - Number of partners of each NPU, 1 to 64.
    type: int
    default: 4
  seed:
    description:
      - Seed for the order of the hosts. Different seeds give different partners.
    type: int
    default: 0
seealso:
  - module: hccn.cluster.device_ping
  - module: hccn.cluster.reachability_verdict
"""

EXAMPLES = r"""
- name: Plan four partners for each NPU
  ansible.builtin.set_fact:
    pings: "{{ hosts | hccn.cluster.ping_plan(partners=4) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - C(targets), the targets for M(hccn.cluster.device_ping) by host, and C(plan) for M(hccn.cluster.reachability_verdict).
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan import ping_plan as plans
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def ping_plan(hosts: Any, partners: Any = 4, seed: Any = 0) -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        return plans.ping_plan(hosts, partners, seed)
    except InputError as error:
        raise AnsibleFilterError(f"ping_plan: {error.sentence()}") from error


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"ping_plan": ping_plan})
