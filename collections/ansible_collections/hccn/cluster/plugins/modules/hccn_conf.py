#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of hccn_conf; the logic is in module_utils/_device."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hccn_conf
short_description: Declare keys of hccn.conf and find what is wrong with the file
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - C(/etc/hccn.conf) is what the driver sets on the NPUs at every boot. This module declares keys of it and reports the problems of the whole file.
  - The file is edited in place under C(flock), as C(hccn_tool) does, so its inode stays and containers that mount it see the change.
    Lines that are not declared stay as they are, byte for byte. The file ends in a newline afterwards, and NUL bytes, which a write that was cut off
    may have left in it, are gone.
  - The devices themselves are not touched, unless O(recover=true). A change of the file alone takes effect at the next boot.
extends_documentation_fragment:
  - hccn.cluster._devices
  - hccn.cluster._devices.busy
  - hccn.cluster._devices.previous
  - hccn.cluster._attributes
  - hccn.cluster._attributes.devices_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  path:
    description:
      - The file.
    type: path
    default: /etc/hccn.conf
    aliases: [hccn_conf]
  settings:
    description:
      - Keys without the device's number, and their values, for each device of O(devices).
      - A key that may stand on several lines (C(arp), C(ip_rule), C(ip_route)) takes a list of values. The list is the whole of it.
      - With O(state=absent) the values do not matter.
    type: dict
  config:
    description:
      - Keys and values by device. They win over O(settings).
    type: list
    elements: dict
    suboptions:
      id:
        description:
          - Physical id of the device.
        type: int
        required: true
      settings:
        description:
          - As O(settings).
        type: dict
        required: true
  pending_network:
    description:
      - What M(hccn.cluster.device_network) will set after this, in the form of its option O(hccn.cluster.device_network#module:config).
      - Problems of the file that end with it, such as a gateway outside of the network of an address that is about to change, do not fail this module.
        Verify the file again afterwards where RV(pending) is not empty.
    type: list
    elements: dict
    default: []
  state:
    description:
      - V(present) writes the keys, V(absent) removes them. Only the exact key is removed.
    type: str
    choices: [present, absent]
    default: present
  backup:
    description:
      - Copy the file before it is changed.
    type: bool
    default: false
  create:
    description:
      - Make an empty file with mode 0644 when there is none, as the driver's installer does.
    type: bool
    default: false
  recover:
    description:
      - Replay the file with C(hccn_tool -cfg recovery), as the driver does at boot, on the devices of O(devices) and O(config) that differ from it.
      - C(address), C(netmask), C(gateway), C(netdetect), C(tls_enable) and C(mtu) of the device are compared with the file. A key that is not in
        the file is not compared. Where nothing differs nothing is run.
      - It takes 3 to 12 seconds for a device, one after the other. Each may take 120 seconds, or O(timeout) if that is longer.
      - C(hccn_tool) adds C(xsfp_reset_max_times_N) and C(xsfp_reset_wait_times_N) to the file and moves C(send_arp_*) to its end.
      - A device is left alone while the file has problems of severity error that are its own or of no device, and while it is at work.
    type: bool
    default: false
  fail_on:
    description:
      - V(any) and V(all) fail when problems of severity error are left in the file that are not in RV(pending), V(none) does not.
      - With O(recover=true) V(any) also fails when a device could not be recovered, V(all) when none could.
    default: any
notes:
  - Options O(hccn_tool) and O(allow_busy) are used with O(recover=true) only.
  - The NPUs of the 950 have another command line, O(recover=true) is refused there.
  - Proven against the rules seen in recorded runs of the real C(hccn_tool) front end. Not run on NPUs yet.
seealso:
  - module: hccn.cluster.device_info
  - module: hccn.cluster.device_network
"""

EXAMPLES = r"""
- name: Declare the address of one NPU, and gratuitous ARP for all
  hccn.cluster.hccn_conf:
    settings:
      send_arp_status: 1
    config:
      - id: 0
        settings:
          address: 10.78.1.10
          netmask: 255.255.255.0
          gateway: 10.78.1.1
          netdetect: 10.78.1.1

- name: Declare the mtu of all NPUs, and set it on those that have another one
  hccn.cluster.hccn_conf:
    settings:
      mtu: 4200
    recover: true

- name: Only look for problems
  hccn.cluster.hccn_conf:
  check_mode: true
"""

RETURN = r"""
settings:
  description: All settings of the file as it is now, or would be in check mode, in the order of the file.
  returned: success, or failed with problems
  type: list
  elements: dict
  sample: [{device: 0, key: address, value: 10.78.1.10}]
problems:
  description: What is wrong with the file, with C(rule), C(severity), C(message), C(where), and C(device) and C(hint) where they apply.
  returned: success, or failed with problems
  type: list
  elements: dict
  sample:
    - rule: final_newline
      severity: error
      message: "the last line has no newline: hccn_tool glues the next key to it"
      where: line 7
pending:
  description: Those of RV(problems) that end when O(pending_network) is set.
  returned: success, or failed with problems
  type: list
  elements: dict
  sample: []
recovered:
  description: One entry for each device that was compared with the file.
  returned: O(recover=true)
  type: list
  elements: dict
  contains:
    id:
      description: Physical id.
      type: int
    changed:
      description: Did the recovery change the device, or would it in check mode?
      type: bool
    differences_before:
      description: Keys that differed, with C(key) and its values in C(file) and on the C(device), V(null) where none is set or it is not known.
      type: list
      elements: dict
    differences_after:
      description: What still differs, or would in check mode.
      type: list
      elements: dict
    errors:
      description: What failed, or why the device was left alone, with C(code), C(message) and C(hint).
      type: list
      elements: dict
  sample:
    - id: 0
      changed: true
      differences_before: [{key: mtu, file: "4200", device: "1500"}]
      differences_after: []
      errors: []
previous:
  description: Text of the file before the change.
  returned: when the file was changed, or would be in check mode
  type: str
saved:
  description:
    - Where O(keep_previous=true) saves. C(path) is the file, C(marker) the one that exists while a change is unfinished, and C(exists) and C(unfinished)
      are whether the two exist now.
  returned: O(keep_previous=true)
  type: dict
  sample: {path: /etc/hccn.conf.restore.json, marker: /etc/hccn.conf.restore.unfinished, exists: true, unfinished: true}
backup_file:
  description: The copy.
  returned: changed and O(backup=true)
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard
from ansible_collections.hccn.cluster.plugins.module_utils._device import declare, session


def argument_spec() -> dict:
    spec = session.options(
        "any",
        path={"type": "path", "default": "/etc/hccn.conf", "aliases": ["hccn_conf"]},
        settings={"type": "dict"},
        config={"type": "list", "elements": "dict",
                "options": {"id": {"type": "int", "required": True}, "settings": {"type": "dict", "required": True}}},
        pending_network={"type": "list", "elements": "dict", "default": []},
        state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        backup={"type": "bool", "default": False},
        create={"type": "bool", "default": False},
        recover={"type": "bool", "default": False},
        allow_busy=session.ALLOW_BUSY, keep_previous=session.KEEP_PREVIOUS,
    )
    del spec["hccn_conf"]
    return spec


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        with Guard(written=module.params["path"]):
            result = declare.declare(module.params, module.check_mode, module.backup_local)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict())
    if not module._diff:
        result.pop("diff")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
