#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of hccn_conf; the logic is in module_utils/_device."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hccn_conf
short_description: Set keys of hccn.conf and check the file for problems
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - C(/etc/hccn.conf) contains the settings that the driver applies to the NPUs at every boot. This module sets or removes keys of the file and reports
    the problems of the whole file.
  - The file is edited in place under C(flock), in the same way as by C(hccn_tool), so its inode does not change and containers that mount it see the
    change. All other lines are preserved byte for byte. The module makes the file end in a newline and removes NUL bytes, which an interrupted write may
    have left in it.
  - A problem has the severity V(error) if C(hccn_tool -cfg recovery), which the driver runs for every NPU at boot, fails on it. Part of the settings is then
    not applied. Everything that the recovery silently ignores, replaces or removes is a V(warning), for example the second line of a key, a gateway that
    C(udhcpc_enable) turns off, or a last line without a newline to which nothing is joined.
  - Values are judged by key and for the product of the host. C(192.168.1.0/24), for example, is refused on A2 only. An unknown host is treated as A2.
  - The devices themselves are not changed, unless O(recover=true). A change of the file alone takes effect at the next boot.
extends_documentation_fragment:
  - hccn.cluster._devices
  - hccn.cluster._devices.busy
  - hccn.cluster._devices.declared
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
      - Path of the file.
    type: path
    default: /etc/hccn.conf
    aliases: [hccn_conf]
  settings:
    description:
      - Keys without the device number, and their values, for each device of O(devices).
      - A key that may be repeated (C(arp), C(ip_rule), C(ip_route)) takes a list of values, which replaces all lines of the key.
      - With O(state=absent) the values are ignored.
    type: dict
  pending_network:
    description:
      - Settings that M(hccn.cluster.device_network) will make after this task, in the form of its option O(hccn.cluster.device_network#module:config).
      - Problems of the file that these settings will solve, such as a gateway outside the network of an address that is about to change, do not fail this
        module. Check the file again afterwards if RV(pending) is not empty.
    type: list
    elements: dict
    default: []
  state:
    description:
      - V(present) writes the keys, V(absent) removes them. Only the exact key is removed.
    type: str
    choices: [present, absent]
    default: present
  create:
    description:
      - Create an empty file with mode 0644 if it does not exist, in the same way as the installer of the driver.
    type: bool
    default: false
  recover:
    description:
      - Apply the file with C(hccn_tool -cfg recovery), as the driver does at boot, to the devices of O(devices) and O(config) that differ from it.
      - C(address), C(netmask), C(gateway), C(netdetect), C(tls_enable) and C(mtu) of the device are compared with the file. A key that is not in
        the file is not compared. Nothing is run for a device that does not differ.
      - Devices are recovered one after the other, which takes 3 to 12 seconds for each. The timeout for each is 120 seconds, or O(timeout) if that is
        longer.
      - C(hccn_tool) adds C(xsfp_reset_max_times_N) and C(xsfp_reset_wait_times_N) to the file and moves C(send_arp_*) to its end.
      - A device is not recovered if it is busy, or if the file has a problem of severity error that concerns this device or no device in particular.
    type: bool
    default: false
  fail_on:
    description:
      - With V(any) and V(all) the module fails if the file has problems of severity error that are not in RV(pending). With V(none) it does not fail for
        problems.
      - With O(recover=true), V(any) also fails if any device could not be recovered, V(all) if none could.
    default: any
notes:
  - Options O(hccn_tool) and O(allow_busy) are used with O(recover=true) only.
  - On hosts with the 950, O(recover=true) is refused, since its C(hccn_tool) has a different command line.
  - Tested against the rules found in recorded runs of the real C(hccn_tool) front end. Not tested on NPUs yet.
seealso:
  - module: hccn.cluster.device_info
  - module: hccn.cluster.device_network
"""

EXAMPLES = r"""
- name: Set the address of one NPU, and gratuitous ARP for all
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

- name: Set the MTU of all NPUs in the file, and apply it to the NPUs that have another one
  hccn.cluster.hccn_conf:
    settings:
      mtu: 4200
    recover: true

- name: Check the file for problems without changing it
  hccn.cluster.hccn_conf:
  check_mode: true
"""

RETURN = r"""
settings:
  description: All settings of the file after the change, or the predicted ones in check mode, in the order of the file.
  returned: success, or failed with problems
  type: list
  elements: dict
  sample: [{device: 0, key: address, value: 10.78.1.10}]
problems:
  description: Problems of the file, with C(rule), C(severity), C(message), C(where), and, if they apply, C(device) and C(hint).
  returned: success, or failed with problems
  type: list
  elements: dict
  sample:
    - rule: invalid_value
      severity: error
      message: "mtu_0: '9703' is not a number of 68 to 9702"
      where: line 7
      device: 0
      hint: hccn_tool -cfg recovery fails on it
pending:
  description: Those of RV(problems) that O(pending_network) will solve.
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
      description: Whether the recovery changed the device, or would change it in check mode.
      type: bool
    differences_before:
      description: Keys that differed, with C(key) and its values in C(file) and on the C(device), V(null) if it is not set or not known.
      type: list
      elements: dict
    differences_after:
      description: Keys that still differ, or would still differ in check mode.
      type: list
      elements: dict
    errors:
      description: Errors of the recovery, or the reasons why the device was not recovered, with C(code), C(message) and C(hint).
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
  returned: when the file was changed, or would be changed in check mode
  type: str
saved:
  description:
    - Where O(keep_previous=true) saves the settings. C(path) is the file with the settings, C(marker) is the file that exists while a change is unfinished.
      C(exists) and C(unfinished) are whether these two files exist now.
  returned: O(keep_previous=true)
  type: dict
  sample: {path: /etc/hccn.conf.restore.json, marker: /etc/hccn.conf.restore.unfinished, exists: true, unfinished: true}
backup_file:
  description: Path of the backup.
  returned: changed and O(backup=true)
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard
from ansible_collections.hccn.cluster.plugins.module_utils._device import declare, device_session


def argument_spec() -> dict:
    spec = device_session.options(
        "any",
        path={"type": "path", "default": "/etc/hccn.conf", "aliases": ["hccn_conf"]},
        pending_network={"type": "list", "elements": "dict", "default": []},
        state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        create={"type": "bool", "default": False},
        recover={"type": "bool", "default": False},
        allow_busy=device_session.ALLOW_BUSY, keep_previous=device_session.KEEP_PREVIOUS,
        **declare.OPTIONS
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
