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
  - Tables of version 1.0 are known. In tables of version 1.2 the part about super pods is not checked, which is told as a warning.
    Other formats (C(server_group_list), C(group_list), version 2.0 and the like) are named and not checked further.
  - Each problem has the name of its rule, the place in the document, and the code that HCCL would report.
options:
  path:
    description:
      - The file with the table, on the host. Its name and, for V(mindie_llm), its mode are checked too.
    type: path
  content:
    description:
      - The table itself, as text or as data, for instance RV(hccn.cluster.rank_table#module:rank_table) or a value of a ConfigMap.
    type: json
  readers:
    description:
      - The programs by whose rules to check.
      - V(hccl) is HCCL with C(RANK_TABLE_FILE), V(mindie_llm) is MindIE-LLM on several hosts, V(clusterd) is what ClusterD collects into a global
        rank table.
    type: list
    elements: str
    choices: [hccl, mindie_llm, clusterd]
    default: [hccl]
  product:
    description:
      - The NPUs that the table is for, as RV(hccn.cluster.device_info#module:product) names them. HCCL's limits depend on it.
      - Without it, the widest limits count, and what only some products refuse is a warning.
    type: str
    choices: [910A, A2, A3, '950', 310P]
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
  - What only the running process can know is not checked, namely whether O(path) lists the physical ids and addresses of the NPUs of this host.
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
    content: "{{ configmap.resources[0].data['hccl.json'] }}"
    fail_on: warning
"""

RETURN = r"""
problems:
  description: What is wrong, by reader and rule. Keys that do not apply are absent.
  returned: always
  type: list
  elements: dict
  contains:
    rule:
      description: The rule, by its name.
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
      description: What HCCL would report.
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
            "readers": {"type": "list", "elements": "str", "choices": ["hccl", "mindie_llm", "clusterd"], "default": ["hccl"]},
            "product": {"type": "str", "choices": ["910A", "A2", "A3", "950", "310P"]},
            "fail_on": {"type": "str", "choices": ["error", "warning", "never"], "default": "error"},
        },
        mutually_exclusive=[("path", "content")],
        required_one_of=[("path", "content")],
        supports_check_mode=True,
    )
    options = module.params
    try:
        if options["path"] is not None:
            problems = checks.check_file(options["path"], options["readers"], options["product"])
        else:
            problems = checks.check_text(options["content"], options["readers"], options["product"])
    except HccnError as error:
        module.fail_json(msg=error.message, problems=[])
    told = as_dicts(problems)
    if fails(problems, options["fail_on"]):
        module.fail_json(msg="the rank table has problems: " + checks.sentence(problems), problems=told)
    module.exit_json(changed=False, problems=told)


if __name__ == "__main__":
    main()
