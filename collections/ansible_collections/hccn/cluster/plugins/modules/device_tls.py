#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of device_tls; the logic is in module_utils/_device."""

from __future__ import annotations

DOCUMENTATION = r"""
module: device_tls
short_description: Switch TLS of the NPUs of a host on or off
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Sets the TLS switch of NPUs with C(hccn_tool -tls -s enable), which also writes C(tls_enable_N) into C(hccn.conf).
  - Two NPUs whose switches differ cannot connect. HCCL reports it as EI0016 or, after its connection timeout, as EI0006.
  - Devices are set one after the other, and only where the device or C(hccn.conf) differs from what is wanted. Each is read again afterwards.
  - A device that fails does not stop the others. All results are returned.
  - A device whose certificates have expired, that has none, or that is at work is not switched on. In check mode this is found out too, where the
    switch may be queried, so a look with O(only_look=true) over all hosts before the real run keeps a cluster from ending half and half. The
    playbook C(hccn.cluster.tls) does so.
  - New connections use the new state, running jobs keep theirs (inferred from the tool's source).
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
      - Where C(hccn.conf) has no key for a device, its switch is not queried, since the query would write the key. A change is predicted then.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  state:
    description:
      - What the switch is to be. Use the same on all hosts of a cluster.
      - V(enabled) needs a certificate on the device. Certificates of all hosts must have the same CA.
    type: str
    choices: [enabled, disabled]
    required: true
  only_look:
    description:
      - Set nothing, and tell what would hinder it, such as certificates that are missing or have expired.
      - Other than in check mode, with O(state=enabled) also NPUs without a key in C(hccn.conf) are asked. The query writes the key, which is
        returned in RV(side_effects).
    type: bool
    default: false
  fail_on:
    default: any
seealso:
  - module: hccn.cluster.device_info
notes:
  - Proven on the simulator, whose answers are compared with recorded runs of the real C(hccn_tool) front end. Not run on NPUs yet.
"""

EXAMPLES = r"""
- name: Switch TLS off on all NPUs
  hccn.cluster.device_tls:
    state: disabled

- name: Switch TLS on for two NPUs, and show what would change
  hccn.cluster.device_tls:
    devices: ["0", "1"]
    state: enabled
  check_mode: true
  diff: true

- name: Can TLS be switched on here? Certificates, work and hccn.conf are looked at, nothing is set
  hccn.cluster.device_tls:
    state: enabled
    only_look: true
"""

RETURN = r"""
state:
  description: What was asked for, O(state). Hosts of one play may be asked for different ones.
  returned: always
  type: str
  sample: disabled
devices:
  description: One entry for each device, in the order asked for.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Physical id.
      type: int
    before:
      description: The switch as it was. C(enabled) is the device, C(persistent) what C(hccn.conf) makes of it at boot. V(null) is not known or not set.
      type: dict
    after:
      description: The switch as it is now, or would be in check mode and with O(only_look=true).
      type: dict
    changed:
      description: Was the device or C(hccn.conf) changed? Also V(true) when it was and something failed, or when it cannot be read any more.
      type: bool
    authorities:
      description: Subjects of the CA certificates on the device, sorted. With TLS on they must be the same on all hosts.
      type: list
      elements: str
    errors:
      description: What failed, with C(code), C(message) and C(hint).
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
  returned: O(only_look=true)
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard
from ansible_collections.hccn.cluster.plugins.module_utils._device import session, tls


def main() -> None:
    state = {"type": "str", "choices": ["enabled", "disabled"], "required": True}
    only_look = {"type": "bool", "default": False}
    spec = session.options("any", state=state, only_look=only_look, allow_busy=session.ALLOW_BUSY, keep_previous=session.KEEP_PREVIOUS)
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        with Guard(written=module.params["hccn_conf"]):
            result = tls.set_flag(module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), state=module.params["state"], devices=[])
    if not module._diff:
        result.pop("diff")
    module.exit_json(state=module.params["state"], **result)


if __name__ == "__main__":
    main()
