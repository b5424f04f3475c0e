# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter inventory_host. The logic is in plugin_utils/_trust."""

from __future__ import annotations

DOCUMENTATION = r"""
name: inventory_host
short_description: Ensure that a name is exactly one host of the inventory
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns the name, for C(hosts) of a play, if it is the name of one host. Fails if it is a group, a pattern or unknown.
  - Used by the playbook C(hccn.cluster.quarantine), which gets the name from an event.
positional: _input, groups
options:
  _input:
    description:
      - The name.
    type: str
    required: true
  groups:
    description:
      - Ansible's variable C(groups).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Work on the host of an event
  hosts: "{{ ansible_eda.event.host | hccn.cluster.inventory_host(groups) }}"
  gather_facts: false
"""

RETURN = r"""
_value:
  description:
    - The name.
  type: str
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust.one_host import one_host


def inventory_host(name: Any, groups: Any) -> str:
    """See DOCUMENTATION."""
    return one_host(name, groups)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"inventory_host": inventory_host})
