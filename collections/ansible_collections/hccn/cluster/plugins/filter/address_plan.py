# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter address_plan. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: address_plan
short_description: Plan and check the addresses of the NPUs of all hosts
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Assigns an address to each NPU, in the form of O(hccn.cluster.device_network#module:config), and checks the addresses of all hosts together.
  - Every host has a number. The host whose number is O(first_number) gets the first addresses of each subnet, the host with the next number gets the next
    ones, and so on. The addresses of a host therefore do not change when other hosts are added or removed, unless its number is its position in the list.
  - Addresses in O(_input[].config) take precedence. NPUs without an address there get a planned one. Without O(subnets), no addresses are planned and the
    given ones are checked.
  - The filter fails if two NPUs have the same address, two hosts of one subnet have the same number, a subnet is too small, a gateway is among the
    addresses for NPUs, an address cannot belong to a host (network, broadcast, multicast, loopback), a gateway is outside its network, or the product does
    not allow the addresses.
  - All NPUs of an A2 host must be in one subnet. The NPUs of a 910A host must be in four, with the NPUs 0 and 4, 1 and 5, 2 and 6, 3 and 7 in one subnet
    each; all of them in one subnet (AMP mode) is a warning. The two dies of an A3 NPU, such as 0 and 1, must be in different subnets.
  - Reserved networks are 192.168.1.0/24 and 192.168.2.0/24 on A2, 192.0.0.0/8 on A3 inside a super pod, and 192.168.0.0/21 on A3 outside a super pod.
requirements:
  - netaddr on the controller, if O(subnets) are given
positional: _input, subnets
options:
  _input:
    description:
      - The hosts.
    type: list
    elements: dict
    required: true
    suboptions:
      host:
        description:
          - Name of the host.
        type: str
        required: true
      devices:
        description:
          - Ids of its NPUs, or RV(hccn.cluster.device_info#module:devices) of M(hccn.cluster.device_info). The topic C(super_pod), if it was gathered,
            determines whether an A3 host is in a super pod.
        type: list
        elements: raw
      product:
        description:
          - Product, as returned by M(hccn.cluster.device_info). Without it, the rules that depend on the product are not checked.
        type: str
        choices: [910A, A2, A3, "950"]
      in_super_pod:
        description:
          - Whether the A3 host is in a super pod. If this is unknown, networks that are reserved only inside super pods cause a warning.
        type: bool
      config:
        description:
          - Settings that the inventory declares for this host. Each entry has C(id) and options of M(hccn.cluster.device_network), or C(id) and C(settings)
            of M(hccn.cluster.hccn_conf). Addresses in C(settings) are checked but not returned, since they are for the file only.
        type: list
        elements: dict
      number:
        description:
          - Number of the host. O(numbers) takes precedence.
          - The default is the number at the end of the host name (12 for C(npu12.example.com)), or else the position in the list, see O(number_by_place).
        type: int
      subnets:
        description:
          - Subnets of this host instead of O(subnets), for example those of its leaf.
        type: list
        elements: raw
  subnets:
    description:
      - Subnets such as V(10.78.0.0/16), or dictionaries with further options.
      - Unless subnets list their devices, the NPUs are assigned to them in turn, NPU 0 to the first one, NPU 1 to the second, and so on. Give one
        subnet for A2, four for 910A, two for A3, and one per NPU for a rail-optimized network.
    type: list
    elements: raw
    suboptions:
      cidr:
        description:
          - The subnet.
        type: str
        required: true
      gateway:
        description:
          - Gateway, an address of the subnet.
        type: str
      netdetect:
        description:
          - Address that the NPUs probe, the gateway by default.
        type: str
      first:
        description:
          - First address for NPUs. The default is the first one of the subnet, or the one after it if that is the gateway.
        type: str
      last:
        description:
          - Last address for NPUs. The default is the last one of the subnet, or the one before it if that is the gateway.
        type: str
      devices:
        description:
          - Ids or ranges of the NPUs in this subnet, in the order of their addresses. Either all subnets have this option or none.
        type: list
        elements: str
      rail:
        description:
          - Id of the only NPU of each host in this subnet. Same as O(subnets[].devices) with one id.
        type: int
  numbers:
    description:
      - Numbers by host name.
    type: dict
  first_number:
    description:
      - Number of the host that gets the first addresses. Use V(0) if the hosts are numbered from 0.
    type: int
    default: 1
  number_by_place:
    description:
      - Whether the position in the list is the number of a host that has no other number. With V(false), such a host gets no planned address and the
        filter fails.
      - Set it to V(false) if the list may differ between runs, for example because of C(--limit).
    type: bool
    default: true
  devices_per_host:
    description:
      - Number of NPUs for which each host gets addresses. The default is 8 for 910A and A2, and 16 for A3.
      - Ignored for subnets that list their devices.
    type: int
  ignore:
    description:
      - Rules to ignore, for networks that deviate from them on purpose.
    type: list
    elements: str
    choices: [loopback_address, reserved_network, one_subnet, four_subnets, sibling_subnet]
    default: []
  problems:
    description:
      - Return the problems instead of failing.
    type: bool
    default: false
seealso:
  - module: hccn.cluster.device_network
  - module: hccn.cluster.device_info
"""

EXAMPLES = r"""
- name: Plan the addresses of two A2 hosts
  ansible.builtin.debug:
    msg: "{{ npu_hosts | hccn.cluster.address_plan([{'cidr': '10.78.0.0/16', 'gateway': '10.78.0.1'}]) }}"
  vars:
    npu_hosts:
      - host: npu1
        product: A2
        devices: [0, 1, 2, 3, 4, 5, 6, 7]
      - host: npu2
        product: A2
        devices: [0, 1, 2, 3, 4, 5, 6, 7]
        config:
          - {id: 0, address: 10.78.3.1, netmask: 255.255.0.0}

- name: Check declared addresses without planning others
  ansible.builtin.assert:
    that: found.problems | length == 0
    fail_msg: "{{ found.problems }}"
  vars:
    found: "{{ [{'host': 'npu1', 'config': declared}] | hccn.cluster.address_plan(problems=true) }}"
    declared:
      - {id: 0, address: 10.78.3.1, netmask: 255.255.0.0}
"""

RETURN = r"""
_value:
  description:
    - A dictionary of lists by host. Each entry is an NPU with C(id), C(address), C(netmask), C(gateway) and C(netdetect) if they are set, and all other
      declared options.
    - With O(problems=true), a dictionary with C(config), which is the above, or empty if a problem has the severity C(error), and with C(problems). Each
      problem has C(rule), C(severity), C(message), and C(host), C(device), C(where) and C(hint) where they apply.
  type: dict
"""

from collections.abc import Callable, Iterable
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import as_dicts
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.address_plan import plan_addresses, refusal
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def address_plan(hosts: Any, subnets: Any = None, numbers: Any = None, first_number: int = 1, devices_per_host: int | None = None,
                 ignore: Iterable[str] = (), problems: bool = False, number_by_place: bool = True) -> dict[str, Any]:
    """See DOCUMENTATION."""
    made = plan_addresses(hosts, subnets, numbers, first_number, devices_per_host, ignore, number_by_place)
    if problems:
        return {"config": made.config, "problems": as_dicts(made.problems)}
    if made.errors:
        raise InputError(refusal(made.errors))
    return made.config


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"address_plan": address_plan})
