# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter pair_plan. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: pair_plan
short_description: Plan pairwise RDMA measurements over hosts
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Creates the plan that M(hccn.cluster.rdma_perf) executes. In each round, every NPU takes part in at most one pair, and all rails run at the same time.
  - Each pair is measured in one direction, which alternates between rounds and between rails, so that every host is a source.
  - The same input and seed give the same plan.
  - The summary has the duration and coverage of the plan, the faults that it can locate, and the rounds that were omitted because of O(budget).
positional: _input, plan, seed, rails, run_id
options:
  _input:
    description:
      - The hosts, as dictionaries with C(host), C(devices), C(control_address) and C(control_port).
      - C(devices) is a list of dictionaries with C(id) and C(address), as returned by M(hccn.cluster.device_info). The topic C(lldp) gives the leaf
        switch of an NPU, the topic C(super_pod) its super pod.
      - A host may have C(leaf), either one for all its NPUs or a dictionary by NPU id; C(super_pod); C(rack); and C(labels), the labels of its Kubernetes
        node. A device may have C(leaf) and C(rail).
      - Values of the inventory take precedence over LLDP, and LLDP over labels. The labels are C(volcano.sh/tor) or C(volcano.sh/hypernode) for the leaf,
        C(huawei.com/topotree.superpodid) for the super pod, and C(huawei.com/topotree.rackid) for the rack.
      - The other hosts must be able to connect to C(control_port) at C(control_address) over TCP.
    type: list
    elements: dict
    required: true
  plan:
    description:
      - V(quick) measures each NPU with two partners, in two rounds. It detects slow hosts and NPUs.
      - V(leaves) measures every pair of leaf switches, and each leaf internally, in as many rounds as there are leaves, or one less. The hosts of a
        leaf take turns. It also detects slow leaves and paths. If the NPUs of a host are connected to different leaves, hosts with the same wiring count
        as one leaf.
      - V(full) measures every pair of hosts, in N-1 rounds for N hosts, or N rounds if N is odd. This is the minimum number of rounds.
      - V(devices) measures every pair of NPUs of different hosts, in (N-1)R rounds for R NPUs per host, or NR rounds if N and R are odd.
      - V(pairs) measures the pairs in O(pairs).
      - In all plans except V(devices) and V(pairs), an NPU is measured only with NPUs of the same id. The first rounds of V(full) and V(devices) cover as
        many pairs of leaves as possible.
    type: str
    choices: [quick, leaves, full, devices, pairs]
    default: quick
  seed:
    description:
      - Seed for the order of the hosts. Different seeds give different partners.
    type: int
    default: 0
  rails:
    description:
      - Ids of the NPUs to measure. The default are all ids that two hosts have in common.
    type: list
    elements: int
  run_id:
    description:
      - Name of the run, which becomes part of the plan. M(hccn.cluster.rdma_perf) refuses the plan of another run.
    type: str
  pairs:
    description:
      - The pairs of the plan V(pairs). Each is a list of two hosts, for all NPU ids that both have, or a dictionary with C(source) and C(target), each
        with C(host) and C(device).
      - The number of rounds exceeds the largest number of pairs of one NPU by at most one.
    type: list
    elements: raw
  absent:
    description:
      - Hosts and NPUs, such as lost hosts, that O(pairs) may contain although they are not in the input. Each is a host name, or a dictionary with C(host)
        and C(device).
      - Their pairs are not measured, and the summary lists them. Any other host or NPU that is not in the input is an error.
    type: list
    elements: raw
    default: []
  allow_empty:
    description:
      - Whether to return a plan without C(hosts) and C(rounds) if no two NPUs can be measured with each other, because there are too few hosts, no NPUs
        with the same id, or all O(pairs) are O(absent). With V(false), this is an error.
    type: bool
    default: false
  groups:
    description:
      - Topology by host name, as dictionaries with C(leaf), C(super_pod), C(rack) or C(rail), which take precedence over the input.
        C(leaf) and C(rail) may be dictionaries by NPU id.
    type: dict
  budget:
    description:
      - Limit for the duration of the plan in minutes. Rounds beyond it are omitted.
    type: float
  seconds_per_pair:
    description:
      - Duration of one test in seconds, including its overhead, for O(budget) and the estimate. Use the value from a run on your hosts.
    type: float
    default: 8
  parts:
    description:
      - Names of hosts by the name of a part, such as a pod of the network. The summary then also has the time and coverage of the whole, if each part is
        measured with V(leaves) by a job of its own, all at the same time, and then this plan over all hosts.
      - A host can be in one part only. Hosts that are not in the input are ignored.
    type: dict
    default: {}
  compact:
    description:
      - Whether the plan contains the rule that generates its rounds instead of the pairs. The default is V(true) for plans with more than 512 pairs.
      - A plan for 1024 hosts with 8 NPUs has four million pairs, but its rule only 250 kB. M(hccn.cluster.rdma_perf) accepts both forms.
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

