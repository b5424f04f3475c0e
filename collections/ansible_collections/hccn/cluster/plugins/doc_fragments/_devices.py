# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Options of all members of the action group hccn.cluster.devices."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  devices:
    description:
      - Physical ids of the NPUs, as passed to C(hccn_tool -i). Single ids and ranges such as V(0-7) are accepted.
      - V(all) selects every NPU of the host that C(npu-smi) or, where it is missing, C(/dev/davinci*) shows.
    type: list
    elements: str
    default: [all]
  hccn_tool:
    description:
      - Name or path of C(hccn_tool). A bare name is looked up in C(PATH), then in C(/usr/local/Ascend/driver/tools).
    type: str
    default: hccn_tool
  npu_smi:
    description:
      - Name or path of C(npu-smi). A bare name is looked up in C(PATH), then in C(/usr/local/sbin) and C(/usr/local/bin).
    type: str
    default: npu-smi
  timeout:
    description:
      - Timeout of one call of C(hccn_tool) in seconds. The tool itself waits 300 seconds for a device that is not ready.
    type: int
    default: 30
  fail_on:
    description:
      - When the module fails. All devices are tried first, and the results of all devices are returned in any case.
      - With V(any) the module fails if any device failed, with V(all) only if every device failed. With V(none) a failed device never fails the module.
    type: str
    choices: [any, all, none]
"""

    # For all members except hccn_conf, where the option is O(path).
    CONF = r"""
options:
  hccn_conf:
    description:
      - Path of the driver's network configuration, which C(hccn_tool) reads and writes.
    type: path
    default: /etc/hccn.conf
"""

    # For members that change a device or send test traffic.
    BUSY = r"""
options:
  allow_busy:
    description:
      - Whether busy devices may be changed or tested. A device is busy if C(npu-smi) shows a process on it or if it has queue pairs.
      - With V(false) a busy device is refused, and the error names the pid of its process. If C(npu-smi) cannot report the processes, every device is
        refused.
      - Modules that change devices check each device right before its first change, so a job that started during the task is not disturbed. The
        other changes of that device follow without another check.
    type: bool
    default: false
"""

    # For members that the role bring_up uses to change a host.
    PREVIOUS = r"""
options:
  keep_previous:
    description:
      - Save the current settings on the host before the first change, for the role P(hccn.cluster.restore#role). The saved settings survive if the
        module or the controller is killed, and a power loss. The file is the path of C(hccn.conf) with C(.restore.json) appended, mode 0600.
      - A file with the suffix C(.restore.unfinished) beside it marks a change that is not finished. As long as it exists, later calls only add
        settings that are not saved yet. The role P(hccn.cluster.bring_up#role) removes this file when all its changes are done.
      - Nothing is changed if the current settings cannot be saved.
    type: bool
    default: false
"""

    # For members that set keys of hccn.conf, beside their option settings.
    DECLARED = r"""
options:
  config:
    description:
      - Keys and values by device. They take precedence over O(settings).
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
          - Keys and values of this device, as in O(settings).
        type: dict
        required: true
  backup:
    description:
      - Create a backup of the file before it is changed.
    type: bool
    default: false
"""

    # For members that read the devices.
    GATHER = r"""
options:
  gather:
    description:
      - Topics to read. Each topic except V(tls) and V(address) is the return key of the same name in RV(hccn.cluster.device_info#module:devices).
      - V(counters) are the packet counters of C(-stat -g), V(link_changes) is the history of the link, V(lldp) is the information that the switch sends.
      - The tool of the 950 reports V(health), V(counters), V(link_changes) and V(speed) for each port, see
        RV(hccn.cluster.device_info#module:devices[].ports). Of the other topics of C(hccn_tool) only V(link) is read, the rest is listed in
        RV(hccn.cluster.device_info#module:devices[].unread).
    type: list
    elements: str
    choices: [address, gateway, netdetect, tls, link, health, lldp, optical, counters, link_changes, mac, mtu, speed, vnic, processes, versions, super_pod,
      network_version, dscp_to_tc, pfc]
    default: [address, gateway, netdetect, tls, link, health]
  cann_home:
    description:
      - Folder of the CANN toolkit, whose version is read with the topic V(versions).
      - By default C(/usr/local/Ascend/cann), else C(/usr/local/Ascend/ascend-toolkit/latest).
    type: path
"""
