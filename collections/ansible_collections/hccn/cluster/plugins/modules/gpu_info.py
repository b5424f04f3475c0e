#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of gpu_info; the logic is in module_utils/_perf/nvidia_smi.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_info
short_description: Read the compute processes on the GPUs of a host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns the processes that compute on the GPUs of the host, as C(nvidia-smi) reports them. P(hccn.cluster.check_collective#role) runs it on all hosts
    before a collective of nccl-tests, so that no job is disturbed.
  - Fails if C(nvidia-smi) cannot report the processes, since a GPU whose use is unknown may be busy. A host without C(nvidia-smi) has no GPU.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  nvidia_smi:
    description:
      - Name or path of C(nvidia-smi).
    type: str
    default: nvidia-smi
seealso:
  - module: hccn.cluster.nccl_perf
  - module: hccn.cluster.device_info
"""

EXAMPLES = r"""
- name: Read the compute processes on the GPUs
  hccn.cluster.gpu_info:
  register: gpus

- name: Fail if a job uses the GPUs
  ansible.builtin.assert:
    that: gpus.gpu_processes | length == 0
"""

RETURN = r"""
gpu_processes:
  description: The processes, each with C(pid) and C(name). The list is empty for idle GPUs and for a host without GPUs.
  returned: success
  type: list
  elements: dict
  contains:
    pid:
      description: The process id.
      type: int
    name:
      description: Name of the program as C(nvidia-smi) prints it.
      type: str
  sample:
    - {pid: 4711, name: /usr/bin/python3}
error:
  description: Why the processes could not be read, with C(code), C(message) and C(hint).
  returned: failure
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard
from ansible_collections.hccn.cluster.plugins.module_utils._perf import nvidia_smi


def main() -> None:
    module = AnsibleModule(argument_spec={"nvidia_smi": {"type": "str", "default": "nvidia-smi"}}, supports_check_mode=True)
    try:
        with Guard():
            found = nvidia_smi.compute_processes(module.params["nvidia_smi"])
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict())
    module.exit_json(changed=False, gpu_processes=[{"pid": process.pid, "name": process.name} for process in found])


if __name__ == "__main__":
    main()
