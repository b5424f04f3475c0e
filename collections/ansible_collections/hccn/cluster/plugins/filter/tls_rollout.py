# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter tls_rollout. The logic is in plugin_utils/_roles."""

from __future__ import annotations

DOCUMENTATION = r"""
name: tls_rollout
short_description: Determine which hosts have the TLS state that a play sets
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads for each host the results of M(hccn.cluster.device_tls) before any change (C(tls_dry_run)) and for the change (C(tls_devices)).
    P(hccn.cluster.tls#role) uses it to set TLS on all hosts or on none.
extends_documentation_fragment:
  - hccn.cluster._hostvars
positional: _input, hostvars, active, batch
options:
  _input:
    description:
      - The names of all hosts of the play, including lost hosts.
    type: list
    elements: str
    required: true
  active:
    description:
      - The names of the hosts that are not lost.
    type: list
    elements: str
    required: true
  batch:
    description:
      - The names of the active hosts of this batch (C(serial)).
    type: list
    elements: str
    required: true
  register_name:
    description:
      - The variable with the result of M(hccn.cluster.device_tls) before any change, or with a result of M(hccn.cluster.device_state) that contains it.
    type: str
    default: tls_dry_run
seealso:
  - module: hccn.cluster.device_tls
  - plugin: hccn.cluster.tls_outcome
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the hosts without the requested state
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | hccn.cluster.tls_rollout(hostvars, ansible_play_hosts, ansible_play_batch)).failed }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - A dictionary. C(all_probed) is V(true) if no host was lost before it was probed. C(changing) has the hosts of the batch whose state would change.
    - C(authorities) has the distinct lists of CA certificates of the NPUs. C(failed) has the hosts that were lost or do not have the requested state.
    - C(settled) is V(true) if all hosts of the batch have the requested state, so that nothing has to be set.
  type: dict
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import tls_rollout as logic
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


@guard.reads_hosts
def tls_rollout(hosts: Sequence[str], hostvars: Mapping[str, Mapping[str, Any]], active: Sequence[str], batch: Sequence[str],
                register_name: str = logic.PROBED) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return dataclasses.asdict(logic.rollout(hosts, active, batch, HostVars(hostvars).of, register_name))


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"tls_rollout": tls_rollout})
