# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell of the filter address_plan; the logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: address_plan
short_description: Plan and check the addresses of the NPUs of all hosts
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Gives each NPU an address, as option O(hccn.cluster.device_network#module:config) takes it, and checks all addresses of all hosts together.
  - A host has a number of its own. The host with O(first_number) has the first addresses of each subnet, the next number the next ones. So the
    addresses of a host do not change when other hosts come or go, unless it has no number but the place where it stands.
  - What was written by hand wins. NPUs that have no address there get a planned one. Without O(subnets) nothing is planned and all is checked.
  - Refused are the same address on two NPUs, a number that two hosts of one subnet have, a subnet that is too small, a gateway among the addresses
    for NPUs, addresses that are none of a host (of a network, broadcast, multicast, loopback), a gateway outside its network, and what the product
    does not allow.
  - All NPUs of an A2 host are in one subnet. Those of a 910A host are in four, the NPUs 0 and 4, 1 and 5, 2 and 6, 3 and 7 in one each, or all in one
    in AMP mode, which is a warning. The two dies of an A3 NPU, such as 0 and 1, are in different subnets.
  - Reserved are 192.168.1.0/24 and 192.168.2.0/24 on A2, 192.0.0.0/8 on A3 inside a super pod, 192.168.0.0/21 on A3 outside one.
requirements:
  - netaddr on the controller, where O(subnets) are given
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
          - Ids of its NPUs, or what M(hccn.cluster.device_info) returned in RV(hccn.cluster.device_info#module:devices). Their topic C(super_pod),
            if read, tells whether an A3 host is in a super pod.
        type: list
        elements: raw
      product:
        description:
          - Product, as M(hccn.cluster.device_info) returns it. Without it, the rules of products are not held.
        type: str
        choices: [910A, A2, A3, "950"]
      in_super_pod:
        description:
          - Is the A3 host in a super pod? Where this is not known, networks that are reserved only there are a warning.
        type: bool
      config:
        description:
          - What was written by hand for this host. Entries with C(id) and the options of M(hccn.cluster.device_network), or with C(id) and C(settings)
            as M(hccn.cluster.hccn_conf) takes them. The addresses of the latter are checked, but not returned, since they are meant for the file only.
        type: list
        elements: dict
      number:
        description:
          - Number of the host. O(numbers) wins over it.
          - Without any, it is made of the digits at the end of the name (of C(npu12.example.com) it is 12), else it is the place in the list,
            see O(number_by_place).
        type: int
      subnets:
        description:
          - Subnets of this host instead of O(subnets), for example those of its leaf.
        type: list
        elements: raw
  subnets:
    description:
      - Subnets such as V(10.78.0.0/16), or dictionaries that tell more of them.
      - Where they do not name their devices, NPU 0 is in the first one, NPU 1 in the second, and so on in turn. So one is right for A2, four are for 910A,
        two for A3, and as many as there are NPUs for a network of rails.
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
          - First address for NPUs. By default the first one of the subnet, or the one after it where that is the gateway.
        type: str
      last:
        description:
          - Last address for NPUs. By default the last one of the subnet, or the one before it where that is the gateway.
        type: str
      devices:
        description:
          - Ids or ranges of the NPUs that are in this subnet, in the order of their addresses. All subnets name them, or none.
        type: list
        elements: str
      rail:
        description:
          - Id of the one NPU of each host that is in this subnet. Short for O(subnets[].devices) with one id.
        type: int
  numbers:
    description:
      - Numbers by name of the host.
    type: dict
  first_number:
    description:
      - Number of the host that has the first addresses. V(0) for hosts that are counted from 0.
    type: int
    default: 1
  number_by_place:
    description:
      - Whether a host without any other number has that of its place in the list. Otherwise it gets no planned address, which is refused.
      - Set it to V(false) where the list is that of one run, which other runs may not have.
    type: bool
    default: true
  devices_per_host:
    description:
      - How many NPUs each host is planned to have. By default 8 for 910A and A2, and 16 for A3.
      - Not used for subnets that name their devices.
    type: int
  ignore:
    description:
      - Rules that do not count, for networks that are built otherwise on purpose.
    type: list
    elements: str
    choices: [loopback_address, reserved_network, one_subnet, four_subnets, sibling_subnet]
    default: []
  problems:
    description:
      - Return what is wrong instead of failing on it.
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

- name: Only check what was written by hand
  ansible.builtin.assert:
    that: found.problems | length == 0
    fail_msg: "{{ found.problems }}"
  vars:
    found: "{{ [{'host': 'npu1', 'config': by_hand}] | hccn.cluster.address_plan(problems=true) }}"
    by_hand:
      - {id: 0, address: 10.78.3.1, netmask: 255.255.0.0}
"""

RETURN = r"""
_value:
  description:
    - A dictionary. Its keys are the hosts, its values lists with an entry for each NPU, with C(id), C(address), C(netmask), and C(gateway) and
      C(netdetect) where there are any, and with whatever else was written by hand.
    - With O(problems=true) a dictionary with this as C(config), which is empty where a problem of severity C(error) is left, and with C(problems), each
      with C(rule), C(severity), C(message), and C(host), C(device), C(where) and C(hint) where they apply.
  type: dict
"""

from collections.abc import Callable, Iterable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import as_dicts
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.address_plan import plan_addresses, refusal
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def address_plan(hosts: Any, subnets: Any = None, numbers: Any = None, first_number: int = 1, devices_per_host: int | None = None,
                 ignore: Iterable[str] = (), problems: bool = False, number_by_place: bool = True) -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        made = plan_addresses(hosts, subnets, numbers, first_number, devices_per_host, ignore, number_by_place)
    except InputError as error:
        raise AnsibleFilterError(f"address_plan: {error.sentence()}") from None
    if problems:
        return {"config": made.config, "problems": as_dicts(made.problems)}
    if made.errors:
        raise AnsibleFilterError(f"address_plan: {refusal(made.errors)}")
    return made.config


class FilterModule:
    """Ansible's filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return guard.filters({"address_plan": address_plan})
