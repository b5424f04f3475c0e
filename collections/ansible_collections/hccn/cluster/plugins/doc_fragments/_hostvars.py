# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the filters that read variables of many hosts."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  _input:
    description:
      - The names of the hosts.
    type: list
    elements: str
    required: true
  hostvars:
    description:
      - Ansible's variable C(hostvars), with the variables of all hosts. Only the variables that the filter needs are evaluated.
    type: dict
    required: true
notes:
  - This filter reads variables of all hosts in its input. Use it in a task that runs once.
"""
