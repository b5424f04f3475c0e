# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter endpoint_words. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: endpoint_words
short_description: Call what a tool measures an NPU or a port
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Messages about a measurement name NPUs. Only V(roce_test) measures those. For other tools, this filter returns the text with ports of network cards
    instead, such as C(gpu-01 port 0).
positional: _input, tool
options:
  _input:
    description:
      - The text.
    type: str
    required: true
  tool:
    description:
      - The measurement tool.
    type: str
    required: true
seealso:
  - module: hccn.cluster.fabric_verdict
"""

EXAMPLES = r"""
- name: Show the verdict of a host without NPUs
  ansible.builtin.debug:
    msg: "{{ 'NPU 0 is slow with gpu-02' | hccn.cluster.endpoint_words('perftest') }}" # Port 0 is slow with gpu-02
"""

RETURN = r"""
_value:
  description:
    - The text.
  type: str
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.endpoint_words import in_words_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def endpoint_words(text: str, tool: str) -> str:
    """See DOCUMENTATION."""
    return in_words_of(tool, text)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"endpoint_words": endpoint_words})
