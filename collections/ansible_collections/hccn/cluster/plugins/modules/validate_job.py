#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action validate_job, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: validate_job
short_description: Check a job before its first host is contacted
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Checks that the pattern of the job matches hosts, that the variables of these hosts are spelled right and have values that the roles take, that the
    controller has what the job needs, and that the declared addresses hold. It contacts no host and takes a second or two for 1,000 hosts.
  - Checked are the variables whose names begin with the name of a role of this collection or with C(hccn_), as inventory, C(group_vars), C(host_vars)
    and the command line set them. A name that neither the argument specification of a role nor a playbook of the collection has is a problem. So such names
    are reserved for the collection, also for variables that another play sets by M(ansible.builtin.set_fact). What the tasks of the roles register or set
    is known. Facts that a host sent are not looked at, since the roles refuse options among them.
  - Types and choices are checked of values that hold no template.
  - Addresses are checked over all hosts, with what C(bring_up_network), C(bring_up_config) and C(bring_up_subnets) declare. Planned addresses are checked
    of hosts whose inventory has C(validate_product); of others, whether their numbers are right for their subnets.
  - All problems are reported at once.
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
      - The hosts of the job, a pattern or a list of patterns as the keyword C(hosts) of a play takes them.
    type: raw
    default: npu
  needs:
    description:
      - What the job cannot do without. What is missing is a problem.
      - V(netaddr) is the Python library by which addresses are planned. It is missing only where hosts declare C(bring_up_subnets).
      - V(history) is the callback P(hccn.cluster.results#callback), which keeps what a report is made of.
    type: list
    elements: str
    choices: [history, netaddr]
    default: []
  unknown:
    description:
      - What a name is that the collection does not know. The variable C(validate_unknown) of a host wins over it for that host.
    type: str
    choices: [error, warning]
    default: error
  wants:
    description:
      - What the job can do without, as O(needs). What is missing is a warning.
    type: list
    elements: str
    choices: [history, netaddr]
    default: []
seealso:
  - plugin: hccn.cluster.address_plan
    plugin_type: filter
  - plugin: hccn.cluster.results
    plugin_type: callback
notes:
  - Runs on the controller, once for all hosts. In a play on C(localhost) it also finds that no host matches.
"""

EXAMPLES = r"""
- name: Validate the job
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Validate the job
      hccn.cluster.validate_job:
        hosts: npu
        needs: [netaddr]
        wants: [history]
      register: validated
"""

RETURN = r"""
hosts:
  description: The hosts that the pattern matches, in the order of a play with this pattern, which for a group is that of the inventory.
  returned: success
  type: list
  elements: str
  sample: [npu1, npu2]
fail_on:
  description:
    - The strictest C(hccn_fail_on) that the inventory gives the hosts, V(slow) where it gives none. The play that concludes the job runs on C(localhost), which
      does not have the variables of their groups.
  returned: success
  type: str
  sample: slow
problems:
  description:
    - What is wrong, the first 20 problems. The task fails where there is one, with a line for each in C(msg).
  returned: always
  type: list
  elements: dict
  contains:
    cause:
      description: A code, one of V(no_hosts), V(unknown_variable), V(invalid_variable), V(requirement_missing), V(address_conflict) and V(address_invalid).
      type: str
      returned: always
      sample: unknown_variable
    message:
      description: What is wrong and what to do, without the hosts.
      type: str
      returned: always
      sample: bring_up_tls_sate is not a variable of the collection. Did you mean bring_up_tls_state?
    hosts:
      description: The hosts, at most 20. Empty for a problem of the job as a whole.
      type: list
      elements: str
      returned: always
      sample: [npu1]
    host_count:
      description: Number of all hosts that have the problem.
      type: int
      returned: always
      sample: 1
    devices:
      description: The NPUs, at most 20, each with C(host) and C(device).
      type: list
      elements: dict
      returned: where NPUs have the problem
      sample: [{host: npu1, device: 5}]
warnings:
  description: What does not hinder the job, a sentence each.
  returned: always
  type: list
  elements: str
  sample: ["There will be no history and no report: enable the callback hccn.cluster.results"]
"""
