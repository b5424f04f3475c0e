#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of datadist_check; the logic is in module_utils/_datadist."""

from __future__ import annotations

DOCUMENTATION = r"""
module: datadist_check
short_description: Tell what keeps LLM-DataDist clusters from linking
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Checks the prerequisites of LLM-DataDist's C(LinkLlmClusters) (prefill and decode on separate hosts) over all hosts at once, from what
    M(hccn.cluster.device_info) and M(hccn.cluster.hccn_conf_mount) found on them, and from the links that are planned.
  - Checked are the product, links and addresses of the NPUs, equal TLS switches, C(/etc/hccn.conf) in the containers, ports, timeouts, 16 clusters a call, 512
    links an NPU, one C(ip_info) for each cluster, and that no two dies of one NPU of an A3 are to link.
  - TLS may be on or off, but equal. Which of both is the user's choice.
  - With O(probe) it only tells whether ports of the host that it runs on are free, for O(ports).
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  clusters:
    description:
      - The clusters that are to be linked. A cluster is one LlmDataDist on one NPU.
      - Exactly one of this and O(probe) is needed.
    type: list
    elements: dict
    suboptions:
      cluster:
        description:
          - Its id, unique over all that link.
        type: int
        required: true
      role:
        description:
          - What it is for.
        type: str
        choices: [prefill, decode]
        required: true
      host:
        description:
          - The host, by its name in O(nodes).
        type: str
        required: true
      device:
        description:
          - The NPU, by physical id.
        type: int
        required: true
      ip_infos:
        description:
          - The host's address and port for the link. One for each cluster that listens, and for each that calls without O(clusters[].local_comm_res).
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
          - C(OPTION_LOCAL_COMM_RES) of the cluster, as text. Empty, addresses come from C(/etc/hccn.conf). Version 1.3 has no limit of links.
        type: str
        default: ""
  calls:
    description:
      - The calls of C(LinkLlmClusters) that are planned. Without it, every decode cluster links every prefill cluster, 16 a call.
    type: list
    elements: dict
    suboptions:
      cluster:
        description:
          - The cluster that calls.
        type: int
        required: true
      remotes:
        description:
          - The clusters that it links.
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
      - C(timeout_in_millis) of every call, without O(calls).
    type: int
    default: 1000
  nodes:
    description:
      - The results of M(hccn.cluster.device_info) with C(address), C(link) and C(tls), as a dictionary from the name of the host.
    type: dict
  mounts:
    description:
      - The results of M(hccn.cluster.hccn_conf_mount), as a dictionary from the name of the host.
    type: dict
    default: {}
  ports:
    description:
      - The results of this module with O(probe), as a dictionary from the name of the host.
    type: dict
    default: {}
  products:
    description:
      - What hosts are, as a dictionary from the name of the host, where the board data do not tell. They do not tell A2 servers for training from those for
        inference.
      - Known are C(A3), C(800I A2) and C(A200I A2 Box), which are supported, and C(A2 training), C(200I A2), C(500 A2), C(910A) and C(310P), which are not.
    type: dict
    default: {}
  probe:
    description:
      - Addresses and ports of the host that this runs on. Each is bound for a moment, nobody is connected to.
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
      - V(error) fails when there is a problem of severity error, V(warning) when there is any problem, V(never) never for a problem's sake.
    type: str
    choices: [error, warning, never]
    default: error
notes:
  - Both sides need to call C(Initialize) first, and to register all memory before they link. Nobody can see that from outside.
  - A process listens on port 16666 of its NPU, too. Two processes on one NPU need different ones (C(comm_resource_config.listen_port)).
  - The rules come from the manual and the sources of LLM-DataDist. They were not tried on NPUs.
seealso:
  - module: hccn.cluster.datadist_link
  - module: hccn.cluster.hccn_conf_mount
"""

EXAMPLES = r"""
- name: Read the NPUs
  hccn.cluster.device_info:
    gather: [address, link, tls]
  register: npus

- name: Look at the containers
  hccn.cluster.hccn_conf_mount:
  register: mounts

- name: May prefill and decode link
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
  description: What keeps clusters from linking, with the host, the NPU and the remedy.
  returned: always
  type: list
  elements: dict
  contains:
    rule:
      description: The rule, by its name, such as V(tls), V(link), V(hccn_conf_stale), V(links_a_device), V(product_unknown).
      type: str
      sample: link
    severity:
      description: V(error) where links would fail or be refused, V(warning) where an advice is not followed.
      type: str
      sample: error
    host:
      description: The host.
      type: str
      sample: d1
    device:
      description: The NPU, the first where there are several.
      type: int
      sample: 3
    where:
      description: The call or the container, where it is about one.
      type: str
      sample: container 5f0e2c1a7b9d pid 4711 (python3)
    message:
      description: What is wrong.
      type: str
      sample: the link of NPU 3 of d1 is down
    hint:
      description: What to do.
      type: str
      sample: repair the link, or remove the NPU from the plan
    reader:
      description: Always V(llm_datadist).
      type: str
      sample: llm_datadist
planned:
  description: How many C(clusters), C(devices), C(calls) and C(links) are planned.
  returned: with O(clusters)
  type: dict
  sample: {clusters: 2, devices: 2, calls: 1, links: 1}
products:
  description: The product of each host, and whether LLM-DataDist supports it, V(yes), V(no) or V(unknown).
  returned: with O(clusters)
  type: dict
  sample: {d1: {product: A3, supported: "yes"}}
probed:
  description: The ports, each with C(ip), C(port) and C(state), V(free), V(used) or V(no_address) where the host does not have the address.
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
