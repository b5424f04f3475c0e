#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of device_tls; the logic is in module_utils/_device."""

from __future__ import annotations

DOCUMENTATION = r"""
module: device_tls
short_description: Enable or disable TLS on the NPUs of a host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Sets the TLS flag of NPUs with C(hccn_tool -tls -s enable), which also writes C(tls_enable_N) into C(hccn.conf).
  - Two NPUs with different TLS flags cannot connect. HCCL reports this as EI0016 or, after its connection timeout, as EI0006.
  - Devices are set one after the other, and only if the device or C(hccn.conf) differs from O(state). Each device is read again afterwards.
  - A device that fails does not stop the others. All results are returned.
  - TLS is not enabled on a busy device, nor on a device without certificates or with expired ones. Check mode reports this as well, as far as the flag
    may be queried. A dry run with O(validate_only=true) on all hosts before the change prevents that only a part of the cluster is changed. The playbook
    C(hccn.cluster.tls) does this.
  - New connections use the new flag, running jobs keep the old one (inferred from the tool's source code).
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
      - If C(hccn.conf) has no key for a device, its flag is not queried, since the query would write the key. A change is predicted in this case.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  state:
    description:
      - Wanted TLS flag. Use the same value on all hosts of a cluster.
      - V(enabled) requires a certificate on the device. The certificates of all hosts must have the same CA.
    type: str
    choices: [enabled, disabled]
    required: true
  validate_only:
    description:
      - Make a dry run. Nothing is set, and the errors report what would prevent the change, such as missing or expired certificates.
      - In contrast to check mode, with O(state=enabled) NPUs without a key in C(hccn.conf) are queried as well. The query writes the key, which is
        returned in RV(side_effects).
    type: bool
    default: false
  fail_on:
    default: any
seealso:
  - module: hccn.cluster.device_info
notes:
  - Tested with a simulator, whose output is compared with recorded runs of the real C(hccn_tool) front end. Not tested on NPUs yet.
"""

EXAMPLES = r"""
- name: Disable TLS on all NPUs
  hccn.cluster.device_tls:
    state: disabled

- name: Show what enabling TLS on two NPUs would change
  hccn.cluster.device_tls:
    devices: ["0", "1"]
    state: enabled
  check_mode: true
  diff: true

- name: Check certificates, busy NPUs and hccn.conf without enabling TLS
  hccn.cluster.device_tls:
    state: enabled
    validate_only: true
"""

RETURN = r"""
state:
  description: Value of O(state), which may differ between the hosts of one play.
  returned: always
  type: str
  sample: disabled
devices:
  description: One entry for each device, in the order of O(devices).
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Physical id.
      type: int
    before:
      description: Previous TLS flag, C(enabled) on the device and C(persistent) in C(hccn.conf) for the next boot. V(null) means not known or not set.
      type: dict
    after:
      description: TLS flag after the change, or the predicted one in check mode and with O(validate_only=true).
      type: dict
    changed:
      description: Whether the device or C(hccn.conf) was changed, even if something failed afterwards or the flag can no longer be read.
      type: bool
    authorities:
      description: Sorted subjects of the CA certificates on the device. If TLS is enabled they must be the same on all hosts.
      type: list
      elements: str
    errors:
      description: Errors of the device, with C(code), C(message) and C(hint).
      type: list
      elements: dict
  sample:
    - id: 0
      before: {enabled: true, persistent: true}
      after: {enabled: false, persistent: false}
      changed: true
      authorities: [/C=CN/O=Huawei/CN=Huawei IT Product CA]
      errors: []
side_effects:
  description: Keys that the queries wrote into C(hccn.conf), with C(device), C(path), C(key), C(value) and C(cause).
  returned: O(validate_only=true)
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard
from ansible_collections.hccn.cluster.plugins.module_utils._device import device_session, tls_flag


def main() -> None:
    state = {"type": "str", "choices": ["enabled", "disabled"], "required": True}
    validate_only = {"type": "bool", "default": False}
    spec = device_session.options(
        "any", state=state, validate_only=validate_only, allow_busy=device_session.ALLOW_BUSY, keep_previous=device_session.KEEP_PREVIOUS)
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        with Guard(written=module.params["hccn_conf"]):
            result = tls_flag.set_flag(device_session.start(module.params), module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), state=module.params["state"], devices=[])
    if not module._diff:
        result.pop("diff")
    module.exit_json(state=module.params["state"], **result)


if __name__ == "__main__":
    main()
