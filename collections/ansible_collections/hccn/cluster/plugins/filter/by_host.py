# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter by_host: one variable of many hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: by_host
short_description: Collect a variable of many hosts in a dictionary
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns the value of a variable for each host, such as the result of a module that each host registered.
extends_documentation_fragment:
  - hccn.cluster._hostvars
positional: _input, hostvars, variable
options:
  variable:
    description:
      - The name of the variable.
    type: str
    required: true
  names:
    description:
      - Keys for hosts whose key in the result is not their name, such as the names of their Kubernetes nodes.
    type: dict
    default: {}
  default:
    description:
      - Value for hosts without the variable. Without this option, these hosts are omitted.
    type: raw
"""

EXAMPLES = r"""
- name: Show the results of all hosts
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts | hccn.cluster.by_host(hostvars, 'npus') }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The values by host, in the order of the input.
  type: dict
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


@guard.reads_hosts
def by_host(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], variable: str, names: Mapping[str, str] | None = None,
            default: Any = None) -> dict[str, Any]:
    """See DOCUMENTATION."""
    variables, found = HostVars(hostvars), {}
    for host in hosts:
        value = variables.of(host).get(variable, default)
        if value is not None:
            found[(names or {}).get(host, host)] = value
    return found


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"by_host": by_host})
