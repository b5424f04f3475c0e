# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter datadist_lines. The logic is in plugin_utils/_datadist."""

from __future__ import annotations

DOCUMENTATION = r"""
name: datadist_lines
short_description: Format the problems of LLM-DataDist clusters as lines
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Used by the role P(hccn.cluster.datadist_ready#role).
positional: _input
options:
  _input:
    description:
      - Result of M(hccn.cluster.datadist_check) with its option C(clusters).
    type: dict
    required: true
seealso:
  - module: hccn.cluster.datadist_check
"""

EXAMPLES = r"""
- name: Show the problems
  ansible.builtin.debug:
    msg: "{{ checked | hccn.cluster.datadist_lines }}"
"""

RETURN = r"""
_value:
  description:
    - A summary, followed by one line per problem.
  type: list
  elements: str
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._datadist import ready
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"datadist_lines": ready.lines})
