#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of clusterd_fault_info; the logic is in module_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clusterd_fault_info
short_description: Query the faults of the cluster or of a job from ClusterD
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Queries once which nodes and devices of the cluster or of a job have faults. The query does not affect other clients.
  - With O(watch), the module subscribes for this time instead, and returns every signal that differs from the previous one of its job. A lost stream is opened
    again. ClusterD has one subscriber for each job and role, and ends the stream of the present subscriber; version 7.1 has one for each job, regardless of its
    role. So this needs O(confirm).
  - Each signal has the whole state of one job. A watch of the whole cluster receives one signal for each job with a fault, and none for a node without a job.
    It needs ClusterD 7.2; version 7.1 refuses it.
  - ClusterD answers 10 queries per second for all clients together. 50 more wait in a queue for up to 5 s, and others are refused.
extends_documentation_fragment:
  - hccn.cluster._clusterd
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  server:
    required: true
  job_id:
    description:
      - UID of the Kubernetes object of the job, 8 to 128 ASCII characters. If empty, the faults of the whole cluster are queried.
      - The id of a MindIE job, which is the label C(jobID) of its pods, is accepted with O(watch) only, and with their label C(app) as O(role).
      - An id that ClusterD does not know is an error, with the code C(unknown_job).
    type: str
    default: ""
  role:
    description:
      - Role with which this client identifies itself to ClusterD.
      - For a MindIE job, V(mindie-ms-server), V(mindie-ms-controller) or V(mindie-ms-coordinator).
    type: str
    default: hccn.cluster
  watch:
    description:
      - Duration of the subscription in seconds. With V(0), the faults are queried once.
    type: int
    default: 0
  confirm:
    description:
      - Must be V(true) with O(watch), to confirm that the stream of another subscriber may end.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Query the nodes with faults
  hccn.cluster.clusterd_fault_info:
    server: clusterd-grpc-svc.mindx-dl.svc.cluster.local
  delegate_to: localhost
  run_once: true
  register: cluster

- name: Show the nodes that should not be used
  ansible.builtin.debug:
    msg: "{{ cluster.faults | selectattr('fault_level', 'ne', 'Healthy') | map(attribute='node_name') }}"
"""

RETURN = r"""
faults:
  description:
    - The faults by node. Keys are those of the messages of ClusterD in snake case. With O(watch), these are the faults of the last signal of each job, so a
      node may occur once for each of its jobs.
  returned: always
  type: list
  elements: dict
  contains:
    node_name:
      description: Name of the node in Kubernetes.
      type: str
      sample: node-1
    node_ip:
      description: Address of the node.
      type: str
      sample: 192.0.2.1
    node_sn:
      description: Serial number of the node.
      type: str
    fault_level:
      description: V(Healthy), V(SubHealthy) or V(UnHealthy).
      type: str
      sample: UnHealthy
    job_id:
      description: The job of the signal.
      returned: with O(watch)
      type: str
      sample: 0d3c2b1a-1111-4222-8333-444455556666
    devices:
      description:
        - The devices with faults, with C(device_id), C(device_type), C(fault_codes), C(fault_level), C(fault_levels), C(fault_type), C(fault_reason) and
          C(switch_fault_infos).
      type: list
      elements: dict
      sample:
        - {device_id: "3", device_type: NPU, fault_codes: ["81078603"], fault_level: UnHealthy, fault_levels: [], fault_type: [], fault_reason: [],
           switch_fault_infos: []}
signals:
  description:
    - At most 100 signals in the order in which they were received, without those that repeat the previous one of their job. Each has C(job_id), C(signal_type)
      (V(fault) or V(normal)) and C(faults). They are also returned if the watch ended early.
  returned: with O(watch)
  type: list
  elements: dict
  sample: []
received:
  description: Number of received signals.
  returned: with O(watch)
  type: int
  sample: 3
info:
  description: Text that ClusterD returned with the faults.
  returned: without O(watch)
  type: str
  sample: all info returned
error:
  description: The error, with C(code), C(message) and C(hint).
  returned: on failure
  type: dict
  sample: {code: rate_limited, message: "ClusterD refuses /fault.Fault/GetFaultMsgSignal: rate limited", hint: try again in a second}
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import faults, options
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            options.server_options(required=True),
            role={"type": "str", "default": "hccn.cluster"},
            job_id={"type": "str", "default": ""},
            watch={"type": "int", "default": 0},
            confirm={"type": "bool", "default": False},
        ),
        supports_check_mode=True,
    )
    for name, trace in options.missing(grpc=True, kubernetes=False):
        module.fail_json(msg=missing_required_lib(name), exception=trace)
    try:
        result = faults.read(module.params)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict())
    for text in result.pop("warnings", ()):
        module.warn(text)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
