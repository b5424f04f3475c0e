#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of clusterd_nic_switch; the logic is in module_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clusterd_nic_switch
short_description: Move NPUs of a running job to their backup link, or back
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Has ClusterD fail the network links of NPUs of a training job over to the backup leaf, or switch them back, while the job trains (C(SwitchNicTrack)), and
    waits for the result. For Atlas A3 training servers.
  - A switch that fails can end the training job, and each saves a checkpoint. So O(confirm) is needed, nothing is ever sent twice, and whatever can be
    looked at is looked at first.
  - ClusterD's answer only says that the order was handed out. How it went comes in one message of another stream, for which this module waits.
extends_documentation_fragment:
  - hccn.cluster._clusterd
  - hccn.cluster._clusterd.kubernetes
  - hccn.cluster._clusterd_topology
  - hccn.cluster._attributes
attributes:
  check_mode:
    support: full
    details:
      - Everything is looked at, RV(request) is what would be sent, and ClusterD is not asked.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - ClusterD does not tell on which link an NPU is. Every switch that is handed out counts as a change.
options:
  server:
    required: true
  job_id:
    description:
      - UID of the job's Kubernetes object, by which ClusterD calls it. M(hccn.cluster.clusterd_job_info) lists them.
    type: str
    required: true
  direction:
    description:
      - V(failover) moves the NPUs to their backup link, V(switchback) back to their own.
    type: str
    choices: [failover, switchback]
    required: true
  nics:
    description:
      - The NPUs. Each element names a node, and one of C(devices), C(leaf) and C(qdd).
      - Empty lists and NPUs that stand there twice are refused. ClusterD itself would take both.
    type: list
    elements: dict
    required: true
    suboptions:
      node:
        description:
          - The node, by its name in Kubernetes.
        type: str
        required: true
      devices:
        description:
          - The NPUs, by physical id. Device 0 is V(0), not C(device0).
        type: list
        elements: str
      leaf:
        description:
          - All NPUs of the node on this leaf of O(topology).
        type: str
      qdd:
        description:
          - All NPUs of the node on this module of O(topology).
        type: str
      port:
        description:
          - Only the NPU on this port of O(nics[].qdd).
        type: str
        choices: [A, B]
  confirm:
    description:
      - Needs to be V(true), outside check mode. It says that the job may end if the switch fails.
    type: bool
    default: false
  nodes:
    description:
      - The results of M(hccn.cluster.device_info) with C(link), as a dictionary from the node's name in Kubernetes to the result. An NPU whose link is not up
        stops the switch, and so does a result that failed or is of a host that was lost.
    type: dict
    default: {}
  namespace:
    description:
      - The namespace of the job's PodGroup. Without it, all are searched.
    type: str
  wait:
    description:
      - Seconds to wait for the result. ClusterD itself gives up after 900.
    type: int
    default: 930
notes:
  - It calls C(SwitchNicTrack) and C(SubscribeSwitchNicSignal) only, and nothing that belongs to the training process.
  - What cannot be seen from outside the job is listed in RV(unchecked).
seealso:
  - module: hccn.cluster.clusterd_job_info
  - module: hccn.cluster.device_info
"""

EXAMPLES = r"""
- name: What would be sent to move two NPUs
  hccn.cluster.clusterd_nic_switch:
    server: clusterd-grpc-svc.mindx-dl.svc.cluster.local
    job_id: 0d3c2b1a-1111-4222-8333-444455556666
    direction: failover
    nics:
      - {node: node-1, devices: [0, 8]}
  check_mode: true
  delegate_to: localhost
  run_once: true

- name: Read the links
  hccn.cluster.device_info:
    gather: [link]
  register: npus

