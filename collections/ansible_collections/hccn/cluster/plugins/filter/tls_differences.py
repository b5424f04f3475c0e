# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter tls_differences. The logic is in plugin_utils/_findings."""

from __future__ import annotations

DOCUMENTATION = r"""
name: tls_differences
short_description: Find the hosts whose TLS flags differ from those of the others
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Compares the TLS flags of all NPUs over the hosts. NPUs with different flags cannot connect.
  - A host differs if its NPUs do not all have the flag that most hosts have. Without a majority, all hosts differ. Hosts that were not probed are ignored.
extends_documentation_fragment:
  - hccn.cluster._hostvars
positional: _input, hostvars
options:
  register_name:
    description:
      - Name of the variable in which the hosts registered the result of M(hccn.cluster.device_info).
    type: str
    required: true
seealso:
  - module: hccn.cluster.device_info
  - module: hccn.cluster.device_tls
"""

EXAMPLES = r"""
- name: Show the hosts that differ
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts | hccn.cluster.tls_differences(hostvars, register_name='npus') }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(hosts), the hosts that differ, and C(enabled), the hosts with at least one flag that is on.
  type: dict
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import consistency
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


@guard.reads_hosts
def tls_differences(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], register_name: str) -> dict[str, Any]:
    """See DOCUMENTATION."""
    variables = HostVars(hostvars)
    return consistency.tls_differences({host: variables.of(host).get(register_name) for host in hosts})


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"tls_differences": tls_differences})
