#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action conclude, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: conclude
short_description: Conclude a run with findings, a class for each host and a result
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Derives findings from all results that the roles of this run registered on the hosts, from the first probe to the collective. If two stages detect the same
    problem, it is one finding. Values that the run read are also compared between the hosts and with C(hccn.conf).
  - If the callback P(hccn.cluster.results#callback) is enabled, versions and settings that changed since the last run that read the host are noted.
  - In check mode, the findings assume that the addresses and TLS flags of the NPUs were set, so that a job does not fail because of problems that it would
    solve.
  - It runs on the controller without a connection, and findings do not make it fail. The role P(hccn.cluster.conclude#role) runs it at the end of
    the playbooks, writes the report and fails the job.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  hosts:
    description: The hosts of the run, by their inventory names.
    type: list
    elements: str
    required: true
  fail_on:
    description:
      - Results for which RV(fails) is true. V(failed) includes hosts that failed or were unreachable. V(slow) also includes slow and degraded components.
        V(any) also includes hosts that were busy or not measured. Notes never fail a job.
    type: str
    choices: [never, failed, slow, any]
    default: slow
  slices_of:
    description:
      - Name of a playbook, such as V(bring_up), that ran as several jobs, each on a part of the hosts. The conclusion is then made from their runs in the
        history instead of the results of this run.
      - For each host, the newest run that concluded it counts. A host without one is not measured. Values that must be equal or unique are compared between
        all hosts.
      - With V(check_fabric), all runs count, and their pairs are diagnosed together.
    type: str
  within_minutes:
    description:
      - With O(slices_of), how old a run may be.
    type: float
    default: 360
  floor_gbit_s:
    description:
      - With O(slices_of=check_fabric), bandwidth in Gbit/s below which a pair is slow, as for M(hccn.cluster.fabric_verdict).
    type: float
  line_rate_floor:
    description:
      - With O(slices_of=check_fabric), share of the line rate below which a pair is slow, as for M(hccn.cluster.fabric_verdict).
    type: float
    default: 0.9
  relative_floor:
    description:
      - With O(slices_of=check_fabric), share of the normal value below which a pair is slow, as for M(hccn.cluster.fabric_verdict).
    type: float
    default: 0.97
seealso:
  - module: hccn.cluster.validate_job
  - module: hccn.cluster.report
notes:
  - Verified on the simulator. It has not been run on NPUs yet.
"""

EXAMPLES = r"""
- name: Conclude the run
  hccn.cluster.conclude:
    hosts: "{{ hccn_validated.hosts }}"
    fail_on: failed
  register: conclusion

- name: Show the result
  ansible.builtin.debug:
    msg: "{{ conclusion.lines }}"
"""

RETURN = r"""
runs:
  description: With O(slices_of), the ids of the runs that were concluded, the newest first.
  returned: with slices_of
  type: list
  elements: str
result:
  description: The worst class of all findings and hosts. One of V(good), V(not_measured), V(busy), V(degraded), V(slow), V(failed).
  returned: always
  type: str
  sample: failed
fails:
  description: Whether the job fails according to O(fail_on).
  returned: always
  type: bool
fail_on:
  description: Value of the option O(fail_on).
  returned: always
  type: str
message:
  description: The first of RV(lines).
  returned: always
  type: str
  sample: "Result: failed. 4 hosts: 1 failed, 3 good."
counts:
  description: Number of hosts by class, the worst class first. Classes without a host are absent.
  returned: always
  type: dict
  sample: {failed: 1, good: 3}
hosts:
  description: The hosts of each class, V(failed), V(unreachable), V(slow), V(degraded), V(busy), V(not_measured), V(good).
  returned: always
  type: dict
  sample: {failed: [npu3], good: [npu1, npu2, npu4]}
findings:
  description: Up to 100 findings, the worst first.
  returned: always
  type: list
  elements: dict
  contains:
    component:
      description: The affected component, with C(kind) and C(name).
      type: dict
    cause:
      description: Code of the cause.
      type: str
    severity:
      description: V(failed), V(slow), V(degraded), V(unknown) or V(note).
      type: str
    message:
      description: Description in one sentence.
      type: str
    hosts:
      description: Affected hosts.
      type: list
      elements: str
    devices:
      description: Affected NPUs, with C(host) and C(device).
      type: list
      elements: dict
    evidence:
      description:
        - Facts that support the finding, each with a stable C(code), the sentence C(message), the numbers in it as C(values), and as C(place) the C(host),
          C(device), C(switch) and C(port) that it is about. Empty keys are absent.
      type: list
      elements: dict
    next_step:
      description: Recommended next step.
      type: str
    stage:
      description: Stage that detected it.
      type: str
  sample:
    - component: {kind: npu, name: npu3 NPU 5}
      cause: link_down
      severity: failed
      message: the link is down
      hosts: [npu3]
      devices: [{host: npu3, device: 5}]
      next_step: "On npu3: hccn_tool -i 5 -optical -g"
      stage: bring_up
findings_count:
  description: How many findings there are in all.
  returned: always
  type: int
lines:
  description: The conclusion for a terminal, with up to ten findings.
  returned: always
  type: list
  elements: str
measurements:
  description: Records of the kinds C(finding) and C(conclusion), for the history.
  returned: always
  type: list
  elements: dict
"""
