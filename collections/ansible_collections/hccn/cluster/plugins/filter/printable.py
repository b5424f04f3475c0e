# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter printable. The logic is in module_utils/_core."""

from __future__ import annotations

DOCUMENTATION = r"""
name: printable
short_description: Remove control characters from text that comes from a host or a switch
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns one line of at most 2000 characters. Control characters, escape sequences, line breaks and bidirectional formatting characters become C(?).
  - Names of switches, messages of tools and names of processes come from hosts or their neighbors. Unfiltered, they could clear the operator's terminal or
    forge the displayed text.
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
- name: Show the names of the switches
  ansible.builtin.debug:
    msg: "{{ npus.devices | map(attribute='lldp.system_name') | map('hccn.cluster.printable') | join(', ') }}"
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
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"printable": printable})
