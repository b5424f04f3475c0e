#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action fabric_plan, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_plan
short_description: Show the plan of a pairwise RDMA run and record it in the history
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns a record of kind C(plan) under RV(measurements), which P(hccn.cluster.results#callback) writes into the history before anything is measured. From
    it M(hccn.cluster.report) reads the leaf switches, the planned coverage, what was left out and why, and which planned pairs were not measured,
    also if the run was killed.
  - Prints O(text) and up to 10 lines of O(left_out), even if Ansible displays only changes and failures.
  - The record contains the rule of the plan instead of its pairs, and each distinct wiring of hosts once. The plan of 4,096 hosts takes 120 kB. A record
    of more than 240 kB is shortened and names the missing parts.
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
  run_id:
    description:
      - Name of the run.
    type: str
    required: true
  plan:
    description:
      - The plan, from P(hccn.cluster.pair_plan#filter).
    type: dict
    required: true
  hosts:
    description:
      - All hosts that were requested. The record names those that are not in the plan.
    type: list
    elements: str
    default: []
  left_out:
    description:
      - NPUs that were left out of the plan.
    type: list
    elements: dict
    default: []
    suboptions:
      host:
        description: Name of the host.
        type: str
        required: true
      device:
        description: Physical id of the NPU. Without it, the whole host was left out.
        type: int
      code:
        description: Code of the reason, such as V(device_busy) or V(address_not_set).
        type: str
        required: true
      message:
        description: The reason as a sentence.
        type: str
        required: true
  text:
    description:
      - Sentences about the plan that the report shows.
    type: list
    elements: str
    default: []
  confirmation_of:
    description:
      - Name of the run whose open questions this confirmation run settles. The coverage of that run is in its own plan.
    type: str
  tool:
    description:
      - The measurement tool. If it is not V(roce_test), which measures NPUs, the texts name ports instead.
    type: str
    default: roce_test
seealso:
  - plugin: hccn.cluster.pair_plan
    plugin_type: filter
  - module: hccn.cluster.report
  - plugin: hccn.cluster.results
    plugin_type: callback
notes:
  - Runs on the controller. Use C(run_once).
  - In check mode the plan is recorded, too.
"""

EXAMPLES = r"""
- name: Plan every pair of hosts
  ansible.builtin.set_fact:
    plan: "{{ hosts | hccn.cluster.pair_plan(plan='full', budget=20) }}"
  run_once: true

- name: Record it in the history
  hccn.cluster.fabric_plan:
    run_id: "{{ run_id }}"
    plan: "{{ plan }}"
    hosts: "{{ ansible_play_hosts_all }}"
    left_out:
      - {host: n7, device: 3, code: device_busy, message: "it is at work, pid 4711"}
  run_once: true
"""

RETURN = r"""
run_id:
  description: Name of the run.
  returned: always
  type: str
measurements:
  description:
    - One record of kind C(plan). Its C(hosts) are those of the plan, in the order of its rule.
    - Its sample has C(plan), C(pairs), C(rounds), C(minutes), C(covers), C(sees) and C(cut), what a budget cut off, from the summary of the
      plan. C(left_out) and C(hosts_left_out) contain numbers and the first names. There are also C(topology), C(super_pod) and C(rack), and C(schedule) or
      C(pairs_listed). C(shortened) names the parts that did not fit.
    - In C(topology), C(leaves) are names of leaf switches. C(kinds) are the different wirings of hosts. By NPU id they contain the rail and, if it is
      known, the index of the leaf in C(leaves) and its source, V(inventory), V(lldp) or V(label). C(of) is the index in C(kinds) of each host.
  returned: always
  type: list
  elements: dict
"""
