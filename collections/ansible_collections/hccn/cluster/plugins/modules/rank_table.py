# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action rank_table, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rank_table
short_description: Writes the rank table of a cluster from what device_info found
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Assembles one rank table from the results of M(hccn.cluster.device_info) of all hosts, checks it, and writes it to the host of the task.
  - Ranks count up over the hosts in the order given, and within a host over its NPUs by ascending id.
  - Nothing is written when the table would be refused by its reader, or when a host is missing, has no device or an NPU without an address. All
    such hosts and problems are told at once.
  - The file is written when the table in it differs as data. A file that holds the same table in another layout is left as it is.
options:
  nodes:
    description:
      - The results of M(hccn.cluster.device_info), as a dictionary from the name of the host to its result.
      - Either this or O(hosts) with O(register_name).
    type: dict
  hosts:
    description:
      - The hosts in the order of their ranks, for instance C(groups['npu']). Their results are read under O(register_name).
      - Every one of them must have a result, so a host that was unreachable makes the task fail.
    type: list
    elements: str
  register_name:
    description:
      - The variable under which the play registered the results of M(hccn.cluster.device_info). Give its name, not its value.
    type: str
  server_ids:
    description:
      - C(server_id) of single hosts, as a dictionary from the name of the host to its address.
      - For a host that is not in it, the variable C(rank_table_server_id) of that host counts, then C(ansible_host) or the host's name where it is an
        IP address, then an address to which one of these resolves on the controller.
      - HCCL takes any unique text of at most 64 bytes, but MindIE-LLM and others compare it with an address of the host.
    type: dict
    default: {}
  devices:
    description:
      - The NPUs of each host that become ranks, by physical id. Single ids and ranges such as V(0-7).
      - V(all) stands for every NPU in the result of the host. The result may lack no NPU that is named here.
    type: list
    elements: str
    default: [all]
  path:
    description:
      - Where the file goes on the host of the task. The folder must be there.
      - It must end in C(.json), and C(.json) must not stand elsewhere in it, or HCCL does not read it.
    type: str
    required: true
  format:
    description:
      - V(hccl) is the format that HCCL reads with C(RANK_TABLE_FILE).
    type: str
    choices: [hccl]
    default: hccl
  version:
    description:
      - The version of the format. V(auto) is V(1.0).
      - Ascend 950 reads no table of version 1.0, so its hosts are refused.
    type: str
    choices: [auto, '1.0']
    default: auto
  mode:
    description:
      - The mode of the file, as O(ansible.builtin.copy#module:mode) takes it. MindIE-LLM and MindIE-Motor refuse more than V(0640).
    type: raw
    default: '0640'
  owner:
    description:
      - The owner of the file. A container that reads it often runs as a user of its own.
    type: str
  group:
    description:
      - The group of the file.
    type: str
  return_content:
    description:
      - Whether to return the table as RV(rank_table). It has some 100 bytes a rank.
    type: bool
    default: false
extends_documentation_fragment:
  - hccn.cluster._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
  action:
    description: Has an action plugin of the same name, so that some of it runs on the controller.
    support: full
notes:
  - The assembling runs on the controller and needs no connection. The file is transferred by M(ansible.builtin.copy), so C(become) and any connection
    work.
  - Errors that M(hccn.cluster.device_info) met beside the address (link, TLS and the like) do not stop the table. They are warnings in RV(problems).
  - The task assembles the table anew on each host that it runs for. For many hosts, write it once with C(run_once) and copy that file.
seealso:
  - module: hccn.cluster.device_info
  - module: hccn.cluster.rank_table_check
"""

EXAMPLES = r"""
- name: Look at the NPUs
  hccn.cluster.device_info:
    gather: [address]
  register: npu

- name: One table of all hosts, on the first of them
  hccn.cluster.rank_table:
    hosts: "{{ groups['npu'] }}"
    register_name: npu
    path: /etc/ascend/hccl.json
  run_once: true

- name: A table of four NPUs a host, on the controller, readable for the group of the service
  hccn.cluster.rank_table:
    hosts: "{{ ansible_play_hosts }}"
    register_name: npu
    devices: [0-3]
    path: "{{ playbook_dir }}/hccl.json"
    group: ascend
    return_content: true
  run_once: true
  delegate_to: localhost
  register: table

- name: Results that come from somewhere else
  hccn.cluster.rank_table:
    nodes:
      node-1: "{{ lookup('ansible.builtin.file', 'node-1.json') | from_json }}"
      node-2: "{{ lookup('ansible.builtin.file', 'node-2.json') | from_json }}"
    server_ids:
      node-1: 192.0.2.11
      node-2: 192.0.2.12
    path: /etc/ascend/hccl.json
"""

RETURN = r"""
path:
  description: The file on the host of the task.
  returned: when the table passed its checks
  type: str
  sample: /etc/ascend/hccl.json
sha256:
  description: The SHA-256 of what the file holds, or would hold in check mode.
  returned: when the table passed its checks
  type: str
server_count:
  description: The number of hosts in the table.
  returned: when the table passed its checks
  type: int
  sample: 4
rank_count:
  description: The number of ranks.
  returned: when the table passed its checks
  type: int
  sample: 32
rank_table:
  description: The table.
  returned: when the table passed its checks, and O(return_content) is true
  type: dict
  sample:
    status: completed
    version: '1.0'
    server_count: '1'
    server_list:
      - server_id: 192.0.2.11
        device:
          - device_id: '0'
            device_ip: 192.168.100.101
            rank_id: '0'
mode:
  description: The mode of the file.
  returned: when the file is there
  type: str
  sample: '0640'
owner:
  description: The owner of the file.
  returned: when the file is there
  type: str
group:
  description: The group of the file.
  returned: when the file is there
  type: str
problems:
  description:
    - What is wrong with the hosts (rule C(node)) or with the table, as RV(hccn.cluster.rank_table_check#module:problems) and with the name of the
      host. Keys that do not apply are absent.
  returned: when the hosts could be looked at
  type: list
  elements: dict
  contains:
    rule:
      description: The rule, by its name.
      type: str
      sample: node
    severity:
      description: V(error) or V(warning). With an error nothing is written.
      type: str
      sample: error
    host:
      description: The name of the host in the inventory.
      type: str
      sample: node-3
    device:
      description: The physical id of the NPU.
      type: int
      sample: 5
    where:
      description: The place in the table.
      type: str
      sample: server_list[2].device[5].device_ip
    message:
      description: What is wrong.
      type: str
      sample: device 5 has no address
    hint:
      description: What to do.
      type: str
    reader:
      description: Who would refuse it.
      type: str
      sample: hccl
    error_code:
      description: What HCCL would report.
      type: str
      sample: EI0014
"""
