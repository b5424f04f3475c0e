# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter address_hosts. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: address_hosts
short_description: Collect the input of an address plan from the variables of hosts
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns the input of P(hccn.cluster.address_plan#filter), made from the declared variables of each host (C(bring_up_network), C(bring_up_config),
    C(bring_up_subnets)) and from its result of M(hccn.cluster.device_info).
  - Hosts that were not probed, or whose result lists no NPUs, have no devices to plan addresses for.
extends_documentation_fragment:
  - hccn.cluster._hostvars
positional: _input, hostvars
options:
  register_name:
    description:
      - Name of the variable in which the hosts registered the result of M(hccn.cluster.device_info).
    type: str
    required: true
  network:
    description:
      - Declared addresses of the hosts that do not set C(bring_up_network).
    type: list
    elements: dict
    default: []
  config:
    description:
      - Declared settings of the hosts that do not set C(bring_up_config).
    type: list
    elements: dict
    default: []
  subnets:
    description:
      - Subnets of the hosts that do not set C(bring_up_subnets).
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
    - One dictionary per host with C(host), C(config) and C(subnets). Hosts that were probed also have C(devices) and C(product).
  type: list
  elements: dict
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan import bring_up_hosts
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


@guard.reads_hosts
def address_hosts(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], register_name: str, network: Any = (), config: Any = (),
                  subnets: Any = ()) -> list[dict[str, Any]]:
    """See DOCUMENTATION."""
    return bring_up_hosts.hosts_for_address_plan(hosts, HostVars(hostvars).of, register_name, network, config, subnets)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"address_hosts": address_hosts})
