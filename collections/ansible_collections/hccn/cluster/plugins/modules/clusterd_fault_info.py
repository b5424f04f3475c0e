#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of clusterd_fault_info; the logic is in module_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clusterd_fault_info
short_description: Ask ClusterD for the faults of the cluster or of a job
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Asks ClusterD once which nodes and devices have faults, of the whole cluster or of one job. The query takes nothing from anybody.
  - With O(watch) it subscribes for so many seconds instead and returns every signal that differs from the one before. Older versions of ClusterD have one
    subscriber for each job whatever its role, and end its stream then, so this needs O(confirm).
  - ClusterD answers 10 such queries a second, of all clients together.
extends_documentation_fragment:
  - hccn.cluster._clusterd
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  server:
    required: true
  job_id:
    description:
      - The UID of the job's Kubernetes object, 8 to 128 characters. Without it, the faults of the whole cluster are asked for.
    type: str
    default: ""
  role:
    description:
      - What this client calls itself.
    type: str
    default: hccn.cluster
  watch:
    description:
      - Seconds to subscribe for. V(0) only asks once.
    type: int
    default: 0
  confirm:
    description:
      - Needs to be V(true) with O(watch). It says that the stream of another subscriber may end.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Which nodes have faults
  hccn.cluster.clusterd_fault_info:
    server: clusterd-grpc-svc.mindx-dl.svc.cluster.local
  delegate_to: localhost
  run_once: true
  register: cluster

- name: Show the nodes that are to be left alone
  ansible.builtin.debug:
    msg: "{{ cluster.faults | selectattr('fault_level', 'ne', 'Healthy') | map(attribute='node_name') }}"
"""

RETURN = r"""
faults:
  description: What ClusterD knows, by node. Keys are those of ClusterD's messages, in lower case with underscores. With O(watch), of the last signal.
  returned: always
  type: list
  elements: dict
  contains:
    node_name:
      description: Name of the node in Kubernetes.
      type: str
      sample: node-1
    node_ip:
      description: Its address.
      type: str
      sample: 192.0.2.1
    node_sn:
      description: Its serial number.
      type: str
    fault_level:
      description: V(Healthy), V(SubHealthy) or V(UnHealthy).
      type: str
      sample: UnHealthy
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
  description: With O(watch), the signals in the order they came, each with C(signal_type) and C(faults).
  returned: with O(watch)
  type: list
  elements: dict
  sample: []
error:
  description: What failed, with C(code), C(message) and C(hint).
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
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
