#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of device_info; the logic is in module_utils/_device."""

from __future__ import annotations

DOCUMENTATION = r"""
module: device_info
short_description: Read the NPUs of a host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads all NPUs of a host in one call with C(hccn_tool). Devices are read in parallel, TLS queries one after the other.
  - A query of the TLS switch may itself write C(tls_enable_N) into C(hccn.conf) when the key is missing there. It is left out in check mode
    then, and where the file has no final newline. Outside check mode what it wrote is returned in RV(side_effects).
extends_documentation_fragment:
  - hccn.cluster._devices
  - hccn.cluster._devices.conf
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
  - hccn.cluster._attributes.devices_group
options:
  gather:
    description:
      - What to read. Each topic but V(tls) and V(address) is the return key of the same name in RV(devices).
      - V(counters) are the packet counters of C(-stat -g), V(link_changes) the history of the link, V(lldp) what the switch tells of itself.
      - The tool of the 950 tells V(health), V(counters), V(link_changes) and V(speed) by port, see RV(devices[].ports). Of the others it is asked
        V(link) only, and the rest stand in RV(devices[].unread).
    type: list
    elements: str
    choices: [address, gateway, netdetect, tls, link, health, lldp, optical, counters, link_changes, mac, mtu, speed, vnic, processes, versions, super_pod]
    default: [address, gateway, netdetect, tls, link, health]
  fail_on:
    description:
      - When the module fails, after all devices were tried. The results of all devices are returned in any case.
      - When it is not given, the module fails only where C(hccn_tool) is missing (C(tool_missing)) or O(devices) names NPUs that the host does not have
        (C(no_such_device)).
      - V(any) when a device failed, V(all) when every device failed, V(none) never for a device's sake.
seealso:
  - module: hccn.cluster.device_tls
  - module: hccn.cluster.hccn_conf
notes:
  - Proven on the simulator, whose answers are compared with recorded runs of the real C(hccn_tool) front end. Not run on NPUs yet.
  - What is read from the 950 is known from the examples in its manual only.
"""

EXAMPLES = r"""
- name: Read all NPUs of the host
  hccn.cluster.device_info:
  register: npus

- name: Read links only, of four NPUs, and fail when one cannot be read
  hccn.cluster.device_info:
    devices: [0-3]
    gather: [link]
    fail_on: any
"""

