# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The lookup controller_option. The logic is in plugin_utils/_trust."""

from __future__ import annotations

DOCUMENTATION = r"""
name: controller_option
short_description: Read a role option that affects the controller, ignoring facts of hosts
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Used by the roles of this collection for options that name a file, a command or a server of the controller, such as O(ignore:report_path).
  - A host can return facts with any module, and in Ansible facts take precedence over the inventory and over role defaults. This lookup evaluates the option
    without the facts of the host. It fails if the host sent the option itself or a variable that its value refers to.
  - The value must not refer to C(ansible_facts), to variables that are facts, to C(hostvars) or to C(vars).
options:
  _terms:
    description:
      - Names of options.
    type: list
    elements: str
    required: true
  default:
    description:
      - Value for options that are not set. Without it, such an option is an error.
    type: raw
"""

EXAMPLES = r"""
- name: Show the path of the report
  ansible.builtin.debug:
    msg: "{{ lookup('hccn.cluster.controller_option', 'report_path') }}"
"""

RETURN = r"""
_raw:
  description:
    - The values.
  type: list
  elements: raw
"""

from typing import Any

from ansible.plugins.lookup import LookupBase

from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import controller_options, guard


class LookupModule(LookupBase):
    """See DOCUMENTATION."""

    @guard.lookup
    def run(self, terms: list[Any], variables: Any = None, **kwargs: Any) -> list[Any]:
        self.set_options(var_options=variables, direct=kwargs)
        return [controller_options.value(self._templar, variables or {}, str(term), self.get_option("default")) for term in terms]
