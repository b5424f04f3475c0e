# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter quarantine_decision. The logic is in plugin_utils/_roles."""

from __future__ import annotations

DOCUMENTATION = r"""
name: quarantine_decision
short_description: Decide how to take a host out of service
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Decides from what Slurm or Kubernetes reports about its nodes whether and how a host is taken out of service, or returned to it.
  - The role P(hccn.cluster.quarantine#role) uses it.
positional: _input, provider, node, state
options:
  _input:
    description:
      - What was observed. C(argv), the command of the provider V(command); C(nodes), the nodes of Kubernetes as C(kubernetes.core.k8s_info) returns them;
        or for Slurm C(node), the output of C(scontrol show node), and C(nodes), that of C(sinfo) with one line of name and state for each node.
    type: dict
    required: true
  provider:
    description:
      - Who schedules jobs on the host.
    type: str
    choices: [command, kubernetes, slurm]
    required: true
  node:
    description:
      - Name of the host at the provider.
    type: str
    required: true
  state:
    description:
      - V(out) takes the host out of service, V(in) returns it.
    type: str
    choices: [out, in]
    required: true
  reason:
    description:
      - Why the host is taken out of service.
    type: str
    default: no reason given
  most_percent:
    description:
      - Share of all nodes in percent that may be out of service. One node always may.
    type: float
    default: 10
"""

EXAMPLES = r"""
- name: Show what would be done
  ansible.builtin.debug:
    msg: "{{ ({'nodes': nodes.resources} | hccn.cluster.quarantine_decision('kubernetes', 'node-7', 'out', reason='NPU 5 is slow')).line }}"
"""

RETURN = r"""
_value:
  description:
    - C(line), what is to be done; C(refusal), why it may not be done, empty if it may; C(done), whether it is done already; C(argv), the command, or C(patch),
      the change of the Kubernetes node.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import quarantine
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def quarantine_decision(observed: Mapping[str, Any], provider: str, node: str, state: str, reason: str = "no reason given",
                        most_percent: float = 10) -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        return quarantine.decide(provider, quarantine.Order(str(node), state, str(reason), float(most_percent)), observed).as_dict()
    except (InputError, TypeError, ValueError) as error:
        raise AnsibleFilterError(f"quarantine_decision: {error}") from error


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"quarantine_decision": quarantine_decision})
