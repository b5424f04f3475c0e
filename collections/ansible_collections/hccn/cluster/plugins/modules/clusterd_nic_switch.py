#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of clusterd_nic_switch; the logic is in module_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clusterd_nic_switch
short_description: Switch NPUs of a running job to their backup links, or back
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Requests ClusterD to fail the network links of NPUs of a training job over to the backup leaf, or to switch them back, while the job is training
    (C(SwitchNicTrack)), and waits for the result. Only A3 (Atlas A3 training servers) has such links; nodes with other products are refused.
  - A failed switch can end the training job, and every switch saves a checkpoint. So O(confirm) is needed, no request is sent twice, and all preconditions
    that are visible from outside of the job are checked first.
  - The answer of ClusterD only means that the request was accepted. The result is a message of another stream, for which this module waits.
extends_documentation_fragment:
  - hccn.cluster._clusterd
  - hccn.cluster._clusterd.kubernetes
  - hccn.cluster._clusterd_topology
  - hccn.cluster._attributes
attributes:
  check_mode:
    support: full
    details:
      - All preconditions are checked, and RV(request) is the request that would be sent. ClusterD is not called.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - ClusterD does not report which link an NPU uses. Every accepted switch is a change.
options:
  server:
    required: true
  job_id:
    description:
      - UID of the Kubernetes object of the job, which is its id in ClusterD. M(hccn.cluster.clusterd_job_info) lists the jobs.
    type: str
    required: true
  direction:
    description:
      - V(failover) switches the NPUs to their backup links, V(switchback) switches them back.
    type: str
    choices: [failover, switchback]
    required: true
  nics:
    description:
      - The NPUs to switch. Each element has a node and exactly one of C(devices), C(leaf) and C(qdd).
      - Empty lists and duplicate NPUs are rejected, although ClusterD accepts both.
    type: list
    elements: dict
    required: true
    suboptions:
      node:
        description:
          - Name of the node in Kubernetes.
        type: str
        required: true
      devices:
        description:
          - Physical ids of the NPUs. Device 0 is V(0), not C(device0).
        type: list
        elements: str
      leaf:
        description:
          - Selects all NPUs of the node on this leaf of O(topology).
        type: str
      qdd:
        description:
          - Selects all NPUs of the node on this QDD of O(topology).
        type: str
      port:
        description:
          - Selects only the NPU on this port of O(nics[].qdd).
        type: str
        choices: [A, B]
  confirm:
    description:
      - Must be V(true) outside check mode, to confirm that the job may end if the switch fails.
    type: bool
    default: false
  nodes:
    description:
      - The results of M(hccn.cluster.device_info) with C(link), as a dictionary by name of the node in Kubernetes. An NPU whose link is not up
        prevents the switch, and so does a failed result or the result of a lost host.
    type: dict
    default: {}
  products:
    description:
      - The products that the inventory declares, as a dictionary by name of the node in Kubernetes. A product other than V(A3) prevents the switch.
      - If O(nodes) has the result of a node without RV(hccn.cluster.device_info#module:product), since C(npu-smi) does not report it, this option must have it.
    type: dict
    default: {}
  namespace:
    description:
      - Namespace of the PodGroup and the pods of the job. By default all namespaces are searched.
    type: str
  wait:
    description:
      - Seconds to wait for the result. ClusterD itself gives up after 900. If a proxy or the network loses the stream of the result, it is opened again
        until this time is over.
    type: int
    default: 930
  pause:
    description:
      - Seconds to wait after a switch was sent, before the module returns. ClusterD resets the state of a job some seconds after the result, and TaskD waits up
        to 10 s before it connects again. The result of a switch of the same job that begins earlier may be lost.
      - Set it to V(0) only if the next switch is of another job.
    type: int
    default: 10
notes:
  - ClusterD keeps a result only while the switch runs. A result that is sent into a broken connection is lost, and RV(status) is then V(unknown).
  - The module only calls C(SwitchNicTrack) and C(SubscribeSwitchNicSignal), and no method for the training process.
  - The specs of the job's pods are searched for C(TASKD_PROCESS_ENABLE), C(PROCESS_RECOVER), the settings that start MindIO (C(MS_ENABLE_TFT),
    C(HIGH_AVAILABILITY), C(--enable-high-availability)), and the port of TaskD. A spec with C(TASKD_PROCESS_ENABLE=off) or C(PROCESS_RECOVER=off) prevents the
    switch. What the specs do not set, the start script of the training may set, so it is in RV(unchecked). The account needs the right to list pods.
  - RV(unchecked) lists preconditions that are not visible from outside of the job.
