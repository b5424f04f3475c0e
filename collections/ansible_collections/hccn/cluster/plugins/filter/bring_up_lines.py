# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter bring_up_lines. The logic is in plugin_utils/_roles."""

from __future__ import annotations

DOCUMENTATION = r"""
name: bring_up_lines
short_description: Describe the state of all hosts that were brought up
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns one line per host that P(hccn.cluster.bring_up#role) has read, as P(hccn.cluster.bring_up_verdict#filter) words it.
  - One task shows all hosts then.
extends_documentation_fragment:
  - hccn.cluster._hostvars
positional: _input, hostvars
options:
  differing:
    description:
      - The hosts whose TLS flags differ, from P(hccn.cluster.tls_differences#filter).
    type: dict
    default: {}
  tls_failed:
    description:
      - Hosts that do not have the requested TLS flag, from P(hccn.cluster.tls_rollout#filter).
    type: list
    elements: str
    default: []
  tls_on_partial:
    description:
      - What happens to the TLS flag of the other hosts then.
    type: str
    choices: [rollback, keep]
    default: rollback
seealso:
  - plugin: hccn.cluster.bring_up_verdict
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the state of all hosts
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts | hccn.cluster.bring_up_lines(hostvars) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - One sentence per host that was read, in the order of the hosts.
  type: list
  elements: str
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import bring_up_verdict
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


@guard.reads_hosts
def bring_up_lines(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], differing: Mapping[str, Any] | None = None,
                   tls_failed: Sequence[str] = (), tls_on_partial: str = "rollback") -> list[str]:
    """See DOCUMENTATION."""
    return bring_up_verdict.lines(hosts, HostVars(hostvars).of, differing or {}, tls_failed, tls_on_partial == "rollback")


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"bring_up_lines": bring_up_lines})
