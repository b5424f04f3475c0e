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
      - Physical ids of the NPUs, as C(hccn_tool -i) takes them. Single ids and ranges such as V(0-7).
      - V(all) stands for every NPU of the host, as C(npu-smi) and C(/dev/davinci*) show them.
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
      - Seconds that one call of C(hccn_tool) may take. A device that is not ready would keep the tool waiting for 300 seconds.
    type: int
    default: 30
  fail_on:
    description:
      - When the module fails, after all devices were tried. The results of all devices are returned in any case.
      - V(any) when a device failed, V(all) when every device failed, V(none) never for a device's sake.
    type: str
    choices: [any, all, none]
"""

    # All members but hccn_conf itself, where the file is O(path).
    CONF = r"""
options:
  hccn_conf:
    description:
      - Path of the driver's network configuration, which C(hccn_tool) reads and writes.
    type: path
    default: /etc/hccn.conf
"""

    # Members that set something or send test traffic.
    BUSY = r"""
options:
  allow_busy:
    description:
      - Whether devices that are at work may be touched. A device is at work when C(npu-smi) shows a process on it or it has queue pairs.
      - With V(false) such a device is refused with its pid, and so is every device when C(npu-smi) cannot tell.
      - Modules that set something ask about each device right before its first set, so a job that started during the task is left alone too. The
        remaining sets of that device follow without asking again.
    type: bool
    default: false
"""

    # Members that the role bring_up changes a host with.
    PREVIOUS = r"""
options:
  keep_previous:
    description:
      - Before the first set, save on the host what is there now, for the role P(hccn.cluster.restore#role). What was saved survives when the module or
        the controller is killed, and a loss of power. The file is the path of C(hccn.conf) with C(.restore.json) appended, mode 0600.
      - While the change is unfinished, which is while a file C(.restore.unfinished) exists beside it, later calls only add what was not saved yet.
        The role P(hccn.cluster.bring_up#role) removes that file when it has changed all that it was to change.
      - Nothing is set where nothing can be saved.
    type: bool
    default: false
"""