RETURN = r"""
devices:
  description: One entry for each device, in the order asked for.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Physical id.
      type: int
    address:
      description: IPv4 address of the NPU's port, V(null) when none is set.
      type: str
    netmask:
      description: Dotted netmask.
      type: str
    gateway:
      description: Default gateway, V(null) when none is set.
      type: str
    netdetect:
      description: Address that the device probes for its health, V(null) when none is set.
      type: str
    link:
      description: V(up) or V(down). On the 950 also V(partial), when some ports or lanes are down, and V(unknown).
      type: str
    ports:
      description:
        - The ports of an NPU of the 950, with C(udie), C(port), C(link), C(type) and C(media), and the topics that are told by port.
        - C(speed) has C(mbit_s), C(lanes), C(lanes_capable) and C(status). C(health) is what the C(link) and the C(physical) layer tell of themselves.
        - Ports of which only V(link) was asked have C(port) and C(link).
      returned: on hosts with the 950
      type: list
      elements: dict
      sample:
        - {udie: 0, port: 4, link: up, type: UB, media: Electrical, speed: {mbit_s: 400000, lanes: X4, lanes_capable: X4, status: normal}}
    unread:
      description: Topics asked for that are not read from the tool of the 950. Their keys are V(null).
      returned: on hosts with the 950
      type: list
      elements: str
    health:
      description:
        - Result of the device's own probing of RV(devices[].netdetect).
        - One of V(success), V(socket_fail), V(receive_timeout), V(unreachable), V(time_exceeded), V(fault), V(init), V(thread_error),
          V(detect_ip_set), V(unknown).
      type: str
    tls:
      description: TLS switch and certificates.
      type: dict
      contains:
        enabled:
          description: The switch, V(null) when it could not be read.
          type: bool
        reason:
          description: Why RV(devices[].tls.enabled) is V(null), for example V(would_write), V(no_final_newline) or V(nul_bytes).
          type: str
        preset_certificate:
          description: Is the factory's certificate loaded? V(null) for tools that do not tell.
          type: bool
        alarm_days:
          description: Days before the end of a certificate at which it counts as near expiration.
          type: int
        certificates:
          description: The loaded certificates.
          type: list
          elements: dict
          contains:
            name:
              description: V(pub cert), V(ca1 cert), and so on.
              type: str
            subject:
              description: Subject, V(null) for tools that do not tell.
              type: str
            issuer:
              description: Issuer.
              type: str
            start_time:
              description: As the tool prints it.
              type: str
            end_time:
              description: As the tool prints it.
              type: str
            expiration:
              description: V(normal), V(near_expiration), V(expired) or V(unknown).
              type: str
    lldp:
      description:
        - The neighbour as it tells by LLDP, with C(system_name), C(port), C(chassis), C(management_address) and C(system_description).
        - It is text from outside.
      type: dict
    optical:
      description: The optical module, keys in snake case with their unit such as C(tx_power0_mw). V(null) where the module does not tell.
      type: dict
    counters:
      description: Packet counters by the tool's names. C(roce_new_pkt_rty_num) counts retransmissions.
      type: dict
    link_changes:
      description: C(ups), C(downs) (V(null) for older tools) and C(records), each a time as printed and V(up) or V(down), newest first.
      type: dict
    mac:
      description: MAC address.
      type: str
    mtu:
      description: Bytes.
      type: int
    speed:
      description: Mbit/s, V(null) when the tool does not know.
      type: int
    vnic:
      description: Port of the super pod's inner network, with C(link), C(address) and C(netmask).
      type: dict
    processes:
      description: Processes on the device as C(npu-smi) shows them, with C(pid), C(name) (empty for some containers) and C(memory_mb).
      type: list
      elements: dict
    versions:
      description: C(driver) and C(firmware), as C(npu-smi info -t board) prints them.
      type: dict
    serial:
      description:
        - Serial number of the NPU's board, read with the topic V(versions). V(null) where C(npu-smi info -t board) prints none.
        - The two dies of one A3 NPU have the same.
      type: str
      returned: with O(gather) of V(versions)
      sample: "1023A2600417"
    super_pod:
      description: C(sdid), C(super_pod_size), C(super_pod_id) and C(server_index) of an A3 die, V(null) outside super pods.
      type: dict
    conf:
      description:
        - What C(hccn.conf) says of the device, which is what the driver sets at the next boot. Only keys that the file has for the device are there.
        - V(null) where the file does not exist or cannot be read, and on hosts with the 950.
      type: dict
      returned: with O(gather) of V(address), V(gateway), V(netdetect), V(mtu) or V(tls)
      contains:
        address:
          description: IPv4 address.
          type: str
        netmask:
          description: Dotted netmask.
          type: str
        gateway:
          description: Default gateway.
          type: str
        netdetect:
          description: Address that the device probes for its health, V(null) for the one that stands for none.
          type: str
        mtu:
          description: Bytes. A text that is no number stays a text.
          type: int
        tls_enabled:
          description: The TLS switch, V(null) for a value that is neither 0 nor 1.
          type: bool
    errors:
      description:
        - What could not be read, with C(topic), C(code), C(message) and C(hint).
        - A device that the host does not have has C(no_such_device), without a topic, and none of the other keys.
      type: list
      elements: dict
  sample:
    - id: 0
      address: 10.78.1.10
      netmask: 255.255.255.0
      gateway: 10.78.1.1
      netdetect: 10.78.1.1
      link: up
      health: success
      tls: {enabled: false, preset_certificate: true, alarm_days: 60, certificates: []}
      conf: {address: 10.78.1.10, netmask: 255.255.255.0, gateway: 10.78.1.1, netdetect: 10.78.1.1, tls_enabled: false}
      errors: []
product:
  description: V(910A), V(A2), V(A3) or V(950), V(null) when only device files told which NPUs there are.
  returned: always
  type: str
dialect:
  description: Command line of this host's C(hccn_tool), V(910) (also A2 and A3) or V(950).
  returned: always
  type: str
machine:
  description:
    - An id of the machine that stays over reboots, made of C(/etc/machine-id), C(/sys/class/dmi/id/product_uuid), as far as they can be read, and the
      path of O(hccn_conf). V(null) where neither of the two files can be read.
    - Two hosts with the same id are the same machine by two names, or containers of one machine.
  returned: always
  type: str
  sample: 9c1f0e6b7a52d348
error:
  description: Why the module failed when O(fail_on) is not given, with C(code), C(message), C(hint) and C(devices), the ids that it concerns.
  returned: failed, O(fail_on) not given
  type: dict
  sample: {code: no_such_device, message: "NPUs 8-15 do not exist on this host, which has NPUs 0-7", devices: [8, 9, 10, 11, 12, 13, 14, 15]}
side_effects:
  description: Keys that the TLS query wrote into C(hccn.conf), with C(device), C(path), C(key), C(value) and C(cause).
  returned: always
  type: list
  elements: dict
measurements:
  description: The same as records of kind C(device), for the history. Devices of which nothing was read, with an empty O(gather), have none.
  returned: always
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard
from ansible_collections.hccn.cluster.plugins.module_utils._device import info, read, session


def main() -> None:
    gather = {"type": "list", "elements": "str", "choices": list(read.TOPICS), "default": list(read.DEFAULT_TOPICS)}
    module = AnsibleModule(argument_spec=session.options(None, gather=gather), supports_check_mode=True)
    try:
        with Guard(written=module.params["hccn_conf"]):
            result = info.gather(module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), devices=[])
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
