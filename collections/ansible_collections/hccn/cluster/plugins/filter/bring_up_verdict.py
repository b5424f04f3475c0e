# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter bring_up_verdict. The logic is in plugin_utils/_roles."""

from __future__ import annotations

DOCUMENTATION = r"""
name: bring_up_verdict
short_description: Decide whether a host was brought up
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns the verdict of P(hccn.cluster.bring_up#role) on one host. A host is bad if a link is not up, an NPU has errors, its TLS flags differ from
    those of most hosts, or TLS could not be set.
positional: _input, probed
options:
  _input:
    description:
      - The name of the host.
    type: str
    required: true
  probed:
    description:
      - Result of M(hccn.cluster.device_state).
    type: dict
    required: true
  differing:
    description:
      - The hosts whose TLS flags differ, from P(hccn.cluster.tls_differences#filter).
    type: dict
    default: {}
  tls:
    description:
      - Result of P(hccn.cluster.tls_outcome#filter) for the host. Empty if TLS is not managed.
    type: dict
    default: {}
seealso:
  - plugin: hccn.cluster.tls_differences
    plugin_type: filter
  - plugin: hccn.cluster.tls_outcome
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the verdict
  ansible.builtin.debug:
    msg: "{{ (inventory_hostname | hccn.cluster.bring_up_verdict(npus)).line }}"
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(bad), whether the host has one of these defects, and C(line), a sentence for the operator.
  type: dict
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._roles.bring_up_verdict import verdict
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def bring_up_verdict(host: str, probed: Any, differing: Mapping[str, Any] | None = None, tls: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return dataclasses.asdict(verdict(host, probed, differing or {}, tls or {}))


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"bring_up_verdict": bring_up_verdict})
