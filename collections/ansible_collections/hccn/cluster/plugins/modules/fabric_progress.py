#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action fabric_progress, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_progress
short_description: Say how far a pairwise RDMA run is
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Prints a line every O(interval) seconds while a run of M(hccn.cluster.rdma_perf) goes on in the background, and ends when it is over on all hosts. The
    line tells the round, pairs done and failed, the slowest measurement so far, and the time left.
  - The hosts tell the reporters of the run how far they are (O(hccn.cluster.rdma_perf#module:reporters)). This task asks one of them, to which it is
    delegated, by whatever connection and become method that host has. It is one task for all hosts, with C(run_once).
  - A reporter that starts when others are over already does not hear of them, so name hosts that start early.
  - It changes nothing about the run and never fails for it. Where the reporter is down, or its runner dead or hung, it says so and ends with RV(state)
    V(lost). Another task may ask the next reporter then.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
attributes:
  action:
    description: Has an action plugin of the same name, so that some of it runs on the controller.
    support: full
    details:
      - It runs on the controller and calls M(hccn.cluster.rdma_perf_info) on the host.
options:
  run_id:
    description:
      - Name of the run.
    type: str
    required: true
  plan:
    description:
      - The plan that is measured. Its numbers of pairs and rounds are what the run is compared with.
    type: dict
    required: true
  state_dir:
    description:
      - Folder of the journals, as given to M(hccn.cluster.rdma_perf).
    type: path
    default: /var/lib/hccn.cluster
  interval:
    description:
      - Seconds from line to line.
    type: float
    default: 10
  timeout:
    description:
      - Seconds after which the task ends, with RV(state) V(timeout), whatever the run does.
    type: float
    default: 1800
  all_started:
    description:
      - Whether M(hccn.cluster.rdma_perf) is done on all hosts. Those that nobody has met a little later are then given up, rather than after its
        O(hccn.cluster.rdma_perf#module:meeting_timeout).
    type: bool
    default: false
seealso:
  - module: hccn.cluster.rdma_perf
  - module: hccn.cluster.rdma_perf_info
notes:
  - A host without a word for a while, four of its reports, is taken for gone. The line names it. The run is over when all others are.
  - In check mode nothing is asked.
"""

EXAMPLES = r"""
- name: Start the measurements, two hosts are told by all how far they are
  hccn.cluster.rdma_perf:
    run_id: "{{ run_id }}"
    plan: "{{ plan }}"
    host: "{{ inventory_hostname }}"
    key: "{{ key }}"
    reporters: [n1, n2]
    wait: false

- name: Say how far they are
  hccn.cluster.fabric_progress:
    run_id: "{{ run_id }}"
    plan: "{{ plan }}"
  delegate_to: n1
  run_once: true
  register: progress

- name: Say so by the second reporter, where the first one is lost
  hccn.cluster.fabric_progress:
    run_id: "{{ run_id }}"
    plan: "{{ plan }}"
  delegate_to: n2
  run_once: true
  when: progress.state == 'lost'
"""

RETURN = r"""
state:
  description: V(over) when no host is at work any more, V(timeout) when O(timeout) has passed, V(lost) when the reporter does not tell any more.
  returned: outside check mode
  type: str
  sample: over
msg:
  description: The last line.
  returned: always
  type: str
  sample: 2016 of 2016 pairs done, 2 failed, slowest 50.2 Gbit/s (n3 npu 1 to n7 npu 1), finished
lines:
  description: All lines that were printed.
  returned: always
  type: list
  elements: str
  sample: ["round 12 of 63, 340 of 2016 pairs done, 2 failed, slowest 50.2 Gbit/s (n3 npu 1 to n7 npu 1), about 8 min left"]
reporter:
  description: The host that was asked.
  returned: always
  type: str
progress:
  description: What it told last, as RV(hccn.cluster.rdma_perf_info#module:fabric). Empty where it told nothing.
  returned: outside check mode
  type: dict
"""
