# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter tls_outcome. The logic is in plugin_utils/_roles."""

from __future__ import annotations

DOCUMENTATION = r"""
name: tls_outcome
short_description: Evaluate the TLS change of a host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns the verdict of P(hccn.cluster.tls#role) on one host, and which of its NPUs to roll back if other hosts failed.
positional: _input
options:
  _input:
    description:
      - The name of the host.
    type: str
    required: true
  state:
    description:
      - The requested state.
    type: str
    choices: [enabled, disabled]
    required: true
  failed:
    description:
      - Hosts that do not have the requested state, from P(hccn.cluster.tls_rollout#filter).
    type: list
    elements: str
    required: true
  on_partial:
    description:
      - What happens to the host if others failed.
    type: str
    choices: [rollback, keep]
    required: true
  probed:
    description:
      - Result of M(hccn.cluster.device_tls) before any change.
    type: dict
    default: {}
  result:
    description:
      - Result of M(hccn.cluster.device_tls) for the change.
    type: dict
    default: {}
  put_back:
    description:
      - Result of the loop that rolled NPUs back.
    type: dict
    default: {}
seealso:
  - module: hccn.cluster.device_tls
  - plugin: hccn.cluster.tls_rollout
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the state of the host
  ansible.builtin.debug:
    msg: "{{ (inventory_hostname | hccn.cluster.tls_outcome('enabled', failed=[], on_partial='keep', result=tls_devices)).line }}"
"""

RETURN = r"""
_value:
  description:
    - A dictionary. C(complete) is V(true) if no host failed. C(bad) is V(true) if the host failed, or is not as declared because others failed.
    - C(line) is a sentence for the operator. C(put_back) has the ids of the changed NPUs by their previous state.
  type: dict
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import tls_rollout as logic
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def tls_outcome(host: str, state: str, failed: Sequence[str], on_partial: str, probed: Mapping[str, Any] | None = None,
                result: Mapping[str, Any] | None = None, put_back: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return dataclasses.asdict(logic.outcome(host, state, failed, on_partial == "rollback", probed, result, put_back))


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"tls_outcome": tls_outcome})
