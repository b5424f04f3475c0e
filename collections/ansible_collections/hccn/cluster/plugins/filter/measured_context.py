# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter measured_context. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: measured_context
short_description: Derive the context of measurements from the probe of a host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns properties of a host that the measuring tool does not report, for the option C(context) of M(hccn.cluster.rdma_perf). They are taken from the
    result of M(hccn.cluster.device_info) or M(hccn.cluster.perf_tools_info).
positional: _input
options:
  _input:
    description:
      - Result of the module on the host.
    type: raw
    required: true
  leaf:
    description:
      - The leaf switch of the host.
    type: raw
seealso:
  - module: hccn.cluster.rdma_perf
"""

EXAMPLES = r"""
- name: Show the line rates
  ansible.builtin.debug:
    msg: "{{ (npus | hccn.cluster.measured_context).line_rate_gbit_s }}"
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(leaf), C(product) and C(line_rate_gbit_s), the line rate by NPU id where it is known.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.measurable import context
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def measured_context(answer: Any, leaf: Any = None) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return context(answer, leaf)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"measured_context": measured_context})
