#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action fabric_progress, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_progress
short_description: Show the progress of a pairwise RDMA run
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Prints a line every O(interval) seconds while a run of M(hccn.cluster.rdma_perf) continues in the background, and ends when the run is over on all
    hosts. The line shows the round, the pairs done and failed, the slowest measurement so far, and the remaining time.
  - The hosts report their progress to the reporters of the run (O(hccn.cluster.rdma_perf#module:reporters)). Delegate this task to one of the reporters;
    it is read with the connection and become method of that host. A single task with C(run_once) is enough for all hosts.
  - A reporter that starts after other hosts are already over does not learn of them, so choose hosts that start early.
  - The task does not change the run and never fails because of it. If the reporter is down, or its runner is dead or hangs, the task reports that and
    ends with RV(state) V(lost). Another task can then poll the next reporter.
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
      - The plan that is measured. The progress is relative to its numbers of pairs and rounds.
    type: dict
    required: true
  state_dir:
    description:
      - Directory of the journals, as passed to M(hccn.cluster.rdma_perf).
    type: path
    default: /var/lib/hccn.cluster
  interval:
    description:
      - Seconds between two lines.
    type: float
    default: 10
  timeout:
    description:
      - Seconds after which the task ends with RV(state) V(timeout), even if the run continues.
    type: float
    default: 1800
  all_started:
    description:
      - Whether M(hccn.cluster.rdma_perf) has finished on all hosts. Hosts that no other host has met shortly after are then given up early, instead of
        after O(hccn.cluster.rdma_perf#module:meeting_timeout).
    type: bool
    default: false
  tool:
    description:
      - The measurement tool. If it is not V(roce_test), which measures NPUs, the lines name ports instead.
    type: str
    default: roce_test
seealso:
  - module: hccn.cluster.rdma_perf
  - module: hccn.cluster.rdma_perf_info
notes:
  - A host that misses four of its reports is considered lost. The line names it. The run is over when it is over on all other hosts.
  - In check mode, no reporter is polled.
"""

EXAMPLES = r"""
- name: Start measurements with two progress reporters
  hccn.cluster.rdma_perf:
    run_id: "{{ run_id }}"
    plan: "{{ plan }}"
    host: "{{ inventory_hostname }}"
    key: "{{ key }}"
    reporters: [n1, n2]
    wait: false

- name: Show progress
  hccn.cluster.fabric_progress:
    run_id: "{{ run_id }}"
    plan: "{{ plan }}"
  delegate_to: n1
  run_once: true
  register: progress

- name: Show progress by the second reporter if the first one is lost
  hccn.cluster.fabric_progress:
    run_id: "{{ run_id }}"
    plan: "{{ plan }}"
  delegate_to: n2
  run_once: true
  when: progress.state == 'lost'
"""

RETURN = r"""
state:
  description: V(over) if no host is measuring any more, V(timeout) if O(timeout) has passed, V(lost) if the reporter does not answer any more.
  returned: outside check mode
  type: str
  sample: over
msg:
  description: The last line that was printed.
  returned: always
  type: str
  sample: 2016 of 2016 pairs done, 2 failed, slowest 50.2 Gbit/s (n3 NPU 1 to n7 NPU 1), finished
lines:
  description: All lines that were printed.
  returned: always
  type: list
  elements: str
  sample: ["round 12 of 63, 340 of 2016 pairs done, 2 failed, slowest 50.2 Gbit/s (n3 NPU 1 to n7 NPU 1), about 8 min left"]
reporter:
  description: The reporter that was polled.
  returned: always
  type: str
progress:
  description: The last progress that the reporter returned, as RV(hccn.cluster.rdma_perf_info#module:fabric). Empty if it returned none.
  returned: outside check mode
  type: dict
"""
