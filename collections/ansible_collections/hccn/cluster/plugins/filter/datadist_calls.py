# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter datadist_calls. The logic is in plugin_utils/_datadist."""

from __future__ import annotations

DOCUMENTATION = r"""
name: datadist_calls
short_description: List the links that the decode clusters of a host establish
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Used by the role P(hccn.cluster.datadist_ready#role), which links its clusters temporarily as a test.
positional: _input, host
options:
  _input:
    description:
      - All clusters, as in O(hccn.cluster.datadist_check#module:clusters).
    type: list
    elements: dict
    required: true
  host:
    description:
      - The name of the host.
    type: str
    required: true
  calls:
    description:
      - Planned calls, as in O(hccn.cluster.datadist_check#module:calls). By default, every decode cluster links all prefill clusters in one call.
    type: list
    elements: dict
    default: []
  timeout_ms:
    description:
      - Timeout of each call in milliseconds if O(calls) is empty.
    type: int
    default: 1000
seealso:
  - module: hccn.cluster.datadist_check
  - module: hccn.cluster.datadist_link
"""

EXAMPLES = r"""
- name: Show the links of this host
  ansible.builtin.debug:
    msg: "{{ datadist_ready_clusters | hccn.cluster.datadist_calls(inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description:
    - One dictionary per call with C(own), the calling cluster; C(remotes), as in O(hccn.cluster.datadist_link#module:remotes); and C(timeout_ms).
  type: list
  elements: dict
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._datadist.link_plan import DEFAULT_TIMEOUT_MS
from ansible_collections.hccn.cluster.plugins.plugin_utils._datadist import ready
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def datadist_calls(clusters: Sequence[Mapping[str, Any]], host: str, calls: Sequence[Mapping[str, Any]] = (),
                   timeout_ms: int = DEFAULT_TIMEOUT_MS) -> list[dict[str, Any]]:
    """See DOCUMENTATION."""
    return ready.calls_of(host, clusters, calls, timeout_ms)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"datadist_calls": datadist_calls})
