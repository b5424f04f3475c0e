# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell of the filter pair_plan; the logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: pair_plan
short_description: Plan pairwise RDMA measurements over hosts
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Makes the plan that M(hccn.cluster.rdma_perf) works. In each round every NPU takes part in one pair at most, always with the NPU of the same id
    on another host. The rails run at the same time.
  - Each pair has one direction. It changes between rounds and between rails, so that every host is a source.
  - The same input and seed give the same plan.
positional: _input, plan, seed, rails
options:
  _input:
    description:
      - The hosts. A list of dictionaries with C(host), C(devices), C(control_address) and C(control_port).
      - C(devices) is a list of dictionaries with C(id) and C(address), as M(hccn.cluster.device_info) returns them. Other keys are not looked at.
      - The other hosts must reach C(control_port) at C(control_address) over TCP.
    type: list
    elements: dict
    required: true
  plan:
    description:
      - V(full) measures every pair of hosts, in N-1 rounds for N hosts, N rounds where N is odd. No plan has fewer rounds.
      - V(quick) is the first two rounds of V(full).
    type: str
    choices: [quick, full]
    default: quick
  seed:
    description:
      - Seed of the order of the hosts. Other seeds give other partners.
    type: int
    default: 0
  rails:
    description:
      - Ids of the NPUs to measure. Without it all that two hosts have in common.
    type: list
    elements: int
  run_id:
    description:
      - Name of the run, to be written into the plan. M(hccn.cluster.rdma_perf) refuses a plan of another run.
    type: str
seealso:
  - module: hccn.cluster.rdma_perf
"""

EXAMPLES = r"""
- name: Plan two rounds over two hosts
  ansible.builtin.debug:
    msg: "{{ hosts | hccn.cluster.pair_plan(plan='quick', seed=7) }}"
  vars:
    hosts:
      - host: n1
        control_address: 192.168.0.11
        control_port: 18600
        devices: [{id: 0, address: 10.0.0.11}, {id: 1, address: 10.0.1.11}]
      - host: n2
        control_address: 192.168.0.12
        control_port: 18600
        devices: [{id: 0, address: 10.0.0.12}, {id: 1, address: 10.0.1.12}]
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(rounds), C(hosts) and C(summary).
    - C(rounds) is a list of lists of pairs with C(id), C(source) and C(target).
    - C(hosts) tells where the runner of each host listens.
    - C(summary) has the numbers of C(hosts), C(rounds) and C(pairs), the C(rails), and C(coverage), the measured share of all pairs of equal devices.
  type: dict
"""

from collections.abc import Callable, Iterable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.rounds import make_plan


def pair_plan(hosts: Any, plan: str = "quick", seed: int = 0, rails: Iterable[int] | None = None, run_id: str | None = None) -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        return make_plan(hosts, plan, seed, rails, run_id)
    except InputError as error:
        raise AnsibleFilterError(f"pair_plan: {error.sentence()}") from None


class FilterModule:
    """Ansible's filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return {"pair_plan": pair_plan}
