#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: reachability_verdict
short_description: Classify hosts and parts of the fabric by pings between NPUs
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Diagnoses the results of M(hccn.cluster.device_ping) of all hosts. A pair of NPUs that lost packets has failed. A pair whose shortest round-trip time is
    much longer than normal is slow.
  - The faults are attributed to the fewest NPUs, hosts, rails, leaves or paths that explain them, as M(hccn.cluster.fabric_verdict) does.
  - The role P(hccn.cluster.check_reachability#role) plans the pings and runs this action.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
attributes:
  action:
    description: Has an action plugin of the same name, so that some of it runs on the controller.
    support: full
    details:
      - All of it runs on the controller.
options:
  hosts:
    description:
      - Names of the hosts.
    type: list
    elements: str
    required: true
  register_name:
    description:
      - Variable in which each host registered the result of M(hccn.cluster.device_ping).
    type: str
    required: true
  plan:
    description:
      - C(plan) of the filter P(hccn.cluster.ping_plan#filter).
    type: dict
    required: true
  left_out:
    description:
      - NPUs and hosts that are not in the plan, as P(hccn.cluster.measurable_hosts#filter) returns them.
    type: list
    elements: dict
    default: []
    suboptions:
      host:
        description: Name of the host.
        type: str
        required: true
      device:
        description: Physical id of the NPU. If omitted, the whole host.
        type: int
      code:
        description: Code of the reason.
        type: str
        required: true
      message:
        description: The reason.
        type: str
        required: true
  relative_floor:
    description:
      - A pair is slow if the normal round-trip time divided by its own is below this value. With V(0.2), it is slow if it takes more than five times as long.
    type: float
    default: 0.2
seealso:
  - module: hccn.cluster.device_ping
  - module: hccn.cluster.fabric_verdict
notes:
  - Runs on the controller. Use C(run_once).
"""

EXAMPLES = r"""
- name: Ping the planned NPUs
  hccn.cluster.device_ping:
    targets: "{{ pings.targets[inventory_hostname] | default([]) }}"
    allow_busy: true
    fail_on: none
  register: pinged

- name: Diagnose the pings
  hccn.cluster.reachability_verdict:
    hosts: "{{ ansible_play_hosts_all }}"
    register_name: pinged
    plan: "{{ pings.plan }}"
  run_once: true
"""

RETURN = r"""
verdicts:
  description: One entry for each host, as M(hccn.cluster.fabric_verdict) returns them.
  returned: always
  type: list
  elements: dict
hosts:
  description: The names of the hosts by class. Every class is present.
  returned: always
  type: dict
suspects:
  description: The bad hosts, and those of bad pairs, at most 32.
  returned: always
  type: list
  elements: str
components:
  description: The bad NPUs, hosts and parts of the fabric, as M(hccn.cluster.fabric_verdict) returns them.
  returned: always
  type: list
  elements: dict
coverage:
  description: Numbers of hosts and pairs.
  returned: always
  type: dict
detection_limit:
  description: What the pings could have found, as M(hccn.cluster.fabric_verdict) returns it.
  returned: always
  type: dict
regressions:
  description: Always empty, since no baseline is used.
  returned: always
  type: list
  elements: dict
problems:
  description: Answers of hosts that were dropped.
  returned: always
  type: list
  elements: dict
matrix:
  description: By source host and target host, the packets C(sent) and C(received) and the median C(rtt_us) of their pairs of NPUs.
  returned: always
  type: dict
  sample: {n1: {n2: {sent: 24, received: 24, rtt_us: 34.0}}}
lines:
  description: What was pinged, and the bad components, one line each.
  returned: always
  type: list
  elements: str
  sample: ["16 pairs of NPUs were pinged: 48 packets, 0 lost, median round-trip time 34 us"]
packets_sent:
  description: Number of packets that were sent.
  returned: always
  type: int
packets_received:
  description: Number of packets that were answered.
  returned: always
  type: int
median_rtt_us:
  description: Median of the shortest round-trip times of the pairs in microseconds, V(null) if nothing answered.
  returned: always
  type: float
"""
