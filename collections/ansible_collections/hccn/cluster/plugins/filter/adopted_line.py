# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter adopted_line. The logic is in plugin_utils/_roles."""

from __future__ import annotations

DOCUMENTATION = r"""
name: adopted_line
short_description: Summarize in one line the adopted configuration of a host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Used by the role P(hccn.cluster.adopt#role).
positional: _input, host, info, file
options:
  _input:
    description:
      - Result of P(hccn.cluster.adopted#filter) for the host.
    type: dict
    required: true
  host:
    description:
      - The name of the host.
    type: str
    required: true
  info:
    description:
      - Result of M(hccn.cluster.device_info) for the host.
    type: dict
    required: true
  file:
    description:
      - The variables file, a dictionary with C(path); C(masked), the files that would hide it from Ansible or be hidden by it; C(differs), whether the file
        exists with other content; C(force), whether such a file is replaced; C(written), whether it was written, or would be in check mode; and
        C(check_mode).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what was adopted
  ansible.builtin.debug:
    msg: "{{ npus | hccn.cluster.adopted(conf) | hccn.cluster.adopted_line(inventory_hostname, npus, file) }}"
  vars:
    file: {path: host_vars/n1.yml, masked: [], differs: false, force: false, written: true, check_mode: false}
"""

RETURN = r"""
_value:
  description:
    - The number of adopted settings, the state of the file, and the first problems.
  type: str
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import lines
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def adopted_line(found: Mapping[str, Any], host: str, info: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    """See DOCUMENTATION."""
    return lines.adopted(found, host, info, lines.VariablesFile(**file))


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"adopted_line": adopted_line})
