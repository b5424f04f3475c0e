#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of elastic_agent_info; the logic is in module_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
module: elastic_agent_info
short_description: Find leftovers of Elastic-Agent, which is retired
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Searches for the Python package C(mindx_elastic) (Elastic-Agent, resumable training), and reads its version from the metadata of the package, or from
    C(mindx_elastic.__version__) in its source if there is no metadata. It is retired and replaced by TaskD.
  - Searches for the line C(import mindx_elastic.api) in C(torch/distributed/run.py), which loads the package. If the package was removed but not the line,
    C(torchrun) fails.
  - The module only reads files. It does not import or call Elastic-Agent, whose interfaces are internal, and which patches torch when it is imported.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  paths:
    description:
      - Folders with Python packages (C(site-packages)). By default those of the Python that runs the module.
      - The C(site-packages) of a running container are accessible below C(/proc/PID/root) of the host.
    type: list
    elements: path
  fail_on:
    description:
      - V(error) fails if there is a problem of severity error, V(warning) if there is any problem, V(never) never because of problems.
    type: str
    choices: [error, warning, never]
    default: never
"""

EXAMPLES = r"""
- name: Search for Elastic-Agent
  hccn.cluster.elastic_agent_info:
    paths: [/usr/local/python3.10/lib/python3.10/site-packages]
  register: agent

- name: Show the problems
  ansible.builtin.debug:
    msg: "{{ agent.problems | map(attribute='message') }}"
"""

RETURN = r"""
packages:
  description: The packages that were found, with C(path), C(version) (V(null) if neither metadata nor source has it) and C(retired), which is always V(true).
  returned: always
  type: list
  elements: dict
  sample:
    - {path: /usr/lib/python3/site-packages/mindx_elastic-0.0.1.dist-info, version: 0.0.1, retired: true}
imports:
  description: Lines of torch that import the package, with C(path), C(line) and C(text).
  returned: always
  type: list
  elements: dict
  sample:
    - {path: /usr/lib/python3/site-packages/torch/distributed/run.py, line: 385, text: import mindx_elastic.api}
problems:
  description: The problems, with C(rule), C(severity), C(where), C(message) and C(hint).
  returned: always
  type: list
  elements: dict
  sample:
    - rule: elastic_agent_import
      severity: error
      where: /usr/lib/python3/site-packages/torch/distributed/run.py line 385
      message: "torch imports Elastic-Agent: import mindx_elastic.api, which is not installed, so torchrun fails"
      hint: remove this line, or reinstall torch
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import elastic_agent
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "paths": {"type": "list", "elements": "path"},
            "fail_on": {"type": "str", "choices": ["error", "warning", "never"], "default": "never"},
        },
        supports_check_mode=True,
    )
    try:
        result = elastic_agent.inspect(module.params)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), problems=[])
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
