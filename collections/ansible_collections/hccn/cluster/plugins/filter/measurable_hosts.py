# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter measurable_hosts. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: measurable_hosts
short_description: Select the NPUs that a fabric check can measure
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads the result of M(hccn.cluster.device_info) or M(hccn.cluster.perf_tools_info) of each host and returns the input of
    P(hccn.cluster.pair_plan#filter). NPUs that cannot or must not be measured are excluded, each with the reason.
  - An NPU is excluded if it has an error, its link is down, it has no address or an invalid one, it has the same address as another NPU, or it has processes.
    If two NPUs have the same address, both are excluded and each message names the other NPU, since the filter cannot know which of them is right.
  - If a result does not have the format of these modules, that NPU or that host is excluded.
  - Of each host, the variables C(check_fabric_leaf), C(check_fabric_labels), C(check_fabric_super_pod), C(check_fabric_rack),
    C(check_fabric_control_address) and C(check_fabric_control_port) are passed on to the plan.
extends_documentation_fragment:
  - hccn.cluster._hostvars
positional: _input, hostvars
options:
  register_name:
    description:
      - Name of the variable in which the hosts registered the result.
    type: str
    required: true
  control_port:
    description:
      - Control port of hosts that do not set C(check_fabric_control_port).
    type: int
    required: true
  allow_busy:
    description:
      - Whether NPUs with processes are measured.
    type: bool
    default: false
seealso:
  - plugin: hccn.cluster.pair_plan
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the NPUs that can be measured
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts | hccn.cluster.measurable_hosts(hostvars, register_name='npus', control_port=18514) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(hosts), the input of P(hccn.cluster.pair_plan#filter), and C(left_out), the excluded hosts and NPUs for the option C(left_out) of
      M(hccn.cluster.fabric_verdict), each with C(host), C(device) (null for the whole host), C(code) and C(message).
    - The codes are the error codes of NPUs, V(address_not_set), V(address_invalid), V(address_duplicate), V(device_busy) and V(answer_not_understood).
  type: dict
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.measurable import measurable
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.input_numbers import whole_number
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


@guard.reads_hosts
def measurable_hosts(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], register_name: str, control_port: Any,
                     allow_busy: bool = False) -> dict[str, Any]:
    """See DOCUMENTATION."""
    found = measurable(hosts, HostVars(hostvars).of, register_name, whole_number("control_port", control_port), bool(allow_busy))
    return {"hosts": found.hosts, "left_out": found.left_out}


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"measurable_hosts": measurable_hosts})
