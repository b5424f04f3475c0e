# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell of the filter printable; the logic is in module_utils/_core."""

from __future__ import annotations

DOCUMENTATION = r"""
name: printable
short_description: Make a text that a host or a switch chose fit for a terminal
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns one line of at most 2000 characters. Control characters, escape sequences, line ends and the marks that turn the direction of writing become C(?).
  - Names of switches, messages of tools and names of processes are chosen by the hosts, or by their neighbours. Shown as they are, they could clear the
    screen of the operator, or make a line say something else.
positional: _input
options:
  _input:
    description:
      - The text.
    type: raw
    required: true
seealso:
  - module: hccn.cluster.fabric_verdict
"""

EXAMPLES = r"""
- name: Show what a switch calls itself
  ansible.builtin.debug:
    msg: "{{ look.devices | map(attribute='lldp.system_name') | map('hccn.cluster.printable') | join(', ') }}"
"""

RETURN = r"""
_value:
  description:
    - The text as one line.
  type: str
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core import words
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def printable(text: Any) -> str:
    """See DOCUMENTATION."""
    return words.printable(text, words.LONGEST_TEXT)


class FilterModule:
    """Ansible's filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return guard.filters({"printable": printable})
