# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter packed_plan. The logic is in module_utils/_fabric, since hosts unpack it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: packed_plan
short_description: Compress a pair plan before it is sent to all hosts
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Compresses the part of a plan that hosts need, C(hosts) with C(rounds) or C(schedule), into a string of about a tenth of its size.
    M(hccn.cluster.rdma_perf) accepts both forms.
  - Every host receives the whole plan. Without compression, the network traffic and the memory that Ansible needs during a task grow with the square of
    the number of hosts. For 1,000 hosts with eight NPUs and the plan V(quick), each host receives 250 kB uncompressed and 25 kB compressed.
  - Compress the plan once for all hosts and keep the result with M(ansible.builtin.set_fact), preferably with C(run_once).
  - M(hccn.cluster.fabric_plan), M(hccn.cluster.fabric_progress) and M(hccn.cluster.fabric_verdict) require the uncompressed plan.
positional: _input
options:
  _input:
    description:
      - A plan of P(hccn.cluster.pair_plan#filter).
    type: dict
    required: true
seealso:
  - plugin: hccn.cluster.pair_plan
    plugin_type: filter
  - module: hccn.cluster.rdma_perf
"""

EXAMPLES = r"""
- name: Compress the plan once for all hosts
  ansible.builtin.set_fact:
    compressed: "{{ plan | hccn.cluster.packed_plan }}"
  run_once: true

- name: Start the measurements of each host
  hccn.cluster.rdma_perf:
    run_id: "{{ run_id }}"
    plan: "{{ compressed }}"
    host: "{{ inventory_hostname }}"
    key: "{{ key }}"
    wait: false
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(packed), the plan as JSON, compressed with zlib and encoded as base64. Equal plans give equal results.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import NEEDED, is_plan, pack
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def packed_plan(plan: Any) -> dict[str, str]:
    """See DOCUMENTATION."""
    if not is_plan(plan):
        raise InputError(f"the input is not a pair plan with {NEEDED[0]} and {' or '.join(NEEDED[1:])}: create it with the filter hccn.cluster.pair_plan")
    return pack(plan)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"packed_plan": packed_plan})
