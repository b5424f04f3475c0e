#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of datadist_link; the logic is in module_utils/_datadist."""

from __future__ import annotations

DOCUMENTATION = r"""
module: datadist_link
short_description: Link clusters of LLM-DataDist, or try whether they link
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Opens an LlmDataDist of its own on one NPU of this host, through the Python package C(llm_datadist) of CANN, and links it to others.
  - A link lives as long as the process that made it. With O(state=probed) the links are made, taken down again and told of. With O(state=present) a process
    stays in the background and holds them, or only listens, until O(state=absent) or O(hold).
  - It says nothing about, and changes nothing of, the links of services that run already.
extends_documentation_fragment:
  - hccn.cluster._attributes
attributes:
  check_mode:
    support: full
    details:
      - Nothing is opened or linked.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details:
      - O(state=probed) tries anew each time, and never reports a change.
      - With O(state=present) all links are made anew where one had failed before. Where all failed, nothing stays.
requirements:
  - C(llm_datadist) of CANN in the Python of the module, with CANN's variables set by C(environment) (C(PYTHONPATH), C(LD_LIBRARY_PATH), ...)
options:
  state:
    description:
      - V(probed) links and unlinks. V(present) links and stays linked, V(absent) ends what V(present) left.
    type: str
    choices: [present, absent, probed]
    default: present
  cluster:
    description:
      - The id of the cluster here, unique over all that link.
    type: int
    required: true
  role:
    description:
      - What it is.
    type: str
    choices: [prefill, decode]
    default: decode
  device:
    description:
      - The NPU, by the id that a process here sees.
    type: int
    default: 0
  listen:
    description:
      - Where to listen, so that others can link to this cluster.
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
      - Address and port of this host for the links. Needed with O(remotes), unless O(local_comm_res) is set.
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
      - The clusters to link to. They are linked 16 a call.
    type: list
    elements: dict
    default: []
    suboptions:
      cluster:
        description:
          - Id of the cluster there.
        type: int
        required: true
      ip:
        description:
          - Address of its host.
        type: str
        required: true
      port:
        description:
          - The port that it listens on.
        type: int
        required: true
  timeout_ms:
    description:
      - Milliseconds for each call. 200 or more are advised, 2000 or more where TLS is on.
    type: int
    default: 3000
  timeout:
    description:
      - Seconds for everything. A process that is not ready by then is killed.
    type: int
    default: 60
  hold:
    description:
      - Seconds after which a process of O(state=present) unlinks and ends by itself.
    type: int
    default: 3600
  state_dir:
    description:
      - Folder where O(state=present) notes its process. It is made, with mode 0700.
    type: path
    default: /var/lib/hccn.cluster/datadist
notes:
  - Proven with a stand-in for C(llm_datadist). Not run on NPUs yet.
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

- name: Does the decode side reach it
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
  description: One entry for each of O(remotes), in that order. With O(state=absent), of the links that were held.
  returned: always
  type: list
  elements: dict
  contains:
    cluster:
      description: The cluster there.
      type: int
      sample: 1
    status:
      description: V(linked), V(already_linked), which is no failure, V(unlinked) or V(failed).
      type: str
      sample: linked
    code:
      description: LLM-DataDist's status code of the link, by its name.
      type: str
      sample: LLM_SUCCESS
    explained:
      description: The code as a number and in words, with C(code), C(name), C(meaning) and C(hint).
      type: dict
      sample: {code: 0, name: LLM_SUCCESS, meaning: done}
    unlink:
      description: With O(state=probed) and O(state=absent), the code of the unlink.
      type: str
      sample: LLM_SUCCESS
process:
  description: The process that holds the links.
  returned: with O(state=present), outside check mode
  type: int
  sample: 4711
error:
  description: What failed, with C(code), C(message) and C(hint).
  returned: when LLM-DataDist could not be used
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