- name: Plan the pairs of leaf switches that fit into ten minutes
  ansible.builtin.set_fact:
    plan: "{{ hosts | hccn.cluster.pair_plan(plan='leaves', groups=wiring, budget=10) }}"
  vars:
    wiring:
      n1: {leaf: leaf-1}
      n2: {leaf: {0: leaf-2, 1: leaf-3}}

- name: Show the duration of the plan and the faults that it detects
  ansible.builtin.debug:
    msg: "{{ plan.summary.rounds }} rounds, {{ plan.summary.minutes }} minutes, detects {{ plan.summary.sees.classes | join(', ') }}"

- name: Plan a pair of hosts, and two NPUs of different rails
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
    - A dictionary with C(plan), the name of the plan, C(rounds), C(hosts), C(topology) and C(summary).
    - C(rounds) is a list of lists of pairs with C(id), C(source) and C(target).
    - C(hosts) has the address and port of the listener of each host.
    - C(topology) has C(super_pod) and C(rack) of each host, and C(address), C(rail) and C(leaf) of each of its C(devices). Unknown values are omitted.
    - With O(compact), C(schedule) and C(wiring) replace C(rounds) and C(topology).
    - C(summary) has the numbers of C(hosts), C(rounds) and C(pairs), the C(rails), and C(coverage), the measured share of all pairs of NPUs with the same
      id, or of all pairs of NPUs with the plan V(devices).
    - In C(summary), C(minutes) is an estimate based on C(seconds_per_pair). C(covers) has C(host_pairs), C(device_pairs) and, if leaves are known,
      C(leaf_pairs), each with C(planned), C(possible) and C(share). C(leaves) is the number of leaves. C(leaf_unknown) has the number and some names of
      hosts with an NPU whose leaf is unknown.
    - In C(summary), C(sees) has C(classes), the kinds of fault that the plan can locate out of C(node), C(device), C(rail), C(leaf) and C(path); C(not), the
      reasons why it cannot locate the others; and C(smallest_drop_percent), the detection limit for an C(npu) and a C(pair) if measurements vary by
      C(spread_percent). If O(budget) shortened the plan, C(left_out) has the omitted C(rounds), C(minutes) and C(pairs).
    - In C(summary), C(unmeasured) has a sentence for each of O(pairs) with an NPU or host in O(absent). It is omitted if there is none.
  type: dict
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.detection_limit import forecast
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.parts import plan_in_parts
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_summary import SECONDS_PER_PAIR
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def pair_plan(hosts: Any, plan: str = "quick", seed: int = 0, rails: Iterable[int] | None = None, run_id: str | None = None, pairs: Any = None,
              groups: Any = None, budget: float | None = None, seconds_per_pair: float = SECONDS_PER_PAIR, compact: bool | None = None,
              absent: Iterable[Any] = (), allow_empty: bool = False, parts: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """See DOCUMENTATION."""
    make = functools.partial(plan_in_parts, parts=parts) if parts else make_plan
    return make(hosts, plan=plan, seed=seed, rails=rails, run_id=run_id, pairs=pairs, absent=absent, groups=groups, budget=budget,
                seconds_per_pair=seconds_per_pair, compact=compact, allow_empty=allow_empty, sees=forecast)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"pair_plan": pair_plan})