- name: Move all NPUs of node-1 on leaf 1 to leaf 2
  hccn.cluster.clusterd_nic_switch:
    server: clusterd-grpc-svc.mindx-dl.svc.cluster.local
    job_id: 0d3c2b1a-1111-4222-8333-444455556666
    direction: failover
    nics:
      - {node: node-1, leaf: leaf-1}
    topology:
      - leaf: leaf-1
        backup: leaf-2
        qdds:
          - {qdd: QDD8, backup: QDD7, ports: {A: 0, B: 8}}
          - {qdd: QDD6, backup: QDD5, ports: {A: 2, B: 10}}
    nodes: {node-1: "{{ hostvars['node-1'].npus }}"}
    confirm: true
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
request:
  description: What was sent, or would be, as ClusterD takes it - for each node the NPUs and, as many, V(true) for the backup link or V(false).
  returned: when the options could be understood
  type: dict
  sample: {jobID: 0d3c2b1a, nicOps: {node-1: {dev: ["0", "8"], op: [true, true]}}}
status:
  description:
    - V(finished) - all NPUs were switched and training goes on. V(failed) - they were not. V(refused) - ClusterD did not begin, nothing was switched.
    - V(unknown) - it began, or may have, and how it went could not be learnt. V(stopped) - what was looked at first forbids it. V(foreseen) - check mode.
  returned: when the options could be understood
  type: str
  sample: finished
code:
  description: ClusterD's return code. V(0) says that the switch was handed out.
  returned: when ClusterD answered
  type: int
  sample: 0
code_explained:
  description: The code in words, with C(name), C(meaning), C(retryable) and C(hint).
  returned: when ClusterD answered
  type: dict
  sample: {name: OK, meaning: accepted, retryable: false}
info:
  description: What ClusterD said with the code.
  returned: when ClusterD answered
  type: str
  sample: switching operation was successfully distributed
result:
  description: The result, as ClusterD tells it. V(switch nic finish) is the only good one. Empty where none came.
  returned: when ClusterD answered
  type: str
  sample: switch nic finish
checked:
  description: What was looked at and is as it has to be.
  returned: when the options could be understood
  type: list
  elements: str
  sample: ["the links of NPU 0, 8 on node node-1 are up", "process-level recovery is on (PodGroup train/llama)"]
unchecked:
  description: What the switch needs and nobody can see from here, or could not be read.
  returned: when the options could be understood
  type: list
  elements: str
  sample: ["the framework started MindIO when it was initialised"]
problems:
  description: What forbids the switch, with C(rule), C(severity), C(host), C(device), C(where), C(message) and C(hint).
  returned: when the options could be understood
  type: list
  elements: dict
  sample:
    - {rule: link, severity: error, host: node-1, device: 8, message: "the link of NPU 8 on node node-1 is DOWN: the switch would fail",
       hint: "repair the link, or exclude this NPU"}
error:
  description: What failed, with C(code), C(message) and C(hint).
  returned: when options are wrong or ClusterD could not be reached
  type: dict
  sample: {code: server_unreachable, message: "ClusterD at 192.0.2.5:8899 cannot be reached", hint: "does it run there?"}
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import nic_switch, options
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            options.server_options(required=True),
            job_id={"type": "str", "required": True},
            direction={"type": "str", "choices": ["failover", "switchback"], "required": True},
            nics={"type": "list", "elements": "dict", "required": True, "options": {
                "node": {"type": "str", "required": True},
                "devices": {"type": "list", "elements": "str"},
                "leaf": {"type": "str"},
                "qdd": {"type": "str"},
                "port": {"type": "str", "choices": ["A", "B"]},
            }},
            topology=options.topology_option(),
            confirm={"type": "bool", "default": False},
            nodes={"type": "dict", "default": {}},
            wait={"type": "int", "default": 930},
            **options.kubernetes_options()
        ),
        supports_check_mode=True,
    )
    for name, trace in options.missing(grpc=not module.check_mode, kubernetes=False):
        message = missing_required_lib(name)
        module.fail_json(msg=message, exception=trace, error=HccnError("library_missing", message).as_dict())
    try:
        result = nic_switch.change(module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict())
    module.exit_json(**result)


if __name__ == "__main__":
    main()
