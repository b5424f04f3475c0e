# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action rank_table, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rank_table
short_description: Write the rank table of a cluster from results of device_info
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Assembles one rank table from the results of M(hccn.cluster.device_info) of all hosts, checks it by the rules of its readers, and writes it to
    the host of the task.
  - Alternatively, merges several existing tables into one, or converts a table to another format.
  - Ranks are numbered over the hosts in the given order, and within a host over its NPUs by ascending id.
  - Nothing is written if a reader would refuse the table, or if a host is missing, has no device or has an NPU without an address. All such hosts and problems
    are reported at once.
  - The file is written if its table differs as data. A file with the same table in another layout keeps its content.
options:
  nodes:
    description:
      - Results of M(hccn.cluster.device_info) by host name.
      - One of O(nodes), O(hosts) with O(register_name), O(tables) and O(src) is required.
    type: dict
  hosts:
    description:
      - The hosts in the order of their ranks, for example C(groups['npu']). Their results are read from O(register_name).
      - Every host must have a result, so the task fails if a host was unreachable.
      - With O(nodes) or O(tables), the hosts to include in the table, in this order. A host of a table is identified by its C(server_id).
    type: list
    elements: str
  register_name:
    description:
      - Name of the variable in which the play registered the results of M(hccn.cluster.device_info). It is the name, not the value.
    type: str
  tables:
    description:
      - Rank tables to merge, each as a path on the controller, as text or as a dictionary. Ranks are renumbered.
      - The tables may have any format (C(server_list), C(server_group_list), C(prefill_device_list), C(rank_list), the old C(group_list)), so this also
        converts one format to another.
      - The task fails if two tables have the same device.
    type: list
    elements: raw
  src:
    description:
      - A table that an earlier task of the run left on the controller, see RV(src). It is only written, not checked again.
      - In check mode it may be empty, for a table that does not exist before the run. In that case only the path on the host is checked. The task fails if the
        folder does not exist, and reports a change if the file does not exist.
    type: str
  server_ids:
    description:
      - The C(server_id) of hosts, as addresses by host name.
      - The default for a host is its variable C(rank_table_server_id), or else C(ansible_host) or the host name if one of them is an IP address, or else an
        address to which one of these resolves on the controller.
      - HCCL accepts any unique string of at most 64 bytes, but MindIE-LLM and others compare it with an address of the host.
    type: dict
    default: {}
  host_ips:
    description:
      - The C(host_ip) of hosts, by host name. The default for a host is its variable C(rank_table_host_ip). Without either, the table has no C(host_ip), which
        HCCL needs only to retry operators.
    type: dict
    default: {}
  container_ips:
    description:
      - Addresses of the container or pod on each host, by host name. The default for a host is its variable C(rank_table_container_ip).
      - MindIE reads it as C(container_ip). In a global table it is C(server_ip). In both formats the default is C(server_id), which is correct for
        containers that use the network of the host.
    type: dict
    default: {}
  devices:
    description:
      - Physical ids of the NPUs of each host that become ranks, as single ids and ranges such as V(0-7).
      - V(all) selects every NPU in the result of the host. All selected ids must be present in the result.
    type: list
    elements: str
    default: [all]
  host_devices:
    description:
      - O(devices) of individual hosts, by host name.
    type: dict
    default: {}
  device_ids:
    description:
      - V(physical) writes the ids of the NPUs on the host, as HCCL requires.
      - V(logical) numbers the NPUs of each host from 0, as seen in a container with exactly these NPUs. The vLLM connector compares such ids. If the two kinds
        of ids differ, no table suits both HCCL and the vLLM connector.
    type: str
    choices: [physical, logical]
    default: physical
  rank_order:
    description:
      - Order of the hosts.
      - V(given) keeps the order of O(hosts), O(nodes) or O(tables). V(host) sorts by name, with C(n2) before C(n10).
      - V(super_pod) keeps the hosts of a super pod together, sorted by server index. The HCCL manual requires the ranks of a super pod to form one block.
      - V(rack) keeps the hosts of a rack together, according to O(racks) or the variable C(rank_table_rack) of the host.
    type: str
    choices: [given, host, super_pod, rack]
    default: given
  racks:
    description:
      - Racks by host name.
    type: dict
    default: {}
  groups:
    description:
      - Groups of hosts, for O(format=vllm_pd) and O(format=global). O(format=vllm_pd) requires it. By default, O(format=global) has one instance of all hosts.
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
          - Hosts of the table. Coordinators and controllers may also be on other hosts.
        type: list
        elements: str
        required: true
      devices:
        description:
          - NPUs of each host that belong to the group. A host can be in several groups, an NPU in only one.
        type: list
        elements: str
        default: [all]
      container_ips:
        description:
          - O(container_ips) for this group, for hosts with several containers.
        type: dict
        default: {}
      deploy_server:
        description:
          - C(deploy_server) of an instance in a global table, as in the label C(grt-group/deploy-server).
        type: str
  levels:
    description:
      - Addresses of each NPU of an Ascend 950 at each network layer, as lists by host name, for version 2.0.
      - Each element has C(device_id), C(level_list) in the format of the table, and optionally C(local_id), C(device_port) and C(host_port). A dictionary
        with such a C(rank_list) is accepted as well.
      - No tool reports all of these addresses, so a table of version 2.0 contains only addresses that are given here.
    type: dict
    default: {}
  path:
    description:
      - Path of the file on the host of the task. The folder must exist.
      - It must end in C(.json) and must not contain C(.json) elsewhere, otherwise HCCL does not read the file.
    type: str
    required: true
  write:
    description:
      - Whether to write the file. With V(false), the table is only assembled and checked, and remains on the controller for O(src) of a later task of this run.
    type: bool
    default: true
  format:
    description:
      - V(hccl) is the format that HCCL reads with C(RANK_TABLE_FILE).
      - V(mindie) is the same with C(container_ip), for MindIE-LLM on several hosts.
      - V(global) is the global rank table that MindIE-Motor reads.
      - V(vllm_pd) is the format of the vLLM connector for disaggregated prefill. On A3 in a super pod, it contains the addresses of the virtual NICs.
      - V(local_comm_res) has the addresses of one NPU for HIXL and LLM-DataDist. Select one host and one NPU. Endpoints of version 1.3 use RoCE.
    type: str
    choices: [hccl, global, mindie, vllm_pd, local_comm_res]
    default: hccl
  version:
    description:
      - Version of the format. V(auto) is V(1.2) for A3 if M(hccn.cluster.device_info) gathered C(super_pod) and the hosts are in one, V(2.0)
        for Ascend 950, otherwise V(1.0). O(format=vllm_pd) has only V(1.2).
      - V(2.0) is available only for O(format=hccl), V(1.3) only for O(format=local_comm_res).
    type: str
    choices: [auto, '1.0', '1.2', '2.0', '1.3']
    default: auto
  readers:
    description:
      - Programs whose rules the table must satisfy, as in O(hccn.cluster.rank_table_check#module:readers). The default are the readers of O(format).
      - With an empty list, the table is not checked.
      - Without V(mindie_motor) in this option, it is only a warning if a global table has fewer than 2 or more than 98 groups, or no group of coordinators.
    type: list
    elements: str
    choices: [hccl, mindie_llm, mindie_motor, clusterd, vllm, hixl]
  mode:
    description:
      - Mode of the file, as in O(ansible.builtin.copy#module:mode). MindIE-LLM and MindIE-Motor refuse more permissions than V(0640).
    type: raw
    default: '0640'
  owner:
    description:
      - Owner of the file. A container that reads it often runs as a different user.
    type: str
  group:
    description:
      - Group of the file.
    type: str
  reader_uid:
    description:
      - User id of the program that reads the file. If the mode of the file or of a parent folder denies that user access, RV(problems) has a warning
        of the rule C(reader_access). Access lists are not considered.
    type: int
  reader_gid:
    description:
      - Group id of that program.
    type: int
  return_content:
    description:
      - Whether to return the table as RV(rank_table). Its size is about 100 bytes per rank.
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
    description: Has an action plugin of the same name, so that part of the work runs on the controller.
    support: full
notes:
  - The table is assembled on the controller without a connection. The file is transferred by M(ansible.builtin.copy), so C(become) and any connection
    plugin work.
  - Errors of M(hccn.cluster.device_info) in topics other than the address (link, TLS and so on) do not prevent the table. They are warnings in RV(problems).
  - A task that runs for many hosts assembles the table once. One host reports its problems; the others refer to that host.
  - For hundreds of hosts, assemble the table in one task with C(run_once) and O(write=false), and write it in another task with O(src), as the role
    P(hccn.cluster.rank_table#role) does.
  - The formats were derived from the manuals and source code of their readers. They were not verified on NPUs.
seealso:
  - module: hccn.cluster.device_info
  - module: hccn.cluster.rank_table_check
"""

EXAMPLES = r"""
- name: Probe the NPUs
  hccn.cluster.device_info:
    gather: [address]
  register: npu

- name: Write a table of all hosts to the first host
  hccn.cluster.rank_table:
    hosts: "{{ groups['npu'] }}"
    register_name: npu
    path: /etc/ascend/hccl.json
  run_once: true

- name: Write a table with four NPUs per host to the controller, readable for the group of the service
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

- name: Assemble the table once, grouped by super pod
  hccn.cluster.rank_table:
    hosts: "{{ groups['npu'] }}"
    register_name: npu
    rank_order: super_pod
    path: /etc/ascend/hccl.json
    write: false
  run_once: true
  register: table

- name: Write the table to every host
  hccn.cluster.rank_table:
    src: "{{ table.src }}"
    path: /etc/ascend/hccl.json

- name: Write a table for prefill on two hosts and decode on half of another host
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

- name: Write a global table for MindIE-Motor
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

- name: Merge the tables of two hosts
  hccn.cluster.rank_table:
    tables: [hccl-node-1.json, hccl-node-2.json]
    path: /etc/ascend/hccl.json
  run_once: true

- name: Write a table from saved results
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
  description: Path of the file on the host of the task.
  returned: when the table passed its checks
  type: str
  sample: /etc/ascend/hccl.json
src:
  description: Path of the table on the controller, for O(src) of a later task. The file exists until the run ends.
  returned: when O(write) is false and the table passed its checks
  type: str
sha256:
  description: SHA-256 checksum of the file, or in check mode of the file that would be written.
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
  returned: when the file exists
  type: str
  sample: '0640'
owner:
  description: The owner of the file.
  returned: when the file exists
  type: str
group:
  description: The group of the file.
  returned: when the file exists
  type: str
problems:
  description:
    - Problems of the hosts (rule C(node)) and of the table, as in RV(hccn.cluster.rank_table_check#module:problems), with the name of the
      host. Keys that do not apply are absent.
  returned: when the results of the hosts could be evaluated
  type: list
  elements: dict
  contains:
    rule:
      description: Name of the rule.
      type: str
      sample: node
    severity:
      description: V(error) or V(warning). If there is an error, nothing is written.
      type: str
      sample: error
    host:
      description: Inventory name of the host.
      type: str
      sample: node-3
    device:
      description: Physical id of the NPU.
      type: int
      sample: 5
    where:
      description: Path in the table.
      type: str
      sample: server_list[2].device[5].device_ip
    message:
      description: Description of the problem.
      type: str
      sample: device 5 has no address
    hint:
      description: How to solve the problem.
      type: str
    reader:
      description: The reader whose rule is violated.
      type: str
      sample: hccl
    error_code:
      description: Error code that HCCL would report.
      type: str
      sample: EI0014
"""
