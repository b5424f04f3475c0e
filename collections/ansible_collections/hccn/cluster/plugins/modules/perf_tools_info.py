#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of perf_tools_info; the logic is in module_utils/_perf/preflight.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: perf_tools_info
short_description: Look whether a host has the tools that measurements need, and name the packages that bring them
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Looks for perftest, iperf3, MPI launchers and the drivers of libibverbs. Tells their versions, what is missing, and the command that installs it by
    the host's own package manager (apt-get, dnf or yum). Nothing is installed.
  - Given addresses it also tells for each of them whether a measurement there can go well. For perftest that is an RDMA device with a RoCE v2 GID of the
    address, its port, its device file, and memory that may be locked.
  - C(hccn_tool) and C(npu-smi), which come with the Ascend driver, are not among these tools. M(hccn.cluster.device_info) looks for them.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  tools:
    description:
      - What to look for.
      - V(perftest) are the programs C(ib_write_bw), C(ib_read_bw), C(ib_send_bw) and those for latency. V(mpich) and V(openmpi) are found by what their
        C(mpirun) says of itself, in C(PATH) and where packages and hccl_test's manual put them. V(rdma) are the drivers of libibverbs.
    type: list
    elements: str
    choices: [perftest, iperf3, mpich, openmpi, rdma]
    default: [perftest, iperf3]
  packages:
    description:
      - Names of packages by tool, a list each, where the site's are not those of the distribution.
    type: dict
    default: {}
  addresses:
    description:
      - Addresses of this host between which is to be measured, in the order of the rails.
    type: list
    elements: str
    default: []
  root:
    description:
      - Folder below which C(sys), C(proc), C(dev) and C(etc) are read, such as C(/host) in a container that sees the host's there.
    type: path
    default: /
  fail_on:
    description:
      - Whether the module fails where a tool is missing. All is returned in any case.
    type: str
    choices: [error, warning, never]
    default: never
seealso:
  - module: hccn.cluster.rdma_info
  - module: hccn.cluster.rdma_perf
  - module: hccn.cluster.nccl_perf
"""

EXAMPLES = r"""
- name: Which hosts lack perftest, and how do they get it?
  hccn.cluster.perf_tools_info:
    tools: [perftest, rdma]
  register: tools

- name: Say so
  ansible.builtin.debug:
    msg: "{{ inventory_hostname }}: {{ tools.command | join(' ') }}"
  when: tools.missing | length > 0

- name: Stop where iperf3 is missing
  hccn.cluster.perf_tools_info:
    tools: [iperf3]
    fail_on: error

- name: Can perftest measure between these addresses?
  hccn.cluster.perf_tools_info:
    tools: [perftest]
    addresses: [10.0.0.11, 10.0.1.11]
"""

RETURN = r"""
tools:
  description: One entry for each of O(tools), in their order.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: The tool.
      type: str
    found:
      description: Whether all of it is there.
      type: bool
    path:
      description: Where it is, null where nothing of it was found.
      type: str
    version:
      description: What it calls itself, null where it does not say.
      type: str
    lacks:
      description: What of it is not there.
      type: list
      elements: str
  sample:
    - {name: perftest, found: true, path: /usr/bin/ib_write_bw, version: "6.24", lacks: []}
    - {name: iperf3, found: false, path: null, version: null, lacks: [iperf3]}
missing:
  description: Those of O(tools) that are not there.
  returned: always
  type: list
  elements: str
  sample: [iperf3]
packages:
  description: The packages that bring them.
  returned: always
  type: list
  elements: str
  sample: [iperf3]
package_manager:
  description: The host's, as Ansible names it, V(apt), V(dnf) or V(yum). Null where it has none of these.
  returned: always
  type: str
  sample: dnf
command:
  description: The command that installs RV(packages), empty where nothing is missing or the package manager is not known.
  returned: always
  type: list
  elements: str
  sample: [dnf, install, --assumeyes, iperf3]
distribution:
  description: C(id), C(version) and C(name) of the host's os-release.
  returned: always
  type: dict
  sample: {id: openEuler, version: "24.03", name: openEuler 24.03 (LTS)}
devices:
  description:
    - One entry for each of O(addresses), in the form in which M(hccn.cluster.device_info) returns NPUs, with C(id) (the place in the list), C(address)
      and C(errors).
    - Each of C(errors) has C(topic), C(code) and C(message). The codes are C(tool_missing), C(no_rdma_device), C(no_gid), C(gid_ambiguous),
      C(port_down), C(verbs_missing) and C(memlock).
  returned: always
  type: list
  elements: dict
  sample:
    - {id: 0, address: 10.0.0.11, errors: []}
problems:
  description: What is missing, each with C(rule) (C(tool_missing)), C(severity), C(message), C(where) (the tool) and C(hint) (the command).
  returned: always
  type: list
  elements: dict
  sample:
    - {rule: tool_missing, severity: error, message: iperf3 is not installed, where: iperf3, hint: dnf install --assumeyes iperf3}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import packages, preflight


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "tools": {"type": "list", "elements": "str", "choices": list(packages.TOOLS), "default": [packages.PERFTEST, packages.IPERF3]},
            "packages": {"type": "dict", "default": {}},
            "addresses": {"type": "list", "elements": "str", "default": []},
            "root": {"type": "path", "default": "/"},
            "fail_on": {"type": "str", "choices": ["error", "warning", "never"], "default": "never"},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**preflight.probe(module.params))
    except InputError as error:
        module.fail_json(msg=error.sentence())


if __name__ == "__main__":
    main()
