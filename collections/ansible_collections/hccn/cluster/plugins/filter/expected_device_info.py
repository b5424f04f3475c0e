# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter expected_device_info. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: expected_device_info
short_description: Derive the expected result of device_info from the inventory
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns the result that M(hccn.cluster.device_info) would have on a host that matches its inventory. Use it to check an addressing plan and a rank table
    without access to the hosts, for example in CI, as the playbook C(hccn.cluster.validate) does.
positional: _input, product
options:
  _input:
    description:
      - Addresses of the host, as returned by P(hccn.cluster.address_plan#filter).
    type: list
    elements: dict
    required: true
  product:
    description:
      - Product of the host.
    type: str
    choices: [910A, A2, A3, '950']
    required: true
  devices:
    description:
      - Number of NPUs; on A3, of dies. The default is the number in a server of the product.
    type: int
  server_index:
    description:
      - Index of an A3 server in its super pod. Without it, the server is outside of any super pod.
    type: int
  super_pod_id:
    description:
      - Super pod of the server.
    type: int
    default: 0
  super_pod_size:
    description:
      - Number of dies of the super pod.
    type: int
    default: 384
seealso:
  - plugin: hccn.cluster.address_plan
    plugin_type: filter
  - module: hccn.cluster.rank_table
"""

EXAMPLES = r"""
- name: Preview the rank table of two hosts
  hccn.cluster.rank_table:
    nodes:
      n1: "{{ addresses['n1'] | hccn.cluster.expected_device_info('A2') }}"
      n2: "{{ addresses['n2'] | hccn.cluster.expected_device_info('A2') }}"
    path: /tmp/rank_table.json
    write: false
  vars:
    addresses: "{{ [{'host': 'n1'}, {'host': 'n2'}] | hccn.cluster.address_plan(['10.78.0.0/16'], devices_per_host=8) }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The RV(hccn.cluster.device_info#module:product) and RV(hccn.cluster.device_info#module:devices) of M(hccn.cluster.device_info), the latter with
      C(id), C(address), C(netmask) and C(super_pod).
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.declared_device_info import declared_device_info
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def expected_device_info(config: Any, product: str, **options: Any) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return declared_device_info(config, product, **{name: _number(name, value) for name, value in options.items() if value is not None})


def _number(name: str, value: Any) -> int:
    """Return an integer option, which may be text if it comes from the inventory or the command line. Raises InputError."""
    try:
        return int(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}, it must be a whole number") from None


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"expected_device_info": expected_device_info})
