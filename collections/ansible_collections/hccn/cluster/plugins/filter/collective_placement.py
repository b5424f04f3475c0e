# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter collective_placement. The logic is in plugin_utils/_collective."""

from __future__ import annotations

DOCUMENTATION = r"""
name: collective_placement
short_description: Order the hosts of a collective and find those that cannot take part
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads the results of M(hccn.cluster.device_info) and M(hccn.cluster.ssh_trust) of each host. Returns the hosts in rank order, the addresses at
    which C(mpirun) reaches them, and the reasons that prevent the collective.
extends_documentation_fragment:
  - hccn.cluster._hostvars
positional: _input, hostvars
options:
  register_name:
    description:
      - Name of the variable in which the hosts registered the result of M(hccn.cluster.device_info), with the topics V(processes) and V(super_pod), or of
        M(hccn.cluster.gpu_info). A host without it, or where the task was skipped, counts as idle and as outside of any super pod.
    type: str
    required: true
  trust_name:
    description:
      - Name of the variable in which the hosts registered the result of M(hccn.cluster.ssh_trust). It may be missing.
    type: str
    required: true
  addresses:
    description:
      - Addresses by inventory name. The default for a host is its C(ansible_host), or else its name.
    type: dict
    default: {}
  rank_order:
    description:
      - V(super_pod) keeps the hosts of one super pod next to each other, with the super pods in the order of their first hosts. V(given) keeps the order of
        the input.
    type: str
    choices: [super_pod, given]
    default: super_pod
seealso:
  - module: hccn.cluster.hccl_perf
  - module: hccn.cluster.nccl_perf
"""

EXAMPLES = r"""
- name: Show the busy NPUs
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts | hccn.cluster.collective_placement(hostvars, register_name='npus', trust_name='trust')).busy }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(hosts), C(addresses) and C(known_hosts) in rank order. C(known_hosts) are lines for the C(known_hosts) file of C(ssh).
    - C(busy) describes each NPU that has processes or whose processes are unknown, and the GPUs of each host on which processes compute.
      C(unready) describes each host where a module failed.
  type: dict
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._collective.placement import placement
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


@guard.reads_hosts
def collective_placement(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], register_name: str, trust_name: str,
                         addresses: Mapping[str, Any] | None = None, rank_order: str = "super_pod") -> dict[str, Any]:
    """See DOCUMENTATION."""
    return placement(hosts, HostVars(hostvars).of, register_name, trust_name, addresses or {}, rank_order).as_dict()


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"collective_placement": collective_placement})
