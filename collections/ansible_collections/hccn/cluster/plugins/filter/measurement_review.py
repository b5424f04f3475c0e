# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter measurement_review. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: measurement_review
short_description: Check the options of a measurement and estimate its time
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns the reason why a tool cannot measure with the given options, such as an option that it does not have or a value outside its limits, and the
    estimated time of a pair. P(hccn.cluster.check_fabric#role) uses it before it contacts any host.
positional: _input
options:
  _input:
    description:
      - Options of M(hccn.cluster.rdma_perf), with at least C(tool), C(operation) and C(measure). Options that are V(null) or missing are unset.
    type: dict
    required: true
  server_start_delay_s:
    description:
      - Seconds between the start of a server and its client, for V(roce_test).
    type: float
    default: 4
seealso:
  - module: hccn.cluster.rdma_perf
  - plugin: hccn.cluster.plan_review
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show why iperf3 cannot measure with an RDMA MTU
  ansible.builtin.debug:
    msg: "{{ ({'tool': 'iperf3', 'operation': 'write', 'measure': 'bandwidth', 'mtu': 4096} | hccn.cluster.measurement_review).refusals }}"
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(refusals), a list that is empty if the tool can measure with the options, and C(seconds_per_pair), the time of a pair. For
      C(iterations), it is calculated at 25 Gbit/s.
  type: dict
  sample: {refusals: [], seconds_per_pair: 84.0}
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_options import TOOLS
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.measurement_review import review
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def measurement_review(options: Any, server_start_delay_s: float = 4.0) -> dict[str, Any]:
    """See DOCUMENTATION."""
    if not isinstance(options, Mapping) or options.get("tool") not in TOOLS or not {"operation", "measure"} <= set(options):
        raise AnsibleFilterError(f"measurement_review: the input is not a dictionary with tool ({', '.join(TOOLS)}), operation and measure")
    return review(options, server_start_delay_s)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"measurement_review": measurement_review})
