#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of device_ping; the logic is in module_utils/_device."""

from __future__ import annotations

DOCUMENTATION = r"""
module: device_ping
short_description: Ping from the NPUs of a host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Pings addresses from NPUs with C(hccn_tool). Pings of different NPUs run at the same time, those of one NPU one after the other.
  - A busy NPU is not pinged. A few small packets do not disturb a job, so set O(allow_busy=true) to find out why a running job hangs.
extends_documentation_fragment:
  - hccn.cluster._devices
  - hccn.cluster._devices.conf
  - hccn.cluster._devices.busy
  - hccn.cluster._attributes
  - hccn.cluster._attributes.devices_group
attributes:
  check_mode:
    support: full
    details:
      - Nothing is sent. The commands are returned.
  diff_mode:
    support: N/A
    details:
      - This module does not change anything.
  idempotent:
    support: full
    details:
      - This module does not change anything.
options:
  targets:
    description:
      - Pings to send. Entries for devices that are not in O(devices) are validated and then ignored.
      - The two dies of one A3 NPU cannot ping each other.
    type: list
    elements: dict
    required: true
    suboptions:
      device:
        description:
          - Physical id of the NPU that pings.
        type: int
        required: true
      address:
        description:
          - IPv4 or IPv6 address of the other port, or the IPv4 address of its vNIC with O(method=hccs_ping).
        type: str
        required: true
      host:
        description:
          - Inventory name of the host that has the address, for the C(target) of the record.
        type: str
      target_device:
        description:
          - Physical id of the NPU that has the address, for the C(target) of the record.
        type: int
  method:
    description:
      - V(ping) uses the RoCE port.
      - V(hccs_ping) uses the inner network of an A3 super pod and requires root.
    type: str
    choices: [ping, hccs_ping]
    default: ping
  size:
    description:
      - Bytes of data in a packet, 0 to 65507, or 1792 to 3000 with O(method=hccs_ping). By default the tool chooses the size.
    type: int
  count:
    description:
      - Number of packets, 1 to 1000. Only for O(method=hccs_ping), since a plain ping always sends three packets.
    type: int
  rate:
    description:
      - Maximum number of pings that this host starts per second, 0.1 to 1000. By default as many as there are NPUs start at the same time.
    type: float
  run_id:
    description:
      - First part of the ids of the measurements. By default the current time.
    type: str
  fail_on:
    description:
      - When the module fails. All pings are tried first, and all measurements are returned in any case.
      - With V(any) the module fails if any ping failed or lost packets, with V(all) only if every ping did. With V(none) a failed ping never fails the
        module.
    default: any
seealso:
  - module: hccn.cluster.device_info
notes:
  - Option O(hccn_conf) is not used. It is accepted because all modules of the action group share it.
  - NPUs of the 950 are refused, since their C(hccn_tool) has a different command line.
  - Tested with a simulator, whose output for V(ping) is compared with recorded runs of the real C(hccn_tool) front end. The output of V(hccs_ping) is
    known from its source code. Not tested on NPUs yet.
"""

EXAMPLES = r"""
- name: Ping the NPUs of the next host
  hccn.cluster.device_ping:
    targets:
      - device: 0
        address: 10.78.2.10
      - device: 1
        address: 10.78.2.11

- name: Ping another die of the super pod over its vNIC
  hccn.cluster.device_ping:
    method: hccs_ping
    count: 20
    targets:
      - device: 0
        address: 192.2.3.199
"""

RETURN = r"""
measurements:
  description: A record of kind C(ping) for each target, in the order given. Empty in check mode.
  returned: success, or failed with pings
  type: list
  elements: dict
  contains:
    id:
      description: C(run_id/ping/device/address).
      type: str
    status:
      description: V(ok), V(failed) if packets were lost or the ping could not be sent, or V(not_run) for a busy NPU.
      type: str
    source:
      description: The C(device) that pinged.
      type: dict
    target:
      description: The C(address) that was pinged, with C(host) and C(device) if the target names them.
      type: dict
    samples:
      description:
        - One entry with C(sent), C(received), C(loss_percent) and, if packets came back, C(latency_us) with C(min), C(avg) and C(max).
        - With O(method=hccs_ping) C(latency_us) also has C(p95), and C(plane_faults) counts the packets whose L1 plane check did not return 0.
      type: list
      elements: dict
    error:
      description: Error of the ping, with C(code), C(message) and C(hint). The code of lost packets is C(packets_lost).
      type: dict
  sample:
    - schema: hccn.cluster/measurement/1
      id: 2026-01-05T10:00:00.000Z/ping/0/10.78.2.10
      kind: ping
      status: ok
      source: {device: 0}
      target: {address: 10.78.2.10}
      samples:
        - {sent: 3, received: 3, loss_percent: 0.0, latency_us: {min: 34.0, avg: 48.0, max: 70.0}}
commands:
  description: Commands of the pings that were run, or would be run in check mode, as lists of arguments.
  returned: success, or failed with pings
  type: list
  elements: list
  sample: [[hccn_tool, -i, "0", -ping, -g, address, 10.78.2.10]]
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard
from ansible_collections.hccn.cluster.plugins.module_utils._device import pings, device_session


def argument_spec() -> dict:
    target = {"device": {"type": "int", "required": True}, "address": {"type": "str", "required": True}, "host": {"type": "str"},
              "target_device": {"type": "int"}}
    return device_session.options(
        "any",
        targets={"type": "list", "elements": "dict", "required": True, "options": target},
        method={"type": "str", "choices": list(pings.METHODS), "default": "ping"},
        size={"type": "int"},
        count={"type": "int"},
        rate={"type": "float"},
        run_id={"type": "str"},
        allow_busy=device_session.ALLOW_BUSY,
    )


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        with Guard():
            result = pings.ping(module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), measurements=[])
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
