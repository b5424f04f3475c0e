# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter last_run. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: last_run
short_description: Select the last run that most hosts have in common
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads the result of M(hccn.cluster.rdma_perf_info) of each host, called without C(run_id), and returns the id of the run that most of the hosts started
    last. Of runs with equally many hosts it is the one that was started last.
  - A host whose last run is another one, such as a host that was repaired meanwhile, does not take over the results of that run.
extends_documentation_fragment:
  - hccn.cluster._hostvars
positional: _input, hostvars
options:
  register_name:
    description:
      - Name of the variable in which the hosts registered the result.
    type: str
    required: true
seealso:
  - module: hccn.cluster.rdma_perf
"""

EXAMPLES = r"""
- name: Show the last run of most hosts
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts | hccn.cluster.last_run(hostvars, register_name='other_run') }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - The id of the run, null if no host has one.
  type: str
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.resumed import last_of_most
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


@guard.reads_hosts
def last_run(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], register_name: str) -> str | None:
    """See DOCUMENTATION."""
    variables = HostVars(hostvars)
    return last_of_most(variables.of(host).get(register_name) for host in hosts)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"last_run": last_run})
