#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of datadist_check; the logic is in module_utils/_datadist."""

from __future__ import annotations

DOCUMENTATION = r"""
module: datadist_check
short_description: Check the preconditions for linking LLM-DataDist clusters
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Checks the preconditions of C(LinkLlmClusters) of LLM-DataDist (prefill and decode on separate hosts) for all hosts, based on the results of
    M(hccn.cluster.device_info) and M(hccn.cluster.hccn_conf_mount) and on the planned links.
  - The module checks the product, the links and addresses of the NPUs, equal TLS settings, C(/etc/hccn.conf) in the containers, ports, timeouts, the limits of
    16 clusters per call and 512 links per NPU, one C(ip_info) for each cluster, and that no two dies of one NPU of an A3 are linked.
  - TLS may be on or off, but must be equal on all NPUs.
  - With O(probe), the module only checks whether ports of the host on which it runs are free, for the option O(ports).
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  clusters:
    description:
      - The clusters to link. A cluster is one LlmDataDist on one NPU.
      - Exactly one of this option and O(probe) is required.
    type: list
    elements: dict
    suboptions:
      cluster:
        description:
          - Id of the cluster, unique among all clusters that link.
        type: int
        required: true
      role:
        description:
          - Role of the cluster.
        type: str
        choices: [prefill, decode]
        required: true
      host:
        description:
          - Name of the host in O(nodes).
        type: str
        required: true
      device:
        description:
          - Physical id of the NPU.
        type: int
        required: true
      ip_infos:
        description:
          - Address and port of the host for the link. Clusters that listen, or call without O(clusters[].local_comm_res), need exactly one.
        type: list
        elements: dict
        default: []
        suboptions:
          ip:
            description:
              - Address of the host.
            type: str
            required: true
          port:
            description:
              - TCP port on it.
            type: int
            required: true
      local_comm_res:
        description:
          - C(OPTION_LOCAL_COMM_RES) of the cluster, as text. If empty, addresses are read from C(/etc/hccn.conf). Version 1.3 has no limit of links.
        type: str
        default: ""
  calls:
    description:
      - The planned calls of C(LinkLlmClusters). By default every decode cluster links every prefill cluster, with 16 clusters per call.
    type: list
    elements: dict
    suboptions:
      cluster:
        description:
          - Id of the cluster that calls.
        type: int
        required: true
      remotes:
        description:
          - Ids of the clusters that it links.
        type: list
        elements: int
        required: true
      timeout_ms:
        description:
          - C(timeout_in_millis) of the call.
        type: int
        default: 1000
  timeout_ms:
    description:
      - C(timeout_in_millis) of every call, if O(calls) is not set.
    type: int
    default: 1000
  nodes:
    description:
      - The results of M(hccn.cluster.device_info) with C(address), C(link) and C(tls), as a dictionary by name of the host.
    type: dict
  mounts:
    description:
      - The results of M(hccn.cluster.hccn_conf_mount), as a dictionary by name of the host.
    type: dict
    default: {}
  ports:
    description:
      - The results of this module with O(probe), as a dictionary by name of the host.
    type: dict
    default: {}
  products:
    description:
      - Products of the hosts, as a dictionary by name of the host, for products that the board data does not identify. It does not distinguish A2 servers for
        training from those for inference.
      - C(A3), C(800I A2) and C(A200I A2 Box) are supported, C(A2 training), C(200I A2), C(500 A2), C(910A) and C(310P) are not. Other values are invalid.
    type: dict
    default: {}
  probe:
    description:
      - Addresses and ports of the host on which the module runs. Each is bound for a moment. No connections are made.
    type: list
    elements: dict
    suboptions:
      ip:
        description:
          - Address of the host.
        type: str
        required: true
      port:
        description:
          - TCP port on it.
        type: int
        required: true
  fail_on:
    description:
      - V(error) fails if there is a problem of severity error, V(warning) if there is any problem, V(never) never because of problems.
    type: str
    choices: [error, warning, never]
    default: error
notes:
  - Both sides must call C(Initialize) first, and register all memory before they link. The module cannot check this.
  - A process also listens on port 16666 of its NPU. Two processes on one NPU need different ports (C(comm_resource_config.listen_port)).
  - The rules are derived from the manual and the sources of LLM-DataDist. They were not tested on NPUs.
seealso:
  - module: hccn.cluster.datadist_link
  - module: hccn.cluster.hccn_conf_mount
"""

