#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of perf_tools_info; the logic is in module_utils/_perf/preflight.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: perf_tools_info
short_description: Check whether a host has the tools for measurements, and name the packages of missing tools
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Searches for perftest, iperf3, MPI launchers and the drivers of libibverbs. Returns their versions, missing tools, and the command that installs them with
    the package manager of the host (apt-get, dnf or yum). Nothing is installed.
  - For each of O(addresses), the module also checks the preconditions of a measurement. For perftest these are an RDMA device with a RoCE v2 GID of the
    address, its port, its device file, and the limit of locked memory.
  - C(hccn_tool) and C(npu-smi), which are part of the Ascend driver, are not among these tools. M(hccn.cluster.device_info) searches for them.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  tools:
    description:
      - The tools to search for.
      - V(perftest) are the programs C(ib_write_bw), C(ib_read_bw), C(ib_send_bw) and those for latency. V(mpich) and V(openmpi) are identified by
        C(mpirun --version), in C(PATH) and in the folders of packages and of the manual of hccl_test. V(rdma) are the drivers of libibverbs.
    type: list
    elements: str
    choices: [perftest, iperf3, mpich, openmpi, rdma]
    default: [perftest, iperf3]
  packages:
    description:
      - Lists of package names by tool, for packages whose names differ from those of the distribution.
    type: dict
    default: {}
  addresses:
    description:
      - Addresses of this host for measurements, in the order of the rails.
    type: list
    elements: str
    default: []
  rdma_device:
    description:
      - RDMA device that perftest will use for O(addresses). By default the device that has the address.
    type: str
  rdma_port:
    description:
      - Port of the RDMA device that perftest will use. By default the port that has the address.
    type: int
    choices: [1, 2]
  gid_index:
    description:
      - Index of the GID that perftest will use. By default the RoCE v2 GID of the address.
    type: int
  root:
    description:
      - Folder that contains C(sys), C(proc), C(dev) and C(etc), such as C(/host) in a container into which those of the host are mounted.
    type: path
    default: /
  fail_on:
    description:
      - Severity of problems from which on the module fails. A missing tool has the severity V(error). All values are returned in any case.
    type: str
    choices: [error, warning, never]
    default: never
seealso:
  - module: hccn.cluster.rdma_info
  - module: hccn.cluster.rdma_perf
  - module: hccn.cluster.nccl_perf
"""

EXAMPLES = r"""
- name: Find hosts without perftest
  hccn.cluster.perf_tools_info:
    tools: [perftest, rdma]
  register: tools

- name: Show the command that installs it
  ansible.builtin.debug:
    msg: "{{ inventory_hostname }}: {{ tools.command | join(' ') }}"
  when: tools.missing | length > 0

- name: Fail if iperf3 is missing
  hccn.cluster.perf_tools_info:
    tools: [iperf3]
    fail_on: error

- name: Check whether perftest can measure with these addresses
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
      description: Whether all parts of the tool are installed.
      type: bool
    path:
      description: Path of the tool, V(null) if no part of it was found.
      type: str
    version:
      description: Version as reported by the tool, V(null) if it does not report one.
      type: str
    lacks:
      description: Missing parts of the tool.
      type: list
      elements: str
  sample:
    - {name: perftest, found: true, path: /usr/bin/ib_write_bw, version: "6.24", lacks: []}
    - {name: iperf3, found: false, path: null, version: null, lacks: [iperf3]}
missing:
  description: Those of O(tools) that are missing.
  returned: always
  type: list
  elements: str
  sample: [iperf3]
packages:
  description: The packages of the missing tools.
  returned: always
  type: list
  elements: str
  sample: [iperf3]
package_manager:
  description: The package manager of the host as named by Ansible, V(apt), V(dnf) or V(yum), V(null) if it has none of these.
  returned: always
  type: str
  sample: dnf
command:
  description: The command that installs RV(packages), empty if no tool is missing or the package manager is unknown.
  returned: always
  type: list
  elements: str
  sample: [dnf, install, --assumeyes, iperf3]
distribution:
  description: C(id), C(version) and C(name) from the os-release of the host.
  returned: always
  type: dict
  sample: {id: openEuler, version: "24.03", name: openEuler 24.03 (LTS)}
devices:
  description:
    - One entry for each of O(addresses), in the form of the NPUs of M(hccn.cluster.device_info), with C(id) (the index in the list), C(address)
      and C(errors).
    - With V(perftest) in O(tools), C(rdma) is the port with this address, with C(device), C(port), C(netdev), C(rate_gbit_s), C(netdev_mtu), C(active_mtu),
      C(gid_type), C(driver) and C(firmware), see M(hccn.cluster.rdma_info). It is absent if no port has the address.
    - Each of C(errors) has C(topic), C(code) and C(message). The codes are C(tool_missing), C(no_rdma_device), C(no_rdma_port), C(no_gid),
        C(gid_ambiguous), C(port_ambiguous), C(port_down), C(verbs_missing) and C(memlock).
  returned: always
  type: list
  elements: dict
  sample:
    - {id: 0, address: 10.0.0.11, errors: []}
problems:
  description: Missing tools, each with C(rule) (C(tool_missing)), C(severity), C(message), C(where) (the tool) and C(hint) (the command).
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
            "rdma_device": {"type": "str"},
            "rdma_port": {"type": "int", "choices": [1, 2]},
            "gid_index": {"type": "int"},
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
