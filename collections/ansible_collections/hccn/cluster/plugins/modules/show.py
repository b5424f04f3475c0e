#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action show, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: show
short_description: Display lines even if Ansible displays only changes and failures
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Prints the result of a job, a line for each element of O(lines). M(ansible.builtin.debug) prints nothing where C(display_ok_hosts) is off, as in
    C(ansible.cfg) of the project.
  - Lines may contain what a host returned. Control characters are replaced and long lines are cut.
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
  lines:
    description:
      - The lines. The first 100 are printed, and the number of the others.
    type: list
    elements: str
    required: true
notes:
  - Runs on the controller. Use C(run_once) for the result of the whole job.
seealso:
  - module: ansible.builtin.debug
"""

EXAMPLES = r"""
- name: Compare the newest run with the last good one
  hccn.cluster.history_info:
    compare: [last_good, newest]
  register: compared

- name: Show what changed
  hccn.cluster.show:
    lines: "{{ [compared.comparison.headline] + compared.comparison.changes | map(attribute='message') | list }}"
  run_once: true
"""

RETURN = r"""
lines:
  description: The lines as they were printed.
  returned: always
  type: list
  elements: str
  sample: ["Inventory: 4 hosts, 32 NPUs, 32 addresses; rank table: 4 servers, 32 ranks"]
"""
