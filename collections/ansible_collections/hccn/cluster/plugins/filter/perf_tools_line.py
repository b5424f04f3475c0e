# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter perf_tools_line. The logic is in plugin_utils/_roles."""

from __future__ import annotations

DOCUMENTATION = r"""
name: perf_tools_line
short_description: Summarize in one line the measuring tools of a host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Used by the role P(hccn.cluster.perf_tools#role).
positional: _input, host
options:
  _input:
    description:
      - Result of M(hccn.cluster.perf_tools_info) on the host.
    type: dict
    required: true
  host:
    description:
      - The name of the host.
    type: str
    required: true
  foreseen:
    description:
      - Whether the play runs in check mode and would otherwise install the missing packages.
    type: bool
    default: false
seealso:
  - module: hccn.cluster.perf_tools_info
"""

EXAMPLES = r"""
- name: Show the tools
  ansible.builtin.debug:
    msg: "{{ found | hccn.cluster.perf_tools_line(inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description:
    - The tools with their versions, and the missing tools with the command that installs them.
  type: str
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import lines
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"perf_tools_line": lines.perf_tools})
