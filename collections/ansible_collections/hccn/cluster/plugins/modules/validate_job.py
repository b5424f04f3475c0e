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
  - Checks that the pattern of the job matches hosts, that the variables of these hosts have known names and valid values, that the controller meets the
    requirements of the job, and that the declared addresses are valid. It contacts no host and takes one to two seconds for 1,000 hosts.
  - The checked variables are those whose names begin with the name of a role of this collection or with C(hccn_), and that are set in the inventory,
    C(group_vars), C(host_vars) or on the command line. A name that is neither in the argument specification of a role nor in a playbook of the collection
    is a problem. These prefixes are therefore reserved for the collection, also for variables that other plays set with M(ansible.builtin.set_fact).
    Variables that tasks of the roles register or set are known. Facts that a host sent are ignored, since the roles refuse options among them.
  - Types and choices are checked for values without templates.
  - The addresses that C(bring_up_network), C(bring_up_config) and C(bring_up_subnets) declare are checked over all hosts. Planned addresses are checked for
    hosts with C(validate_product) in the inventory. For other hosts, only the host number is checked against the subnets.
  - All problems are reported at once.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
attributes:
  action:
    description: Has an action plugin of the same name, so that part of the work runs on the controller.
    support: full
    details:
      - It runs entirely on the controller.
options:
  hosts:
    description:
      - Hosts of the job, as a pattern or a list of patterns, like the keyword C(hosts) of a play.
    type: raw
    default: npu
  needs:
    description:
      - Mandatory requirements of the job. A missing one is a problem.
      - V(netaddr) is the Python library for planning addresses. It is required only if hosts declare C(bring_up_subnets).
      - V(history) is the callback P(hccn.cluster.results#callback), which stores the data for reports.
    type: list
    elements: str
    choices: [history, netaddr]
    default: []
  unknown:
    description:
      - Severity of unknown variable names. The variable C(validate_unknown) of a host takes precedence for that host.
    type: str
    choices: [error, warning]
    default: error
  wants:
    description:
      - Optional requirements of the job, with the values of O(needs). A missing one is a warning.
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
  - Runs on the controller, once for all hosts. In a play on C(localhost), it also reports that no host matches.
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
  description: The matching hosts, in the order of a play with this pattern. For a group, this is the order of the inventory.
  returned: success
  type: list
  elements: str
  sample: [npu1, npu2]
fail_on:
  description:
    - The strictest C(hccn_fail_on) of the hosts in the inventory, or V(slow) if it is not set. The play that concludes the job runs on C(localhost), which
      does not have the variables of their groups.
  returned: success
  type: str
  sample: slow
problems:
  description:
    - The first 20 problems. If there is any, the task fails with one line per problem in C(msg).
  returned: always
  type: list
  elements: dict
  contains:
    cause:
      description: The cause, one of V(no_hosts), V(unknown_variable), V(invalid_variable), V(requirement_missing), V(address_conflict) and V(address_invalid).
      type: str
      returned: always
      sample: unknown_variable
    message:
      description: The problem and its solution, without host names.
      type: str
      returned: always
      sample: bring_up_tls_sate is not a variable of the collection. Did you mean bring_up_tls_state?
    hosts:
      description: The affected hosts, at most 20. Empty for a problem of the whole job.
      type: list
      elements: str
      returned: always
      sample: [npu1]
    host_count:
      description: Number of affected hosts.
      type: int
      returned: always
      sample: 1
    devices:
      description: The affected NPUs, at most 20, each with C(host) and C(device).
      type: list
      elements: dict
      returned: when the problem concerns NPUs
      sample: [{host: npu1, device: 5}]
warnings:
  description: Problems that do not prevent the job, one sentence each.
  returned: always
  type: list
  elements: str
  sample: ["There will be no history and no report: enable the callback hccn.cluster.results"]
"""
