#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action container_mapping, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: container_mapping
short_description: Summarize for all hosts which containers see hccn.conf
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads the results of M(hccn.cluster.hccn_conf_mount) on all hosts, and prints the number of containers that see the C(hccn.conf) of their host, the problems
    with their remedies (the first 20), the state of the CDI specs, and how new containers get the file. The lines are printed even if Ansible displays only
    changes and failures.
  - Answers of hosts are data. Malformed parts are ignored, and a host without a usable answer is in RV(not_examined).
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
attributes:
  action:
    description: Has an action plugin of the same name, so that some of it runs on the controller.
    support: full
    details:
      - All of it does.
options:
  hosts:
    description:
      - The hosts.
    type: list
    elements: str
    required: true
  register_name:
    description:
      - Variable in which each host has the result of M(hccn.cluster.hccn_conf_mount).
    type: str
    required: true
  state:
    description:
      - What M(hccn.cluster.hccn_conf_mount) was called for, V(report) if it was called without O(hccn.cluster.hccn_conf_mount#module:state).
    type: str
    choices: [report, present, absent]
    default: report
  path:
    description:
      - Path of the file on the hosts, for the instructions.
    type: str
    default: /etc/hccn.conf
  container_path:
    description:
      - Path of the file in the containers, for the instructions.
    type: str
    default: /etc/hccn.conf
  fail_on:
    description:
      - With V(failed) and V(slow), problems of severity error fail the task, with V(any) also warnings, with V(never) no problem does. All values are returned
        in any case.
    type: str
    choices: [never, failed, slow, any]
    default: slow
notes:
  - Runs on the controller. Use C(run_once).
seealso:
  - module: hccn.cluster.hccn_conf_mount
"""

EXAMPLES = r"""
- name: Probe the containers
  hccn.cluster.hccn_conf_mount:
  register: mounted

- name: Summarize the mapping of all hosts
  hccn.cluster.container_mapping:
    hosts: "{{ ansible_play_hosts_all }}"
    register_name: mounted
  run_once: true
"""

RETURN = r"""
containers:
  description: Number of running containers that have NPUs.
  returned: always
  type: int
  sample: 3
mapped:
  description: Number of those that see the file of their host.
  returned: always
  type: int
  sample: 2
problems:
  description: The problems of all hosts, see RV(hccn.cluster.hccn_conf_mount#module:problems), each with its C(host). At most 1000.
  returned: always
  type: list
  elements: dict
  sample:
    - host: npu1
      rule: conf_not_mapped
      severity: error
      where: container 5f0e2c1a7b9d pid 4711 (python3)
      message: "/etc/hccn.conf does not exist: ascend-docker-runtime mounts neither hccn.conf nor hccn_tool"
      hint: recreate the container with -v /etc/hccn.conf:/etc/hccn.conf:ro
cdi_specs:
  description:
    - Hosts by what was found or done there. The keys are V(up to date), V(different), V(absent), V(written) and V(removed), or in check mode V(to be written)
      and V(to be removed).
  returned: always
  type: dict
  sample: {written: [npu1, npu2]}
not_examined:
  description: Hosts without a usable answer.
  returned: always
  type: list
  elements: str
  sample: []
docker_args:
  description: See RV(hccn.cluster.hccn_conf_mount#module:docker_args).
  returned: always
  type: list
  elements: str
  sample: ["-v", "/etc/hccn.conf:/etc/hccn.conf:ro"]
pod_volume:
  description: See RV(hccn.cluster.hccn_conf_mount#module:pod_volume).
  returned: always
  type: dict
  sample:
    volumes:
      - name: hccn-conf
        hostPath: {path: /etc/hccn.conf, type: File}
    volumeMounts:
      - name: hccn-conf
        mountPath: /etc/hccn.conf
        readOnly: true
cdi_device:
  description: See RV(hccn.cluster.hccn_conf_mount#module:cdi_device).
  returned: always
  type: str
  sample: hccn.cluster/conf=hccn-conf
"""
