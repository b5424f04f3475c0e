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
  - Assembles one rank table from the results of M(hccn.cluster.device_info) of all hosts, checks it by the rules of its readers, and writes it to
    the host of the task.
  - Or makes one table of several that are there, also in another format.
  - Ranks count up over the hosts in the order given, and within a host over its NPUs by ascending id.
  - Nothing is written when the table would be refused by its reader, or when a host is missing, has no device or an NPU without an address. All
    such hosts and problems are told at once.
  - The file is written when the table in it differs as data. A file that holds the same table in another layout is left as it is.
options:
  nodes:
    description:
      - The results of M(hccn.cluster.device_info), as a dictionary from the name of the host to its result.
      - One of this, O(hosts) with O(register_name), O(tables) and O(src) is needed.
    type: dict
  hosts:
    description:
      - The hosts in the order of their ranks, for instance C(groups['npu']). Their results are read under O(register_name).
      - Every one of them must have a result, so a host that was unreachable makes the task fail.
      - With O(nodes) or O(tables), the hosts of these that are to be in the table, in this order. A host of a table is named by its C(server_id).
    type: list
    elements: str
  register_name:
    description:
      - The variable under which the play registered the results of M(hccn.cluster.device_info). Give its name, not its value.
    type: str
  tables:
    description:
      - Rank tables that are to become one, each as a path on the controller, as text or as a dictionary. Their ranks are counted anew.
      - Tables of any format are read (C(server_list), C(server_group_list), C(prefill_device_list), C(rank_list), the old C(group_list)), so this also
        turns one format into another.
      - A device that stands in two of them makes the task fail.
    type: list
    elements: raw
  src:
    description:
      - A table that an earlier task of the run left on the controller, RV(src). It is only written, not checked again.
      - In check mode it may be empty, for a table that is not there before the run. Then only the host is looked at. A folder that lacks fails, and a
        file that is to be made is a change.
    type: str
  server_ids:
    description:
      - C(server_id) of single hosts, as a dictionary from the name of the host to its address.
      - For a host that is not in it, the variable C(rank_table_server_id) of that host counts, then C(ansible_host) or the host's name where it is an
        IP address, then an address to which one of these resolves on the controller.
      - HCCL takes any unique text of at most 64 bytes, but MindIE-LLM and others compare it with an address of the host.
    type: dict
    default: {}
  host_ips:
    description:
      - C(host_ip) of single hosts, by the name of the host. For others the variable C(rank_table_host_ip) of the host counts. Without either the
        table has none, and HCCL only needs one to run an operator again.
    type: dict
    default: {}
  container_ips:
    description:
      - The address of the container or pod on single hosts, by the name of the host. For others the variable C(rank_table_container_ip) counts.
      - MindIE reads it as C(container_ip), a global table has it as C(server_ip). There it is the C(server_id) where nothing else is given, which is
        right for containers with the network of the host.
    type: dict
    default: {}
  devices:
    description:
      - The NPUs of each host that become ranks, by physical id. Single ids and ranges such as V(0-7).
      - V(all) stands for every NPU in the result of the host. The result may lack no NPU that is named here.
    type: list
    elements: str
    default: [all]
  host_devices:
    description:
      - O(devices) of single hosts, by the name of the host.
    type: dict
    default: {}
  device_ids:
    description:
      - V(physical) writes the ids that the host has for its NPUs, which HCCL wants.
      - V(logical) counts from 0 on each host, as a container sees them that is given just these NPUs. The vLLM connector matches such ids. One table
        does not suit both where the ids differ.
    type: str
    choices: [physical, logical]
    default: physical
  rank_order:
    description:
      - What the order of the hosts goes by.
      - V(given) is the order of O(hosts), O(nodes) or O(tables). V(host) is that of the names, where C(n2) comes before C(n10).
      - V(super_pod) puts the hosts of a super pod together, by their server index. HCCL's manual wants the ranks of a super pod in one block.
      - V(rack) puts the hosts of a rack together, by O(racks) or the variable C(rank_table_rack) of the host.
    type: str
    choices: [given, host, super_pod, rack]
    default: given
  racks:
    description:
      - The racks of single hosts, by the name of the host.
    type: dict
    default: {}
  groups:
    description:
      - Which hosts are in which group, for O(format=vllm_pd) and O(format=global). The first needs it, the second has one instance of all hosts without it.
    type: list
    elements: dict
    suboptions:
      name:
        description:
          - With O(format=vllm_pd), V(prefill) or V(decode).
          - With O(format=global), V(coordinator), V(controller), or any name for an instance. Instances are numbered from 2 in the order given.
        type: str
        required: true
      hosts:
        description:
          - Hosts of the table. Coordinators and controllers may be on others, too.
        type: list
        elements: str
        required: true
      devices:
        description:
          - The NPUs of each of these hosts that are in the group. A host can be in several groups, an NPU in one only.
        type: list
        elements: str
        default: [all]
      container_ips:
        description:
          - O(container_ips) of the group, for hosts with several containers.
        type: dict
        default: {}
      deploy_server:
        description:
          - C(deploy_server) of an instance in a global table, as the label C(grt-group/deploy-server) has it.
        type: str
  levels:
    description:
      - What each NPU of an Ascend 950 has at each network layer, as a dictionary from the name of the host to a list, for version 2.0.
      - An element has C(device_id), C(level_list) as the format wants it, and what else of C(local_id), C(device_port) and C(host_port) is known. An
        object with such a C(rank_list) is taken, too.
      - No tool tells all of it, so a table of version 2.0 has no address that is not given here.
    type: dict
    default: {}
  path:
    description:
      - Where the file goes on the host of the task. The folder must be there.
      - It must end in C(.json), and C(.json) must not stand elsewhere in it, or HCCL does not read it.
    type: str
    required: true
  write:
    description:
      - V(false) only assembles and checks the table, and leaves it on the controller for O(src) of a later task of this run.
    type: bool
    default: true
  format:
    description:
      - V(hccl) is the format that HCCL reads with C(RANK_TABLE_FILE).
      - V(mindie) is the same with C(container_ip), for MindIE-LLM on several hosts.
      - V(global) is the global rank table that MindIE-Motor reads.
      - V(vllm_pd) is that of the vLLM connector for disaggregated prefill. On A3 in a super pod its addresses are those of the virtual NICs.
      - V(local_comm_res) tells HIXL and LLM-DataDist how one NPU is reached. Name one host and one NPU. Endpoints of version 1.3 are RoCE.
    type: str
    choices: [hccl, global, mindie, vllm_pd, local_comm_res]
    default: hccl
  version:
    description:
      - The version of the format. V(auto) is V(1.2) for A3 where M(hccn.cluster.device_info) gathered C(super_pod) and the hosts are in one, V(2.0)
        for Ascend 950, else V(1.0). O(format=vllm_pd) only has V(1.2).
      - V(2.0) is of O(format=hccl) only, V(1.3) of O(format=local_comm_res) only.
    type: str
    choices: [auto, '1.0', '1.2', '2.0', '1.3']
    default: auto
  readers:
    description:
      - The programs by whose rules the table is checked, as O(hccn.cluster.rank_table_check#module:readers) has them. By default those of O(format).
      - An empty list does not check it.
    type: list
    elements: str
    choices: [hccl, mindie_llm, mindie_motor, clusterd, vllm, hixl]
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
  reader_uid:
    description:
      - The user id of the program that reads the file. Where that user cannot, by the mode of the file and of the folders above it, this is a warning
        of the rule C(reader_access) in RV(problems). Access lists are not looked at.
    type: int
  reader_gid:
    description:
      - The group id of that program.
    type: int
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
  - A task that runs for many hosts assembles the table once. One host tells its problems; the others only say where they are told.
  - For hundreds of hosts let one task with C(run_once) and O(write=false) assemble it, and another write it with O(src). The role
    P(hccn.cluster.rank_table#role) does so.
  - The formats were made from the manuals and sources of their readers. They were not tried on NPUs.
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

- name: Assemble once, with super pods together
  hccn.cluster.rank_table:
    hosts: "{{ groups['npu'] }}"
    register_name: npu
    rank_order: super_pod
    path: /etc/ascend/hccl.json
    write: false
  run_once: true
  register: table

- name: Write it to every host
  hccn.cluster.rank_table:
    src: "{{ table.src }}"
    path: /etc/ascend/hccl.json

- name: Prefill on two hosts, decode on half of another one
  hccn.cluster.rank_table:
    hosts: "{{ groups['npu'] }}"
    register_name: npu
    format: vllm_pd
    groups:
      - name: prefill
        hosts: [node-1, node-2]
      - name: decode
        hosts: [node-3]
        devices: [0-3]
    path: /data/ranktable/ranktable.json
  run_once: true

- name: A global table of MindIE-Motor
  hccn.cluster.rank_table:
    hosts: "{{ groups['npu'] }}"
    register_name: npu
    format: global
    groups:
      - name: coordinator
        hosts: [node-1]
        container_ips: {node-1: 10.244.0.9}
      - name: controller
        hosts: [node-1]
        container_ips: {node-1: 10.244.0.8}
      - name: prefill
        hosts: [node-1, node-2]
      - name: decode
        hosts: [node-3]
    container_ips: {node-1: 10.244.0.1, node-2: 10.244.1.1, node-3: 10.244.2.1}
    path: /data/ranktable/global_ranktable.json
    reader_uid: 1001
  run_once: true

- name: One table of those that each host made for itself
  hccn.cluster.rank_table:
    tables: [hccl-node-1.json, hccl-node-2.json]
    path: /etc/ascend/hccl.json
  run_once: true

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
src:
  description: The table on the controller, for O(src) of a later task. It is there until the run ends.
  returned: when O(write) is false and the table passed its checks
  type: str
sha256:
  description: The SHA-256 of what the file holds, or would hold in check mode.
  returned: when the table passed its checks
  type: str
server_count:
  description: The number of hosts in the table.
  returned: when the table passed its checks, not with O(src)
  type: int
  sample: 4
rank_count:
  description: The number of ranks.
  returned: when the table passed its checks, not with O(src)
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
