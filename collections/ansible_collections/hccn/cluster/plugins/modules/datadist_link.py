#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of datadist_link; the logic is in module_utils/_datadist."""

from __future__ import annotations

DOCUMENTATION = r"""
module: datadist_link
short_description: Link clusters of LLM-DataDist, or test whether they can link
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Creates a new LlmDataDist on one NPU of this host with the Python package C(llm_datadist) of CANN, and links it to others.
  - A link exists as long as the process that created it. With O(state=probed), the links are created, removed and reported. With O(state=present), a process
    in the background holds the links, or only listens, until O(state=absent) or for O(hold) seconds.
  - The module does not read or change the links of running services.
extends_documentation_fragment:
  - hccn.cluster._attributes
attributes:
  check_mode:
    support: full
    details:
      - Nothing is created or linked.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details:
      - O(state=probed) creates the links each time, and never reports a change.
      - With O(state=present), all links are created again if one of them failed before. If all links failed, no process remains.
requirements:
  - C(llm_datadist) of CANN for the Python that runs the module, with the variables of CANN set by C(environment) (C(PYTHONPATH), C(LD_LIBRARY_PATH), ...)
options:
  state:
    description:
      - V(probed) links and unlinks. V(present) links and keeps the links. V(absent) ends the process of V(present) and its links.
    type: str
    choices: [present, absent, probed]
    default: present
  cluster:
    description:
      - Id of this cluster, unique among all clusters that link.
    type: int
    required: true
  role:
    description:
      - Role of this cluster.
    type: str
    choices: [prefill, decode]
    default: decode
  device:
    description:
      - Id of the NPU as visible to processes on this host.
    type: int
    default: 0
  listen:
    description:
      - Address and port on which to listen, so that other clusters can link to this cluster.
    type: dict
    suboptions:
      ip:
        description:
          - Address of this host.
        type: str
        required: true
      port:
        description:
          - TCP port.
        type: int
        required: true
  local:
    description:
      - Address and port of this host for the links. Required with O(remotes), unless O(local_comm_res) is set.
    type: dict
    suboptions:
      ip:
        description:
          - Address of this host.
        type: str
        required: true
      port:
        description:
          - TCP port.
        type: int
        required: true
  local_comm_res:
    description:
      - C(OPTION_LOCAL_COMM_RES), as text.
    type: str
    default: ""
  remotes:
    description:
      - The clusters to link to, with 16 clusters per call.
    type: list
    elements: dict
    default: []
    suboptions:
      cluster:
        description:
          - Id of the remote cluster.
        type: int
        required: true
      ip:
        description:
          - Address of the host of the remote cluster.
        type: str
        required: true
      port:
        description:
          - Port on which the remote cluster listens.
        type: int
        required: true
  timeout_ms:
    description:
      - Timeout of each call in milliseconds. At least 200 are recommended, with TLS at least 2000.
    type: int
    default: 3000
  timeout:
    description:
      - Maximum duration in seconds of creating or removing all links. A process that does not finish in time is killed.
    type: int
    default: 60
  hold:
    description:
      - Seconds after which a process of O(state=present) unlinks and ends.
    type: int
    default: 3600
  state_dir:
    description:
      - Folder of the state files of O(state=present). It is created with mode 0700.
    type: path
    default: /var/lib/hccn.cluster/datadist
notes:
  - Tested with a simulator of C(llm_datadist). Not tested on NPUs yet.
seealso:
  - module: hccn.cluster.datadist_check
"""

EXAMPLES = r"""
- name: Let the prefill side listen for a while
  hccn.cluster.datadist_link:
    cluster: 1
    role: prefill
    device: 0
    listen: {ip: 192.0.2.1, port: 26000}
    hold: 300
  environment: "{{ cann_environment }}"
  when: inventory_hostname == 'p1'

- name: Test whether the decode side can link to it
  hccn.cluster.datadist_link:
    state: probed
    cluster: 2
    device: 0
    local: {ip: 192.0.2.2, port: 26000}
    remotes:
      - {cluster: 1, ip: 192.0.2.1, port: 26000}
  environment: "{{ cann_environment }}"
  when: inventory_hostname == 'd1'

- name: Stop listening
  hccn.cluster.datadist_link:
    state: absent
    cluster: 1
  when: inventory_hostname == 'p1'
"""

RETURN = r"""
links:
  description: One entry for each of O(remotes) in their order. With O(state=absent), one entry for each link that was removed.
  returned: always
  type: list
  elements: dict
  contains:
    cluster:
      description: Id of the remote cluster.
      type: int
      sample: 1
    status:
      description: V(linked), V(already_linked), which is no failure, V(unlinked) or V(failed).
      type: str
      sample: linked
    code:
      description: Name of the status code of LLM-DataDist for the link.
      type: str
      sample: LLM_SUCCESS
    explained:
      description: Explanation of the code, with C(code), C(name), C(meaning) and C(hint).
      type: dict
      sample: {code: 0, name: LLM_SUCCESS, meaning: done}
    unlink:
      description: With O(state=probed) and O(state=absent), the status code of the unlink.
      type: str
      sample: LLM_SUCCESS
process:
  description: Pid of the process that holds the links.
  returned: with O(state=present), outside check mode
  type: int
  sample: 4711
error:
  description: The error, with C(code), C(message) and C(hint).
  returned: if LLM-DataDist could not be used
  type: dict
  sample: {code: init_failed, message: "LLM-DataDist does not start on device 0: LLM_PARAM_INVALID", hint: "see its log"}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._datadist import link

IP_INFO = {"ip": {"type": "str", "required": True}, "port": {"type": "int", "required": True}}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent", "probed"], "default": "present"},
            "cluster": {"type": "int", "required": True},
            "role": {"type": "str", "choices": ["prefill", "decode"], "default": "decode"},
            "device": {"type": "int", "default": 0},
            "listen": {"type": "dict", "options": IP_INFO},
            "local": {"type": "dict", "options": IP_INFO},
            "local_comm_res": {"type": "str", "default": ""},
            "remotes": {"type": "list", "elements": "dict", "default": [], "options": dict(IP_INFO, cluster={"type": "int", "required": True})},
            "timeout_ms": {"type": "int", "default": 3000},
            "timeout": {"type": "int", "default": 60},
            "hold": {"type": "int", "default": 3600},
            "state_dir": {"type": "path", "default": "/var/lib/hccn.cluster/datadist"},
        },
        supports_check_mode=True,
    )
    try:
        result = link.manage(module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), links=[])
    module.exit_json(**result)


if __name__ == "__main__":
    main()