EXAMPLES = r"""
- name: Read the NPUs
  hccn.cluster.device_info:
    gather: [address, link, tls]
  register: npus

- name: Read the mounts of the containers
  hccn.cluster.hccn_conf_mount:
  register: mounts

- name: Check whether prefill and decode can link
  hccn.cluster.datadist_check:
    clusters:
      - {cluster: 1, role: prefill, host: p1, device: 0, ip_infos: [{ip: 192.0.2.1, port: 26000}]}
      - {cluster: 2, role: decode, host: d1, device: 0, ip_infos: [{ip: 192.0.2.2, port: 26000}]}
    timeout_ms: 2000
    nodes: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'npus'))) }}"
    mounts: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'mounts'))) }}"
  run_once: true
"""

RETURN = r"""
problems:
  description: Problems that prevent clusters from linking, with host, NPU and remedy.
  returned: always
  type: list
  elements: dict
  contains:
    rule:
      description: Name of the rule, such as V(tls), V(link), V(hccn_conf_stale), V(links_a_device) or V(product_unknown).
      type: str
      sample: link
    severity:
      description: V(error) if links would fail or be refused, V(warning) if a recommendation is not followed.
      type: str
      sample: error
    host:
      description: The host.
      type: str
      sample: d1
    device:
      description: The NPU, or the first of several NPUs.
      type: int
      sample: 3
    where:
      description: The call or container that the problem is about, if there is one.
      type: str
      sample: container 5f0e2c1a7b9d pid 4711 (python3)
    message:
      description: The problem in one sentence.
      type: str
      sample: the link of NPU 3 of d1 is down
    hint:
      description: The remedy.
      type: str
      sample: repair the link, or remove the NPU from the plan
    reader:
      description: Always V(llm_datadist).
      type: str
      sample: llm_datadist
planned:
  description: Numbers of planned C(clusters), C(devices), C(calls) and C(links).
  returned: with O(clusters)
  type: dict
  sample: {clusters: 2, devices: 2, calls: 1, links: 1}
products:
  description: The product of each host, with C(supported) V(yes), V(no) or V(unknown).
  returned: with O(clusters)
  type: dict
  sample: {d1: {product: A3, supported: "yes"}}
probed:
  description: The ports, each with C(ip), C(port) and C(state), which is V(free), V(used), or V(no_address) if the host does not have the address.
  returned: with O(probe)
  type: list
  elements: dict
  sample:
    - {ip: 192.0.2.1, port: 26000, state: free}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._datadist import check

IP_INFO = {"ip": {"type": "str", "required": True}, "port": {"type": "int", "required": True}}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "clusters": {"type": "list", "elements": "dict", "options": {
                "cluster": {"type": "int", "required": True},
                "role": {"type": "str", "choices": ["prefill", "decode"], "required": True},
                "host": {"type": "str", "required": True},
                "device": {"type": "int", "required": True},
                "ip_infos": {"type": "list", "elements": "dict", "default": [], "options": IP_INFO},
                "local_comm_res": {"type": "str", "default": ""},
            }},
            "calls": {"type": "list", "elements": "dict", "options": {
                "cluster": {"type": "int", "required": True},
                "remotes": {"type": "list", "elements": "int", "required": True},
                "timeout_ms": {"type": "int", "default": 1000},
            }},
            "timeout_ms": {"type": "int", "default": 1000},
            "nodes": {"type": "dict"},
            "mounts": {"type": "dict", "default": {}},
            "ports": {"type": "dict", "default": {}},
            "products": {"type": "dict", "default": {}},
            "probe": {"type": "list", "elements": "dict", "options": IP_INFO},
            "fail_on": {"type": "str", "choices": ["error", "warning", "never"], "default": "error"},
        },
        required_one_of=[("clusters", "probe")],
        mutually_exclusive=[("clusters", "probe")],
        supports_check_mode=True,
    )
    try:
        result = check.check(module.params)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), problems=[])
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
