#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action fabric_verdict, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_verdict
short_description: Judge the results of a pairwise RDMA run
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads what M(hccn.cluster.rdma_perf) or M(hccn.cluster.rdma_perf_info) returned on all hosts, and puts every host into exactly one class, with a
    sentence and the evidence. V(good), V(slow), V(failed), V(busy), V(unreachable) or V(not_measured).
  - A measurement is slow below O(floor_gbit_s), or below O(relative_floor) of the median of its like. Its like are the measurements of the same
    operation, measure and size on the same rail where there are eight or more of them, otherwise on all rails. Latency is judged the same way round.
  - A bad pair is put down to one end where the other end is proven good by another partner, or where only one has more bad pairs. Otherwise both ends
    are named, and the sentence says that it may be either of them, or the path between.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
attributes:
  action:
    description: Has an action plugin of the same name, so that some of it runs on the controller.
    support: full
    details:
      - All of it does.
options:
  hosts:
    description:
      - The hosts to judge, for instance C(groups['npu']). Each of them ends in one class, also those without any result.
      - Without it the hosts of O(nodes).
    type: list
    elements: str
  register_name:
    description:
      - The variable under which the play registered the results. Give its name, not its value. It is read from the variables of O(hosts).
      - Either this or O(nodes).
    type: str
  nodes:
    description:
      - The results, as a dictionary from the name of the host to its result.
    type: dict
  run_id:
    description:
      - Name of the run in the ids of the records. Without it that of the results.
    type: str
  floor_gbit_s:
    description:
      - Bandwidth in Gbit/s below which a pair is slow, whatever the others have. About 97 % of the line rate is normal for C(roce_test) on 200GE.
    type: float
  start_register_name:
    description:
      - Name under which the hosts registered the result of M(hccn.cluster.rdma_perf) with C(wait=false). Where that failed, it tells why.
    type: str
  left_out:
    description:
      - NPUs that were kept out of the plan. Their host is not good. It is V(busy) where all of them have the C(code) V(device_busy), else V(failed).
    type: list
    elements: dict
    default: []
    suboptions:
      host:
        description: The host.
        type: str
        required: true
      device:
        description: Physical id.
        type: int
        required: true
      code:
        description: Why, as a word, such as V(device_busy) or V(address_not_set).
        type: str
        required: true
      message:
        description: Why, in a sentence.
        type: str
        required: true
  relative_floor:
    description:
      - Share of the median below which a pair is slow. A latency is slow above the median divided by it.
    type: float
    default: 0.75
  fail_on:
    description:
      - For which classes the task fails, after everything was judged. V(failed) for V(failed) and V(unreachable), V(slow) for every class but
        V(good), V(never) for none.
    type: str
    choices: [failed, slow, never]
    default: failed
seealso:
  - module: hccn.cluster.rdma_perf
  - module: hccn.cluster.rdma_perf_info
notes:
  - Runs on the controller. Use C(run_once).
  - With two hosts only there is no third to tell which end is bad, so both are named.
"""

EXAMPLES = r"""
- name: Collect the results
  hccn.cluster.rdma_perf_info:
    run_id: "{{ run_id }}"
    wait: 600
  register: rdma

- name: Judge all hosts of the group
  hccn.cluster.fabric_verdict:
    hosts: "{{ groups['npu'] }}"
    register_name: rdma
    floor_gbit_s: 180
    fail_on: slow
  run_once: true
"""

RETURN = r"""
verdicts:
  description: One entry for each host, in the order of O(hosts).
  returned: always
  type: list
  elements: dict
  contains:
    host:
      description: The host.
      type: str
    class:
      description: V(good), V(slow), V(failed), V(busy), V(unreachable) or V(not_measured).
      type: str
    message:
      description: Why, in a sentence.
      type: str
    evidence:
      description: The bad pairs that the verdict rests on, worst first.
      type: list
      elements: str
  sample:
    - host: n3
      class: slow
      message: npu 5 is slow with n1, n2
      evidence:
        - "n3 npu 5 to n1 npu 5: 50.2 Gbit/s, the median is 195.9"
        - "n2 npu 5 to n3 npu 5: 50.4 Gbit/s, the median is 195.9"
hosts:
  description: The names of the hosts by class. Every class is there.
  returned: always
  type: dict
  sample: {good: [n1, n2, n4], slow: [n3], failed: [], busy: [], unreachable: [], not_measured: []}
coverage:
  description: How much the verdicts rest on. Numbers of hosts, of measured pairs of NPUs by their state, and of pairs of hosts.
  returned: always
  type: dict
  sample:
    hosts: 4
    hosts_measured: 4
    pairs: 32
    pairs_good: 30
    pairs_slow: 2
    pairs_failed: 0
    pairs_busy: 0
    host_pairs_measured: 4
    host_pairs_possible: 6
run_id:
  description: The run.
  returned: always
  type: str
measurements:
  description: One record of kind C(verdict) for each host.
  returned: always
  type: list
  elements: dict
"""
