#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of device_network; the logic is in module_utils/_device."""

from __future__ import annotations

DOCUMENTATION = r"""
module: device_network
short_description: Set addresses, gateways and RoCE options of the NPUs of a host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Sets the network options of NPUs with C(hccn_tool), which changes the device at once and writes C(hccn.conf) for the next boot.
  - Only options that differ on the device or in C(hccn.conf) are set. A value that is right on the device but not in the file is set again.
  - All options are validated before anything is run, and all errors are reported at once.
  - Devices are set one after the other, in the order address, gateway, netdetect, mtu, IPv6, and the rest. If an option fails, the remaining options of
    that device are not set, and the options before it stay set. The other devices are not affected. Each device is read again afterwards, and
    RV(previous) can restore the values from before.
  - A new address removes a gateway outside its network from the device, and the gateway, routes and rules of other networks from C(hccn.conf). The removed
    settings are returned in RV(side_effects).
  - Nothing is unset. An option that is not given does not change.
extends_documentation_fragment:
  - hccn.cluster._devices
  - hccn.cluster._devices.conf
  - hccn.cluster._devices.busy
  - hccn.cluster._devices.previous
  - hccn.cluster._attributes
  - hccn.cluster._attributes.devices_group
attributes:
  check_mode:
    support: full
    details:
      - Devices are read and the changes are predicted. RV(side_effects) is empty.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  config:
    description:
      - Wanted settings of the devices. Entries for devices that are not in O(devices) are validated and then ignored.
    type: list
    elements: dict
    required: true
    suboptions:
      id:
        description:
          - Physical id of the device.
        type: int
        required: true
      address:
        description:
          - IPv4 address. Requires O(config[].netmask).
        type: str
      netmask:
        description:
          - Dotted and contiguous netmask. Requires O(config[].address).
        type: str
      gateway:
        description:
          - Default gateway, in the network of the address.
        type: str
      netdetect:
        description:
          - Address that the device probes for its health, usually the gateway.
        type: str
      mtu:
        description:
          - MTU in bytes, 1280 to 9702. C(hccn_tool) accepts 68 and more, but asks for confirmation below 1280, since IPv6 addresses would be lost.
        type: int
      ipv6_address:
        description:
          - IPv6 address. Requires O(config[].ipv6_prefix).
        type: str
      ipv6_prefix:
        description:
          - Prefix length, 0 to 128. Requires O(config[].ipv6_address).
        type: int
      ipv6_gateway:
        description:
          - IPv6 default gateway, in the network of the address.
        type: str
      ipv6_netdetect:
        description:
          - IPv6 address that the device probes.
        type: str
      roce_port:
        description:
          - UDP source port of RoCE packets, 4097 to 65535, or V(auto).
        type: str
      pfc:
        description:
          - Eight numbers, one for each priority of 0 to 7. V(1) enables priority flow control, for at most four priorities.
        type: list
        elements: int
      dscp_to_tc:
        description:
          - Traffic classes 0 to 3 by DSCP value 0 to 63, as a dictionary or as a list of dictionaries with C(dscp) and C(tc).
          - DSCP values that are not named do not change.
        type: raw
      prio_tc:
        description:
          - Eight traffic classes 0 to 3, one for each priority of 0 to 7.
        type: list
        elements: int
      shaping:
        description:
          - Bandwidth limit of the port in Mbit/s, 10000 to 200000.
        type: int
  fail_on:
    default: any
seealso:
  - module: hccn.cluster.device_info
  - module: hccn.cluster.hccn_conf
notes:
  - NPUs of the 950 are refused, since their C(hccn_tool) has a different command line.
  - Tested with a simulator, whose output is compared with recorded runs of the real C(hccn_tool) front end. Not tested on NPUs yet.
"""

EXAMPLES = r"""
- name: Set addresses and gateways of two NPUs
  hccn.cluster.device_network:
    config:
      - id: 0
        address: 10.78.1.10
        netmask: 255.255.255.0
        gateway: 10.78.1.1
        netdetect: 10.78.1.1
      - id: 1
        address: 10.78.1.11
        netmask: 255.255.255.0
        gateway: 10.78.1.1
        netdetect: 10.78.1.1
  register: network

- name: Set MTU, flow control and traffic class of RoCE traffic to match the switches
  hccn.cluster.device_network:
    config:
      - id: 0
        mtu: 4200
        pfc: [0, 0, 0, 0, 1, 0, 0, 0]
        dscp_to_tc: {33: 2}

- name: Restore the previous settings
  hccn.cluster.device_network:
    config: "{{ network.previous }}"
  when: network.previous | length > 0
"""

RETURN = r"""
devices:
  description: One entry for each device, in the order of O(config).
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Physical id.
      type: int
    before:
      description:
        - Previous values of the given options. C(persistent) contains the values of C(hccn.conf), which apply at the next boot. V(null) means not set or
          not known.
        - An address is returned with its gateway, and a gateway with its address, even if only one of them was given.
      type: dict
    after:
      description: The same options after the change, or the predicted values in check mode.
      type: dict
    changed:
      description: Whether anything was set. It is also V(true) if the device was set but C(hccn.conf) could not be written, which is an error.
      type: bool
    errors:
      description: Errors of the device, with C(topic), C(code), C(message) and C(hint).
      type: list
      elements: dict
  sample:
    - id: 0
      before: {netdetect: null, persistent: {netdetect: null}}
      after: {netdetect: 10.78.1.1, persistent: {netdetect: 10.78.1.1}}
      changed: true
      errors: []
commands:
  description: Commands that were run to set options, or would be run in check mode, as lists of arguments.
  returned: success, or failed after the options were checked
  type: list
  elements: list
  sample: [[hccn_tool, -i, "0", -netdetect, -s, address, 10.78.1.1]]
previous:
  description:
    - Value for O(config) that restores the previous settings. It does not contain options that were not set before, nor those whose old value this module
      cannot set.
  returned: success, or failed after the options were checked
  type: list
  elements: dict
  sample: [{id: 0, address: 10.78.9.10, netmask: 255.255.255.0}]
side_effects:
  description:
    - Settings that C(hccn_tool) removed from C(hccn.conf) although they were not given, with C(device), C(path), C(key), C(value) and C(cause).
  returned: success, or failed after the options were checked
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard
from ansible_collections.hccn.cluster.plugins.module_utils._device import device_session, network, network_config


def main() -> None:
    config = {"type": "list", "elements": "dict", "required": True, "options": network_config.argument_spec()}
    spec = device_session.options("any", config=config, allow_busy=device_session.ALLOW_BUSY, keep_previous=device_session.KEEP_PREVIOUS)
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        with Guard(written=module.params["hccn_conf"]):
            result = network.configure(device_session.start(module.params), module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), devices=[])
    if not module._diff:
        result.pop("diff")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
