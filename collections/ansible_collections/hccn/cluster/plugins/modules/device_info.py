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
  - If the key C(tls_enable_N) is missing in C(hccn.conf), querying the TLS flag itself may write it. In this case the flag is not queried in check mode, nor
    if the file has no final newline. Outside check mode the keys that the query wrote are returned in RV(side_effects).
extends_documentation_fragment:
  - hccn.cluster._devices
  - hccn.cluster._devices.conf
  - hccn.cluster._devices.gather
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
  - hccn.cluster._attributes.devices_group
options:
  fail_on:
    description:
      - When the module fails. All devices are tried first, and the results of all devices are returned in any case.
      - By default the module fails only if C(hccn_tool) is missing (C(tool_missing)) or O(devices) names NPUs that the host does not have
        (C(no_such_device)).
      - With V(any) the module fails if any device failed, with V(all) only if every device failed. With V(none) a failed device never fails the module.
seealso:
  - module: hccn.cluster.device_tls
  - module: hccn.cluster.hccn_conf
notes:
  - Tested with a simulator, whose output is compared with recorded runs of the real C(hccn_tool) front end. Not tested on NPUs yet.
  - The parsers for the 950 are written from the examples in its manual only.
"""

EXAMPLES = r"""
- name: Read all NPUs of the host
  hccn.cluster.device_info:
  register: npus

- name: Read only the links of four NPUs, and fail if one of them cannot be read
  hccn.cluster.device_info:
    devices: [0-3]
    gather: [link]
    fail_on: any
"""

RETURN = r"""
devices:
  description: One entry for each device, in the order of O(devices).
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Physical id.
      type: int
    address:
      description: IPv4 address of the NPU's port, V(null) if none is set.
      type: str
    netmask:
      description: Dotted netmask.
      type: str
    gateway:
      description: Default gateway, V(null) if none is set.
      type: str
    netdetect:
      description: Address that the device probes for its health, V(null) if none is set.
      type: str
    link:
      description: V(up) or V(down). On the 950 also V(partial), if some ports or lanes are down, and V(unknown).
      type: str
    ports:
      description:
        - The ports of an NPU of the 950, with C(udie), C(port), C(link), C(type) and C(media), and the topics that are
          reported for each port.
        - C(speed) has C(mbit_s), C(lanes), C(lanes_capable) and C(status). C(health) has the values of the C(link) and of the C(physical) layer.
        - Ports of which only V(link) was read have C(port) and C(link).
      returned: on hosts with the 950
      type: list
      elements: dict
      sample:
        - {udie: 0, port: 4, link: up, type: UB, media: Electrical, speed: {mbit_s: 400000, lanes: X4, lanes_capable: X4, status: normal}}
    unread:
      description: Requested topics that are not read from the tool of the 950. Their keys are V(null).
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
      description: TLS flag and certificates.
      type: dict
      contains:
        enabled:
          description: The TLS flag, V(null) if it could not be read.
          type: bool
        reason:
          description: Why RV(devices[].tls.enabled) is V(null), for example V(would_write), V(no_final_newline) or V(nul_bytes).
          type: str
        preset_certificate:
          description: Whether the factory certificate is loaded. V(null) for tools that do not report it.
          type: bool
        alarm_days:
          description: Number of days before its end at which a certificate counts as near expiration.
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
              description: Subject, V(null) for tools that do not report it.
              type: str
            issuer:
              description: Issuer.
              type: str
            start_time:
              description: Start of the validity, as the tool prints it.
              type: str
            end_time:
              description: End of the validity, as the tool prints it.
              type: str
            expiration:
              description: V(normal), V(near_expiration), V(expired) or V(unknown).
              type: str
    lldp:
      description:
        - The LLDP neighbour, with C(system_name), C(port), C(chassis), C(management_address) and C(system_description).
        - V(null) if there is no neighbour, since C(hccn_tool) then prints nothing.
        - The neighbour sends these texts, so do not trust them.
      type: dict
    optical:
      description: Values of the optical module. Keys are in snake case with their unit, such as C(tx_power0_mw). V(null) if the module does not report a value.
      type: dict
    counters:
      description: Packet counters with the names that the tool uses. C(roce_new_pkt_rty_num) counts retransmissions.
      type: dict
    link_changes:
      description: C(ups), C(downs) (V(null) for older tools) and C(records), newest first, each with a time as printed and V(up) or V(down).
      type: dict
    mac:
      description: MAC address.
      type: str
    mtu:
      description: MTU in bytes.
      type: int
    speed:
      description: Speed in Mbit/s, V(null) if the tool does not know it.
      type: int
    vnic:
      description: Port in the inner network of the super pod, with C(link), C(address) and C(netmask).
      type: dict
    processes:
      description: Processes on the device that C(npu-smi) shows, with C(pid), C(name) (empty for some containers) and C(memory_mb).
      type: list
      elements: dict
    versions:
      description: C(driver) and C(firmware), as C(npu-smi info -t board) prints them.
      type: dict
    serial:
      description:
        - Serial number of the NPU's board, read with the topic V(versions). V(null) if C(npu-smi info -t board) prints none.
        - The two dies of one A3 NPU have the same serial number.
      type: str
      returned: with O(gather) of V(versions)
      sample: "1023A2600417"
    network_version:
      description: C(driver) and C(firmware) of the device's network, as C(hccn_tool -version -g) prints them.
      type: dict
      sample: {driver: 1.0.4.0, firmware: 7.1.0.11.220}
    dscp_to_tc:
      description: Traffic class by DSCP value, with ranges of DSCP values that have the same class.
      type: str
      sample: "0-15: 0, 16-31: 1, 32-47: 2, 48-63: 3"
    pfc:
      description: Priority flow control of the priorities 0 to 7, V(1) with and V(0) without.
      type: list
      elements: int
      sample: [0, 0, 0, 0, 1, 0, 0, 0]
    super_pod:
      description:
        - C(sdid), C(super_pod_size), C(super_pod_id) and C(server_index) of an A3 die or of a 950.
        - V(null) outside super pods. C(sdid) is V(null) if C(npu-smi) does not print it, as for the 950.
      type: dict
    conf:
      description:
        - Settings of the device in C(hccn.conf), which the driver applies at the next boot. Only keys that the file has for the device are present.
        - V(null) if the file does not exist or cannot be read, and on hosts with the 950.
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
          description: Address that the device probes for its health, V(null) for the unspecified address.
          type: str
        mtu:
          description: MTU in bytes. A value that is not a number is returned as text.
          type: int
        tls_enabled:
          description: The TLS flag, V(null) for a value that is neither 0 nor 1.
          type: bool
    errors:
      description:
        - Errors of topics that could not be read, with C(topic), C(code), C(message) and C(hint).
        - A device that does not exist on the host has the error C(no_such_device) without a topic, and none of the other keys.
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
  description: V(910A), V(A2), V(A3) or V(950). V(null) if the NPUs are known from their device files only.
  returned: always
  type: str
