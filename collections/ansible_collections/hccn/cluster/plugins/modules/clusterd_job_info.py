#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of clusterd_job_info; the logic is in module_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clusterd_job_info
short_description: List the jobs of ClusterD with their nodes and NPUs
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Lists the jobs with their state, their nodes and the NPUs on each node. By default the module reads the ConfigMaps C(job-summary-*) that ClusterD writes.
    With O(source=grpc), it reads the jobs from ClusterD, which must be 26.0 or newer.
  - With O(leaf), it returns the running jobs that have NPUs on that leaf switch, with these NPUs.
  - A job that is deleted while ClusterD does not run keeps a ConfigMap with the status V(running). With O(source=configmap), the module therefore looks for the
    PodGroup or a pod of each running job, see RV(jobs[].stale).
  - ClusterD accepts 20 subscriptions for each role, and 20 new ones per second. A subscription of this module ends when all jobs were received.
extends_documentation_fragment:
  - hccn.cluster._clusterd
  - hccn.cluster._clusterd.kubernetes
  - hccn.cluster._clusterd_topology
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  source:
    description:
      - Source of the jobs, V(configmap) for Kubernetes, V(grpc) for ClusterD.
    type: str
    choices: [configmap, grpc]
    default: configmap
  namespace:
    description:
      - Return only jobs of this namespace.
    type: str
  role:
    description:
      - Role with which this client identifies itself. ClusterD accepts no other roles for jobs.
    type: str
    choices: [CCAgent, DefaultUser1, DefaultUser2, FdAgent]
    default: DefaultUser1
  wait:
    description:
      - Seconds to wait for the list of all jobs. If there are no jobs, ClusterD sends no message, and the module waits for the whole time.
    type: int
    default: 10
  leaf:
    description:
      - Return only running jobs that have NPUs on this leaf of O(topology). Running jobs whose NPUs are unknown are also returned, with
        RV(jobs[].nics) V(null).
    type: str
"""

EXAMPLES = r"""
- name: List all jobs
  hccn.cluster.clusterd_job_info:
  delegate_to: localhost
  run_once: true
  register: found

- name: List the running jobs that use leaf-1
  hccn.cluster.clusterd_job_info:
    leaf: leaf-1
    topology:
      - leaf: leaf-1
        backup: leaf-2
        qdds:
          - {qdd: QDD8, backup: QDD7, ports: {A: 0, B: 8}}
          - {qdd: QDD6, backup: QDD5, ports: {A: 2, B: 10}}
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
jobs:
  description: The jobs.
  returned: always
  type: list
  elements: dict
  contains:
    job_id:
      description: UID of the Kubernetes object of the job, which is its id in ClusterD.
      type: str
      sample: 0d3c2b1a-1111-4222-8333-444455556666
    name:
      description: Name of the job.
      type: str
      sample: llama
    namespace:
      description: Namespace of the job.
      type: str
      sample: train
    status:
      description: V(pending), V(running), V(complete) or V(failed).
      type: str
      sample: running
    framework:
      description: Framework of the job, such as V(pytorch) or V(mindspore).
      type: str
      sample: pytorch
    deleted:
      description: Whether the job was deleted. With O(source=grpc), ClusterD does not report deleted jobs.
      type: bool
      sample: false
    nodes:
      description:
        - The nodes, with C(node) (the name in Kubernetes), C(address) and C(devices). Empty for a job without NPUs, such as a coordinator of MindIE. V(null) if
          they are unknown, since the job has no rank table yet, or more than 40000 NPUs.
      type: list
      elements: dict
      sample:
        - {node: node-1, address: 192.0.2.1, devices: [0, 8]}
    stale:
      description:
        - Whether the job is V(running) in its ConfigMap, but has neither a PodGroup nor a pod. V(null) if the account may list neither. Stale jobs are not
          returned with O(leaf).
      returned: with O(source=configmap)
      type: bool
      sample: false
    nics:
      description: With O(leaf), the NPUs of the job on the leaf, in the form of O(hccn.cluster.clusterd_nic_switch#module:nics).
      type: list
      elements: dict
      sample:
        - {node: node-1, devices: [0, 8]}
error:
  description: The error, with C(code), C(message) and C(hint).
  returned: on failure
  type: dict
  sample: {code: no_kubernetes, message: "no kubeconfig", hint: set kubeconfig}
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import jobs, options
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            options.server_options(),
            role={"type": "str", "choices": ["CCAgent", "DefaultUser1", "DefaultUser2", "FdAgent"], "default": "DefaultUser1"},
            source={"type": "str", "choices": ["configmap", "grpc"], "default": "configmap"},
            wait={"type": "int", "default": 10},
            leaf={"type": "str"},
            topology=options.topology_option(),
            **options.kubernetes_options()
        ),
        required_if=[("source", "grpc", ("server",))],
        required_by={"leaf": "topology"},
        supports_check_mode=True,
    )
    over_grpc = module.params["source"] == "grpc"
    for name, trace in options.missing(grpc=over_grpc, kubernetes=not over_grpc):
        module.fail_json(msg=missing_required_lib(name), exception=trace)
    try:
        found = jobs.read(module.params)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict())
    module.exit_json(changed=False, jobs=found)


if __name__ == "__main__":
    main()
