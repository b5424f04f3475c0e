#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check a rank table."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rank_table_check
short_description: Check a rank table by the rules of its readers
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Checks a rank table by the rules of the programs that read it. All rules are checked, so all problems are reported at once.
  - The format is determined from the content. Supported formats are tables with C(server_list) of version 1.0 and 1.2, also with the C(container_ip) of
    MindIE, tables with C(rank_list) of version 2.0, the old C(group_list), global rank tables (C(server_group_list)), the tables of the vLLM connector
    (C(prefill_device_list), C(decode_device_list)) and C(local_comm_res) of HIXL.
  - If a reader does not accept the format of the table, this is reported as one problem of the rule C(format).
  - Each problem has the name of its rule, the path in the document, and the code that HCCL would report.
  - With O(nodes), the table is also compared with the NPUs of the hosts.
options:
  path:
    description:
      - File on the host that contains the table. Its name is also checked, and for V(mindie_llm) and V(mindie_motor) its mode.
      - If the file contains a Kubernetes ConfigMap as JSON, the table in the ConfigMap is checked.
    type: path
  content:
    description:
      - The table itself, as a string or as data, for example RV(hccn.cluster.rank_table#module:rank_table).
      - It may also be a ConfigMap with a table under C(hccl.json), as created by Ascend Operator (C(rings-config-JOB)) and ClusterD (together with
        C(jobName)). The manifest is accepted as JSON or as data, and so are its C(data) and the value of the key.
      - YAML is not supported. Convert it with P(ansible.builtin.from_yaml#filter).
    type: json
  readers:
    description:
      - Programs whose rules the table must satisfy.
      - V(hccl) is HCCL with C(RANK_TABLE_FILE), V(mindie_llm) is MindIE-LLM on several hosts, V(mindie_motor) is MindIE-Motor with a global rank
        table, V(clusterd) is ClusterD, which collects tables into a global rank table, V(vllm) is the LLMDataDist connector of vLLM up to 0.11, and V(hixl)
        is HIXL and LLM-DataDist with a C(local_comm_res).
    type: list
    elements: str
    choices: [hccl, mindie_llm, mindie_motor, clusterd, vllm, hixl]
    default: [hccl]
  product:
    description:
      - Product of the NPUs in the table, as in RV(hccn.cluster.device_info#module:product). The limits of HCCL depend on it.
      - Without it, the widest limits apply, and problems on only some products are warnings. Version 1.2 implies A3.
    type: str
    choices: [910A, A2, A3, '950', 310P]
  nodes:
    description:
      - Results of M(hccn.cluster.device_info) by host name, with which the table is compared.
      - Differing addresses, NPUs, SDIDs and super pods are errors. Hosts and NPUs that are missing in the table are warnings.
    type: dict
  server_ids:
    description:
      - The C(server_id) of hosts in O(nodes), by host name. Without it, a server is matched with the host of that name, or else with the host that has most
        of its addresses.
    type: dict
    default: {}
  fail_on:
    description:
      - When the module fails. V(error) is for any problem of severity error, V(warning) for any problem. With V(never), problems never cause a failure.
    type: str
    choices: [error, warning, never]
    default: error
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
notes:
  - HCCL also compares the entry of each process with the NPU of the process. With O(nodes), this is checked in advance for all hosts.
  - The rules were derived from the source code and manuals of the readers. They were not verified on NPUs.
  - A result is limited to 256 kB. If a rule has many problems, the first ones are reported and the others counted.
seealso:
  - module: hccn.cluster.rank_table
  - module: hccn.cluster.device_info
"""

EXAMPLES = r"""
- name: Check whether HCCL would accept a table
  hccn.cluster.rank_table_check:
    path: /user/serverid/devindex/config/hccl.json

- name: Check a table for MindIE-LLM without failing
  hccn.cluster.rank_table_check:
    path: /data/ranktable/hccl.json
    readers: [hccl, mindie_llm]
    product: A2
    fail_on: never
  register: table

- name: Show the problems of a table in a ConfigMap
  hccn.cluster.rank_table_check:
    content: "{{ configmap.resources[0] }}"
    readers: [hccl, clusterd]
    fail_on: warning

- name: Check whether MindIE-Motor would accept the global rank table
  hccn.cluster.rank_table_check:
    path: /data/ranktable/global_ranktable.json
    readers: [mindie_motor]

- name: Probe the NPUs
  hccn.cluster.device_info:
    gather: [address, super_pod]
  register: npu

- name: Compare the table with the hosts
  hccn.cluster.rank_table_check:
    path: /etc/ascend/hccl.json
    nodes: "{{ dict(groups['npu'] | zip(groups['npu'] | map('extract', hostvars, 'npu'))) }}"
  run_once: true
"""

RETURN = r"""
problems:
  description: The problems, by reader and rule. Keys that do not apply are absent.
  returned: always
  type: list
  elements: dict
  contains:
    rule:
      description: Name of the rule. Rules whose names begin with C(drift) compare the table with the hosts.
      type: str
      sample: device_ip_unique
    severity:
      description: V(error) if the reader refuses the table or its manual forbids it, otherwise V(warning).
      type: str
      sample: error
    where:
      description: Path in the document. Absent if the problem concerns the whole document.
      type: str
      sample: server_list[0].device[1].device_ip
    host:
      description: The affected host of O(nodes).
      type: str
      sample: node-1
    device:
      description: The affected C(device_id).
      type: int
      sample: 1
    message:
      description: Description of the problem.
      type: str
      sample: the address 192.168.100.101 is also used by server_list[0].device[0]
    hint:
      description: How to solve the problem.
      type: str
    reader:
      description: The reader whose rule is violated.
      type: str
      sample: hccl
    error_code:
      description: Error code that HCCL would report. RV(error_codes) has its text.
      type: str
      sample: EI0014
  sample:
    - rule: device_ip
      severity: error
      where: server_list[0].device[1].device_ip
      device: 1
      message: "'-.-.-.-' is not an IP address of an NPU"
      hint: "the NPU has no address: set one with hccn.cluster.device_network"
      reader: hccl
      error_code: EI0014
error_codes:
  description: Messages of HCCL for the codes in RV(problems). HCCL replaces C(%s) with values.
  returned: always
  type: dict
  sample:
    EI0014: "Value %s for ranktable variable %s is invalid. Expected value: %s."
format:
  description:
    - Format of the document, which is V(hccl), V(hccl_1.1), V(hccl_2.0), V(group_list), V(global), V(vllm_pd), V(local_comm_res) or V(topology).
    - Empty if the format is unknown.
  returned: always
  type: str
  sample: hccl
job_name:
  description: C(jobName) of the ConfigMap.
  returned: when the table was in a ConfigMap of ClusterD
  type: str
  sample: resnet-50
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import as_dicts, fails
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path"},
            "content": {"type": "json"},
            "readers": {"type": "list", "elements": "str", "choices": ["hccl", "mindie_llm", "mindie_motor", "clusterd", "vllm", "hixl"],
                        "default": ["hccl"]},
            "product": {"type": "str", "choices": ["910A", "A2", "A3", "950", "310P"]},
            "nodes": {"type": "dict"},
            "server_ids": {"type": "dict", "default": {}},
            "fail_on": {"type": "str", "choices": ["error", "warning", "never"], "default": "error"},
        },
        mutually_exclusive=[("path", "content")],
        required_one_of=[("path", "content")],
        supports_check_mode=True,
    )
    options = module.params
    try:
        if options["path"] is not None:
            verdict = checks.examine_file(options["path"], options["readers"], options["product"])
        else:
            verdict = checks.examine_text(options["content"], options["readers"], options["product"])
        if options["nodes"] is not None:
            verdict = checks.against_hosts(verdict, options["nodes"], options["server_ids"])
    except HccnError as error:
        module.fail_json(msg=error.message, problems=[])
    problems = verdict.problems
    result = {"problems": as_dicts(problems), "error_codes": checks.error_texts(problems), "format": verdict.format}
    if verdict.job is not None:
        result["job_name"] = verdict.job
    if fails(problems, options["fail_on"]):
        module.fail_json(msg="the rank table has problems: " + checks.failure_message(problems), **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
