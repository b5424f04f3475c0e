# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell of the filter address_hosts; the logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: address_hosts
short_description: Take the hosts of an address plan from their variables
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Makes of what the hosts declare (C(bring_up_network), C(bring_up_config), C(bring_up_subnets)) and of what M(hccn.cluster.device_info) returned there the
    input of P(hccn.cluster.address_plan#filter).
  - A host that was not probed, or that answered something else than NPUs, has no devices that an address could be planned for.
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
      - The variable under which the hosts registered what M(hccn.cluster.device_info) returned.
    type: str
    required: true
  network:
    description:
      - The declared addresses of hosts that have none of their own.
    type: list
    elements: dict
    default: []
  config:
    description:
      - The declared settings of hosts that have none of their own.
    type: list
    elements: dict
    default: []
  subnets:
    description:
      - The subnets of hosts that have none of their own.
    type: list
    elements: dict
    default: []
seealso:
  - module: hccn.cluster.device_info
  - plugin: hccn.cluster.address_plan
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Plan the addresses of all hosts
  ansible.builtin.set_fact:
    addresses: "{{ ansible_play_hosts_all | hccn.cluster.address_hosts(hostvars, register_name='npus') | hccn.cluster.address_plan([]) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - A list with C(host), C(config) and C(subnets) for each host, and C(devices) and C(product) of those that were probed.
  type: list
  elements: dict
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleError, AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan import bring_up_hosts
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def address_hosts(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], register_name: str, network: Any = (), config: Any = (),
                  subnets: Any = ()) -> list[dict[str, Any]]:
    """See DOCUMENTATION."""
    try:
        return bring_up_hosts.hosts_for_address_plan(hosts, HostVars(hostvars).of, register_name, network, config, subnets)
    except AnsibleError as error:
        raise AnsibleFilterError(f"address_hosts: a variable of a host cannot be read: {error}") from error


class FilterModule:
    """Ansible's filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return guard.filters({"address_hosts": address_hosts})
