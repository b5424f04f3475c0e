# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell of the filter collective_placement; the logic is in plugin_utils/_collective."""

from __future__ import annotations

DOCUMENTATION = r"""
name: collective_placement
short_description: Order the hosts of a collective and find those that cannot take part
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads for each host what M(hccn.cluster.device_info) and M(hccn.cluster.ssh_trust) returned there, and returns the hosts in rank order, the addresses by
    which C(mpirun) reaches them, and what prevents the collective.
  - Walks over all hosts. Use it in a task that runs once.
positional: _input, hostvars
options:
  _input:
    description:
      - The names of the hosts.
    type: list
    elements: str
    required: true
  hostvars:
    description:
      - The variables of all hosts, as Ansible has them under this name. They are read one by one.
    type: dict
    required: true
  register_name:
    description:
      - The variable under which the hosts registered the result of M(hccn.cluster.device_info), with the topics V(processes) and V(super_pod). A host without
        it, or where the task was skipped, counts as idle and as outside of any super pod.
    type: str
    required: true
  trust_name:
    description:
      - The variable under which the hosts registered the result of M(hccn.cluster.ssh_trust). A host may be without it.
    type: str
    required: true
  addresses:
    description:
      - Address of each host by inventory name. A host that is not there is reached by its C(ansible_host), else by its name.
    type: dict
    default: {}
  rank_order:
    description:
      - V(super_pod) keeps the hosts of one super pod next to each other. The super pods are in the order of their first hosts. V(given) keeps the order.
    type: str
    choices: [super_pod, given]
    default: super_pod
seealso:
  - module: hccn.cluster.hccl_perf
  - module: hccn.cluster.nccl_perf
"""

EXAMPLES = r"""
- name: Show the NPUs that are at work
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts | hccn.cluster.collective_placement(hostvars, register_name='npus', trust_name='trust')).busy }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(hosts), C(addresses) and C(known_hosts) in rank order. The last are lines for the file of this name of C(ssh).
    - C(busy) has a text for each NPU that is at work, or of which that is not known. C(unready) has one for each host where a module failed.
  type: dict
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleError, AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.plugin_utils._collective.placement import placement
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def collective_placement(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], register_name: str, trust_name: str,
                         addresses: Mapping[str, Any] | None = None, rank_order: str = "super_pod") -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        return placement(hosts, HostVars(hostvars).of, register_name, trust_name, addresses or {}, rank_order).as_dict()
    except AnsibleError as error:
        raise AnsibleFilterError(f"collective_placement: a variable of a host cannot be read: {error}") from error


class FilterModule:
    """Ansible's filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return guard.filters({"collective_placement": collective_placement})