dialect:
  description: Command-line dialect of C(hccn_tool) on this host, V(910) (also for A2 and A3) or V(950).
  returned: always
  type: str
machine:
  description:
    - Id of the machine that is stable over reboots, made of C(/etc/machine-id) and C(/sys/class/dmi/id/product_uuid), as far as they can be read, and the
      path of O(hccn_conf). V(null) if neither of the two files can be read.
    - Two hosts with the same id are the same machine under two names, or containers of one machine.
  returned: always
  type: str
  sample: 9c1f0e6b7a52d348
cann:
  description: Version of the CANN toolkit, V(null) if none was found.
  returned: with O(gather) of V(versions)
  type: str
  sample: 8.2.RC1
error:
  description: Why the module failed if O(fail_on) is not given, with C(code), C(message), C(hint) and C(devices), the ids of the affected devices.
  returned: failed, O(fail_on) not given
  type: dict
  sample: {code: no_such_device, message: "NPUs 8-15 do not exist on this host, which has NPUs 0-7", devices: [8, 9, 10, 11, 12, 13, 14, 15]}
side_effects:
  description: Keys that the TLS query wrote into C(hccn.conf), with C(device), C(path), C(key), C(value) and C(cause).
  returned: always
  type: list
  elements: dict
measurements:
  description: The same values as records of kind C(device), for the history. With an empty O(gather), devices have no record.
  returned: always
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.guard import Guard
from ansible_collections.hccn.cluster.plugins.module_utils._device import device_session, info


def main() -> None:
    module = AnsibleModule(argument_spec=device_session.options(None, **info.OPTIONS), supports_check_mode=True)
    try:
        with Guard(written=module.params["hccn_conf"]):
            result = info.gather(device_session.start(module.params), module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), devices=[])
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
