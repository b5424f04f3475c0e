#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of device_state; the logic is in module_utils/_device."""

from __future__ import annotations

DOCUMENTATION = r"""
module: device_state
short_description: Bring the NPUs of a host into their declared state and read them
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Does in one call, in this order, what M(hccn.cluster.hccn_conf), M(hccn.cluster.device_network), M(hccn.cluster.device_tls) in check mode and
    M(hccn.cluster.device_info) do. The options decide which of them run. Without options, it reads the NPUs.
  - It exists for the role P(hccn.cluster.bring_up#role) on large clusters, since every task costs time on the controller for each host.
  - If C(hccn.conf) or the network cannot be set, the module fails, and what comes after it is not done. The NPUs are not read then.
extends_documentation_fragment:
  - hccn.cluster._devices
  - hccn.cluster._devices.conf
  - hccn.cluster._devices.busy
  - hccn.cluster._devices.previous
  - hccn.cluster._devices.declared
  - hccn.cluster._devices.gather
  - hccn.cluster._attributes
  - hccn.cluster._attributes.devices_group
attributes:
  check_mode:
    support: full
    details:
      - The NPUs are read as they are. The changes are predicted.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  settings:
    description:
      - Keys and values for every device, as for M(hccn.cluster.hccn_conf). If neither this nor O(config) is given, C(hccn.conf) is neither changed nor
        checked.
    type: dict
  network:
    description:
      - Addresses and port settings, in the form of O(hccn.cluster.device_network#module:config).
    type: list
    elements: dict
    default: []
  tls_state:
    description:
      - Predict the change that M(hccn.cluster.device_tls) would make with this state. Nothing is set, and a TLS flag that could not be set does not fail this
        module.
    type: str
    choices: [enabled, disabled]
  complete:
    description:
      - Mark the change that O(keep_previous) began as complete, by removing the file with the suffix C(.restore.unfinished).
    type: bool
    default: false
  fail_on:
    description:
      - When a device that could not be read fails the module. By default it fails only if C(hccn_tool) is missing (C(tool_missing)) or O(devices) names NPUs
        that the host does not have (C(no_such_device)).
      - With V(any) the module fails if any device could not be read, with V(all) only if none could. With V(none) it never fails for a device that could
        not be read.
seealso:
  - module: hccn.cluster.hccn_conf
  - module: hccn.cluster.device_network
  - module: hccn.cluster.device_tls
  - module: hccn.cluster.device_info
notes:
  - NPUs of the 950 are refused with O(network), since their C(hccn_tool) has a different command line.
  - Tested with a simulator, whose output is compared with recorded runs of the real C(hccn_tool) front end. Not tested on NPUs yet.
"""

EXAMPLES = r"""
- name: Set a key of hccn.conf and an address, and read all NPUs
  hccn.cluster.device_state:
    settings:
      send_arp_status: 1
    network:
      - id: 0
        address: 10.78.1.10
        netmask: 255.255.255.0
  register: npus

- name: Show the NPUs whose link is down
  ansible.builtin.debug:
    msg: "{{ npus.devices | selectattr('link', 'equalto', 'down') | map(attribute='id') | list }}"
"""

RETURN = r"""
devices:
  description:
    - The devices, as M(hccn.cluster.device_info) returns them. The module also returns the other values of M(hccn.cluster.device_info).
    - Empty if C(hccn.conf) or the network could not be set.
  returned: always
  type: list
  elements: dict
  sample: [{id: 0, address: 10.78.1.10, netmask: 255.255.255.0, link: up, errors: []}]
hccn_conf:
  description:
    - Values of M(hccn.cluster.hccn_conf). With O(network), C(problems) are those after the network was set.
    - If it failed, C(msg) is the reason.
  returned: O(settings) or O(config) is given
  type: dict
  sample: {changed: false, problems: [], pending: [], settings: [{device: 0, key: address, value: 10.78.1.10}]}
network:
  description: Values of M(hccn.cluster.device_network). If it failed, C(msg) is the reason.
  returned: O(network) is not empty, and C(hccn.conf) could be set
  type: dict
  sample: {changed: false, commands: [], previous: [], side_effects: [], devices: []}
tls:
  description: Values of M(hccn.cluster.device_tls) in check mode, which are no change of this module. If the flag cannot be set, C(msg) is the reason.
  returned: O(tls_state) is given, and C(hccn.conf) and the network could be set
  type: dict
  sample: {state: disabled, changed: false, devices: [{id: 0, changed: false, errors: []}]}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard
from ansible_collections.hccn.cluster.plugins.module_utils._device import declare, device_session, info, network_config, state


def argument_spec() -> dict:
    return device_session.options(
        None,
        network={"type": "list", "elements": "dict", "default": []},
        tls_state={"type": "str", "choices": ["enabled", "disabled"]},
        complete={"type": "bool", "default": False},
        allow_busy=device_session.ALLOW_BUSY, keep_previous=device_session.KEEP_PREVIOUS,
        **dict(declare.OPTIONS, **info.OPTIONS)
    )


def network_of(entries: list) -> list:
    """Return the entries of ``network``, converted as device_network converts them. Raises InputError."""
    spec = {"network": {"type": "list", "elements": "dict", "options": network_config.argument_spec()}}
    found = ArgumentSpecValidator(spec).validate({"network": entries})
    if found.error_messages:
        raise InputError("network: %s" % "; ".join(found.error_messages))
    return [{option: value for option, value in entry.items() if value is not None} for entry in found.validated_parameters["network"]]


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        params = dict(module.params, network=network_of(module.params["network"]))
        with Guard(written=params["hccn_conf"]):
            result = state.bring(params, module.check_mode, module.backup_local)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), devices=[])
    if not module._diff:
        result.pop("diff")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
