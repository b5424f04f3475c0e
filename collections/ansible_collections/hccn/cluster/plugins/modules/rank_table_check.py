#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Checks a rank table."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rank_table_check
short_description: Tells which reader would refuse a rank table, and why
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Checks a rank table by the rules of the programs that read it. All rules are tried, so all problems are told at once.
  - The format is recognised by the content. Known are tables with C(server_list) of version 1.0 and 1.2, also with MindIE's C(container_ip), tables
    with C(rank_list) of version 2.0, the old C(group_list), global rank tables (C(server_group_list)), the tables of the vLLM connector
    (C(prefill_device_list), C(decode_device_list)) and HIXL's C(local_comm_res).
  - A table in a format that a reader does not take is one problem of the rule C(format).
  - Each problem has the name of its rule, the place in the document, and the code that HCCL would report.
  - With O(nodes) the table is compared with what the NPUs of the hosts have.
options:
  path:
    description:
      - The file with the table, on the host. Its name and, for V(mindie_llm) and V(mindie_motor), its mode are checked too.
      - The file may also hold a Kubernetes ConfigMap as JSON; then the table in it is meant.
    type: path
  content:
    description:
      - The table itself, as text or as data, for instance RV(hccn.cluster.rank_table#module:rank_table).
      - Or a ConfigMap with a table under C(hccl.json), as Ascend Operator (C(rings-config-JOB)) and ClusterD (beside C(jobName)) write it - the
        manifest as JSON or as data, its C(data), or the value of the key.
      - YAML is not read. Put it through P(ansible.builtin.from_yaml#filter).
    type: json
  readers:
    description:
      - The programs by whose rules to check.
      - V(hccl) is HCCL with C(RANK_TABLE_FILE), V(mindie_llm) is MindIE-LLM on several hosts, V(mindie_motor) is MindIE-Motor with a global rank
        table, V(clusterd) is what ClusterD collects into a global rank table, V(vllm) is the LLMDataDist connector of vLLM up to 0.11, V(hixl) is
        HIXL and LLM-DataDist with a C(local_comm_res).
    type: list
    elements: str
    choices: [hccl, mindie_llm, mindie_motor, clusterd, vllm, hixl]
    default: [hccl]
  product:
    description:
      - The NPUs that the table is for, as RV(hccn.cluster.device_info#module:product) names them. HCCL's limits depend on it.
      - Without it, the widest limits count, and what only some products refuse is a warning. Version 1.2 is of A3.
    type: str
    choices: [910A, A2, A3, '950', 310P]
  nodes:
    description:
      - The results of M(hccn.cluster.device_info), as a dictionary from the name of the host to its result.
      - The table is compared with them. Addresses, NPUs, SDIDs and super pods that differ are errors, hosts and NPUs that the table does not have are
        warnings.
    type: dict
  server_ids:
    description:
      - C(server_id) of single hosts of O(nodes), as a dictionary from the name of the host. Without it, a server is the host of that name, or the
        one that has most of its addresses.
    type: dict
    default: {}
  fail_on:
    description:
      - V(error) fails when there is a problem of severity error, V(warning) when there is any problem, V(never) never for a problem's sake.
    type: str
    choices: [error, warning, never]
    default: error
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
notes:
  - HCCL also compares the entry of each process with its own NPU. O(nodes) does so beforehand, for all hosts.
  - The rules were read from the sources and manuals of the readers. They were not tried on NPUs.
  - A result stays below 256 kB. Of many problems of one rule the first are told and the others counted.
seealso:
  - module: hccn.cluster.rank_table
  - module: hccn.cluster.device_info
"""

EXAMPLES = r"""
- name: Would HCCL take this table
  hccn.cluster.rank_table_check:
    path: /user/serverid/devindex/config/hccl.json

- name: Look at a table for MindIE-LLM without failing
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

- name: Would MindIE-Motor take the global rank table
  hccn.cluster.rank_table_check:
    path: /data/ranktable/global_ranktable.json
    readers: [mindie_motor]

- name: Look at the NPUs
  hccn.cluster.device_info:
    gather: [address, super_pod]
  register: npu

- name: Is the table still that of the hosts
  hccn.cluster.rank_table_check:
    path: /etc/ascend/hccl.json
    nodes: "{{ dict(groups['npu'] | zip(groups['npu'] | map('extract', hostvars, 'npu'))) }}"
  run_once: true
"""

RETURN = r"""
problems:
  description: What is wrong, by reader and rule. Keys that do not apply are absent.
  returned: always
  type: list
  elements: dict
  contains:
    rule:
      description: The rule, by its name. Rules that begin with C(drift) compare with the hosts.
      type: str
      sample: device_ip_unique
    severity:
      description: V(error) where the reader refuses the table or the manual forbids it, else V(warning).
      type: str
      sample: error
    where:
      description: The place in the document. Absent where it is about the whole.
      type: str
      sample: server_list[0].device[1].device_ip
    host:
      description: The host of O(nodes) that it is about.
      type: str
      sample: node-1
    device:
      description: The C(device_id) that it is about.
      type: int
      sample: 1
    message:
      description: What is wrong.
      type: str
      sample: the address 192.168.100.101 is also that of server_list[0].device[0]
    hint:
      description: What to do.
      type: str
    reader:
      description: Who would refuse it.
      type: str
      sample: hccl
    error_code:
      description: What HCCL would report. RV(error_codes) has its text.
      type: str
      sample: EI0014
  sample:
    - rule: device_ip
      severity: error
      where: server_list[0].device[1].device_ip
      device: 1
      message: "'-.-.-.-' is no IP address of an NPU"
      hint: "the NPU has no address: set one with hccn.cluster.device_network"
      reader: hccl
      error_code: EI0014
error_codes:
  description: The texts of the codes in RV(problems), as HCCL reports them; C(%s) stands for what it fills in.
  returned: always
  type: dict
  sample:
    EI0014: "Value %s for ranktable variable %s is invalid. Expected value: %s."
format:
  description:
    - What the document was taken for - V(hccl), V(hccl_1.1), V(hccl_2.0), V(group_list), V(global), V(vllm_pd), V(local_comm_res) or V(topology).
    - Empty where nothing of any format is there.
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