seealso:
  - module: hccn.cluster.clusterd_job_info
  - module: hccn.cluster.device_info
  - plugin: hccn.cluster.clusterd_code
    plugin_type: lookup
"""

EXAMPLES = r"""
- name: Show the request that would switch two NPUs
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

- name: Switch all NPUs of node-1 on leaf 1 to leaf 2
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
  description: The request that was sent or would be sent. For each node, C(dev) contains the NPUs, and C(op) V(true) for each NPU for the backup link, else
    V(false).
  returned: if the options are valid
  type: dict
  sample: {jobID: 0d3c2b1a, nicOps: {node-1: {dev: ["0", "8"], op: [true, true]}}}
status:
  description:
    - V(finished) if all NPUs were switched and training continues, V(failed) if the switch failed, V(refused) if ClusterD refused it and nothing was switched.
      V(not_sent) if the request did not reach ClusterD, for example since a proxy turned it away.
    - V(unknown) if the switch was started, or may have been started, and its result is unknown. V(stopped) if a precondition is not met. V(foreseen) in check
      mode.
  returned: if the options are valid
  type: str
  sample: finished
code:
  description: Return code of ClusterD. V(0) means that the switch was accepted.
  returned: if ClusterD answered
  type: int
  sample: 0
code_explained:
  description: Explanation of the code, as returned by P(hccn.cluster.clusterd_code#lookup).
  returned: if ClusterD answered
  type: dict
  sample: {code: 0, name: OK, meaning: accepted, retryable: false, documented: true}
info:
  description: Text that ClusterD returned with the code.
  returned: if ClusterD answered
  type: str
  sample: switching operation was successfully distributed
result:
  description:
    - Text of the result from ClusterD. Only V(switch nic finish) is a success. Empty if no result was received, which is neither a success nor a failure.
  returned: if ClusterD answered
  type: str
  sample: switch nic finish
checked:
  description: Preconditions that were checked and are met.
  returned: if the options are valid
  type: list
  elements: str
  sample: ["node node-1 has NPUs of the product A3", "the links of NPU 0, 8 on node node-1 are up", "process-level recovery is on (PodGroup train/llama)"]
unchecked:
  description: Preconditions that are not visible from outside of the job, or could not be read.
  returned: if the options are valid
  type: list
  elements: str
  sample: ["training iterates normally (past its first iterations, not saving a checkpoint)"]
problems:
  description: Preconditions that are not met, with C(rule), C(severity), C(host), C(device), C(where), C(message) and C(hint).
  returned: if the options are valid
  type: list
  elements: dict
  sample:
    - {rule: link, severity: error, host: node-1, device: 8, message: "the link of NPU 8 on node node-1 is DOWN: the switch would fail",
       hint: "repair the link, or exclude this NPU"}
error:
  description: The error, with C(code), C(message) and C(hint).
  returned: if options are invalid or the request did not reach ClusterD
  type: dict
  sample: {code: server_unreachable, message: "ClusterD at 192.0.2.5:8899 cannot be reached", hint: check that ClusterD runs at this address}
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
            products={"type": "dict", "default": {}},
            wait={"type": "int", "default": 930},
            pause={"type": "int", "default": 10},
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
