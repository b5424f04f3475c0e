#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of rdma_info; the logic is in module_utils/_device/rdma_checks.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_info
short_description: Read the RDMA devices of a host and problems that prevent their use
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads the RDMA devices of the host (network adapters, software RoCE) and their ports from C(/sys/class/infiniband). No tool is needed.
  - Returns the GIDs of each port with their type and IP address. Do not store the index of a GID, since it changes when addresses or VLANs are added or
    removed.
  - Reports missing preconditions, such as a driver, a device file, the link, an IP address or the limit of locked memory.
  - The RoCE ports of NPUs are not among these devices. M(hccn.cluster.device_info) reads them.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  rdma_device:
    description:
      - Return and check only this RDMA device, such as V(mlx5_0). By default all devices.
    type: str
  rdma_port:
    description:
      - Return and check only the ports with this number. By default all ports.
    type: int
    choices: [1, 2]
  root:
    description:
      - Folder that contains C(sys), C(proc) and C(dev), such as C(/host) in a container into which those of the host are mounted.
    type: path
    default: /
  fail_on:
    description:
      - Severity of problems from which on the module fails. All problems are returned in any case.
    type: str
    choices: [error, warning, never]
    default: never
seealso:
  - module: hccn.cluster.device_info
  - module: hccn.cluster.rdma_perf
"""

EXAMPLES = r"""
- name: Read the RDMA devices
  hccn.cluster.rdma_info:
  register: rdma

- name: Show the GID index of each RoCE v2 address
  ansible.builtin.debug:
    msg: "{{ item.0.device }} port {{ item.0.port }}: {{ item.1.address }} is GID {{ item.1.index }}"
  loop: "{{ rdma.rdma_devices | subelements('gids') }}"
  loop_control:
    label: "{{ item.0.device }} {{ item.1.gid }}"
  when: item.1.type == 'RoCE v2' and item.1.address is not none

- name: Fail if the second port of a card cannot be used
  hccn.cluster.rdma_info:
    rdma_device: mlx5_0
    rdma_port: 2
    fail_on: warning

- name: Fail if RDMA cannot work
  hccn.cluster.rdma_info:
    fail_on: error
"""

RETURN = r"""
rdma_devices:
  description:
    - One entry for each port of each RDMA device, sorted by name. Values that the kernel does not provide are V(null).
  returned: success
  type: list
  elements: dict
  contains:
    device:
      description: Name of the RDMA device, as for C(ib_write_bw -d).
      type: str
    port:
      description: Number of the port, starting at 1.
      type: int
    netdev:
      description: Network device of the port.
      type: str
    state:
      description: State of the port as named by the kernel. It must be V(ACTIVE).
      type: str
    physical_state:
      description: State of the link as named by the kernel.
      type: str
    rate:
      description: Rate of the port as the kernel prints it.
      type: str
    rate_gbit_s:
      description: Rate of the port in Gbit/s. Software RoCE always reports V(2.5).
      type: float
    link_layer:
      description: V(Ethernet) or V(InfiniBand).
      type: str
    gids:
      description:
        - The GIDs in use, each with C(index), C(gid), C(type) (C(RoCE v2) or C(IB/RoCE v1)), C(address) and C(netdev). A VLAN has its own C(netdev).
        - C(address) is the IP address of the GID, V(null) for link-local GIDs and on InfiniBand.
      type: list
      elements: dict
    driver:
      description: Driver of the adapter, V(null) for software RoCE.
      type: str
    firmware:
      description: Version of the firmware of the adapter.
      type: str
    pci_address:
      description: PCI address of the adapter.
      type: str
    numa_node:
      description: NUMA node of the adapter.
      type: int
    verbs:
      description: Device file of libibverbs.
      type: str
    netdev_mtu:
      description: MTU of the network device in bytes.
      type: int
    active_mtu:
      description:
        - Largest path MTU that RoCE can use with RV(rdma_devices[].netdev_mtu), such as V(4096) for 9000 and V(1024) for 1500. C(ibv_devinfo) shows it as
          C(active_mtu).
        - V(null) on InfiniBand, where the kernel does not provide it as a file.
      type: int
  sample:
    - device: mlx5_0
      port: 1
      netdev: ens4f0
      state: ACTIVE
      physical_state: LinkUp
      rate: 200 Gb/sec (4X HDR)
      rate_gbit_s: 200.0
      link_layer: Ethernet
      gids:
        - {index: 3, gid: "0000:0000:0000:0000:0000:ffff:0a00:000b", type: RoCE v2, address: 10.0.0.11, netdev: ens4f0}
      driver: mlx5_core
      firmware: 28.39.2048
      pci_address: "0000:4b:00.0"
      numa_node: 0
      verbs: /dev/infiniband/uverbs0
memlock:
  description:
    - The limit of locked memory of a process of this user, C(limit_bytes), which is V(null) if unlimited. With C(enforced=false), the limit does not apply,
      as for root.
    - V(null) if C(proc) does not contain the limit.
  returned: success
  type: dict
  sample: {limit_bytes: 65536, enforced: true}
problems:
  description:
    - The problems, each with C(rule), C(severity), C(message), C(where) and C(hint).
    - The rules are C(driver_missing), C(no_rdma_device), C(no_rdma_port), C(verbs_missing), C(port_down), C(no_gid) and C(memlock).
  returned: success
  type: list
  elements: dict
  sample:
    - rule: port_down
      severity: warning
      message: mlx5_1 port 1 is DOWN (Disabled)
      where: mlx5_1 port 1
      hint: check cable, optical module and switch port; is ens4f1 up?
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._device import rdma_checks


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "rdma_device": {"type": "str"},
            "rdma_port": {"type": "int", "choices": [1, 2]},
            "root": {"type": "path", "default": "/"},
            "fail_on": {"type": "str", "choices": ["error", "warning", "never"], "default": "never"},
        },
        supports_check_mode=True,
    )
    module.exit_json(**rdma_checks.probe(module.params))


if __name__ == "__main__":
    main()
