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
  - Makes the plan that M(hccn.cluster.rdma_perf) works. In each round every NPU takes part in one pair at most, and the rails run at the same time.
  - Each pair has one direction. It changes between rounds and between rails, so that every host is a source.
  - The same input and seed give the same plan.
  - The summary tells before anything runs what the plan costs, what it covers, which faults it can name, and what a budget left out.
positional: _input, plan, seed, rails, run_id
options:
  _input:
    description:
      - The hosts. A list of dictionaries with C(host), C(devices), C(control_address) and C(control_port).
      - C(devices) is a list of dictionaries with C(id) and C(address), as M(hccn.cluster.device_info) returns them. Its topic C(lldp) tells the leaf
        switch of an NPU, its topic C(super_pod) the super pod.
      - A host may have C(leaf), one for all its NPUs or a dictionary by NPU id, C(super_pod), C(rack), and C(labels), those of its Kubernetes node.
        A device may have C(leaf) and C(rail).
      - What the inventory says comes before LLDP, and LLDP before labels. The labels are C(volcano.sh/tor) or C(volcano.sh/hypernode) for the leaf,
        C(huawei.com/topotree.superpodid) for the super pod, C(huawei.com/topotree.rackid) for the rack.
      - The other hosts must reach C(control_port) at C(control_address) over TCP.
    type: list
    elements: dict
    required: true
  plan:
    description:
      - V(quick) measures each NPU with two partners, in two rounds. It finds slow hosts and NPUs.
      - V(leaves) measures every two leaf switches, and each within itself, in as many rounds as there are leaves, or one less. Hosts of a
        leaf take turns. It also finds slow leaves and paths. Where NPUs of a host hang on different leaves, hosts that are wired alike count as one leaf.
      - V(full) measures every pair of hosts, in N-1 rounds for N hosts, N rounds where N is odd. No plan has fewer rounds.
      - V(devices) measures every pair of NPUs of different hosts, in (N-1)R rounds for R NPUs a host, NR where N and R are odd.
      - V(pairs) measures the O(pairs) given.
      - In all but V(devices) and V(pairs), an NPU is measured with those of the same id only. The first rounds of V(full) and V(devices) show as many
        pairs of leaves as they can.
    type: str
    choices: [quick, leaves, full, devices, pairs]
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
  pairs:
    description:
      - The pairs of the plan V(pairs). Each is a list of two hosts, for all NPUs that both have, or a dictionary with C(source) and C(target), each
        with C(host) and C(device).
      - They are brought into at most one round more than the busiest NPU has pairs.
    type: list
    elements: raw
  absent:
    description:
      - What O(pairs) may name though it is not in the input, names of hosts and dictionaries with C(host) and C(device), such as hosts that are lost.
      - Their pairs are not measured, the summary names them. Other hosts and NPUs that are not in the input are errors.
    type: list
    elements: raw
    default: []
  allow_empty:
    description:
      - Return a plan without C(hosts) and C(rounds) where no two NPUs can be measured with each other, for lack of hosts, of NPUs with the same id,
        or since all O(pairs) are O(absent). Without it that is an error.
    type: bool
    default: false
  groups:
    description:
      - For each host a dictionary with C(leaf), C(super_pod), C(rack) or C(rail), which come before what stands in the input.
        C(leaf) and C(rail) may be dictionaries by NPU id.
    type: dict
  budget:
    description:
      - Minutes that the plan may take. Rounds that do not fit are left out.
    type: float
  seconds_per_pair:
    description:
      - Seconds of one test with all that belongs to it, for the budget and the estimate. Take what a run on your hosts showed.
    type: float
    default: 8
  compact:
    description:
      - Whether the plan gives the rule of its rounds instead of the pairs. Without it plans of more than 512 pairs do.
      - A plan of 1024 hosts with 8 NPUs has four million pairs, its rule has 250 kB. M(hccn.cluster.rdma_perf) takes both.
    type: bool
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

- name: Every pair of leaf switches, as far as ten minutes go
  ansible.builtin.set_fact:
    plan: "{{ hosts | hccn.cluster.pair_plan(plan='leaves', groups=wiring, budget=10) }}"
  vars:
    wiring:
      n1: {leaf: leaf-1}
      n2: {leaf: {0: leaf-2, 1: leaf-3}}

- name: What would it cost, and what would it see?
  ansible.builtin.debug:
    msg: "{{ plan.summary.rounds }} rounds, {{ plan.summary.minutes }} minutes, sees {{ plan.summary.sees.classes | join(', ') }}"

- name: One pair of hosts, and two NPUs of different rails
  ansible.builtin.set_fact:
    plan: "{{ hosts | hccn.cluster.pair_plan(plan='pairs', pairs=wanted) }}"
  vars:
    wanted:
      - [n1, n2]
      - {source: {host: n1, device: 0}, target: {host: n3, device: 1}}
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(plan), its name, C(rounds), C(hosts), C(topology) and C(summary).
    - C(rounds) is a list of lists of pairs with C(id), C(source) and C(target).
    - C(hosts) tells where the runner of each host listens.
    - C(topology) has for each host its C(super_pod) and C(rack), and for each of its C(devices) the C(address), the C(rail) and the C(leaf). What is not
      known is not there.
    - With O(compact), C(schedule) and C(wiring) stand in place of C(rounds) and C(topology).
    - C(summary) has the numbers of C(hosts), C(rounds) and C(pairs), the C(rails), and C(coverage), the measured share of all pairs of equal
      devices, with the plan V(devices) of all pairs of devices.
    - Its C(minutes) are an estimate from C(seconds_per_pair). C(covers) has C(host_pairs), C(device_pairs) and, where leaves are known, C(leaf_pairs), each
      with C(planned), C(possible) and C(share). C(leaves) is the number of leaves, C(leaf_unknown) tells the number and some names of hosts
      with an NPU whose leaf is not known.
    - Its C(sees) has C(classes), the kinds of fault that the plan can name of C(node), C(device), C(rail), C(leaf) and C(path), and C(not), the reasons
      why not for the others, and C(smallest_drop_percent) of an C(npu) and a C(pair) that would be seen where measurements vary by C(spread_percent).
      C(left_out) is there where a budget cut the plan, with C(rounds), C(minutes) and C(pairs).
    - Its C(unmeasured) is there where O(pairs) has some with an end that is O(absent), a sentence for each.
  type: dict
"""

from collections.abc import Callable, Iterable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.detection_limit import forecast
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_summary import SECONDS_PER_PAIR
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def pair_plan(hosts: Any, plan: str = "quick", seed: int = 0, rails: Iterable[int] | None = None, run_id: str | None = None, pairs: Any = None,
              groups: Any = None, budget: float | None = None, seconds_per_pair: float = SECONDS_PER_PAIR, compact: bool | None = None,
              absent: Iterable[Any] = (), allow_empty: bool = False) -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        return make_plan(hosts, plan, seed, rails, run_id, pairs=pairs, absent=absent, groups=groups, budget=budget, seconds_per_pair=seconds_per_pair,
                         compact=compact, allow_empty=allow_empty, sees=forecast)
    except InputError as error:
        raise AnsibleFilterError(f"pair_plan: {error.sentence()}") from None


class FilterModule:
    """Ansible's filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return guard.filters({"pair_plan": pair_plan})
