# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell of the filter adopted; the logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: adopted
short_description: Turn a host as it is into variables of the inventory
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Used by the playbook C(hccn.cluster.adopt). With the variables that it returns, the playbook C(hccn.cluster.bring_up) finds nothing to change.
  - All keys of C(hccn.conf) are taken but C(tls_enable), which is declared by C(bring_up_tls_state).
  - What differs between an NPU and the file is not taken and returned as a problem. A netmask or gateway goes with its address.
  - Text that the inventory would read as a template is not taken either, since it comes from the host.
positional: _input, hccn_conf
options:
  _input:
    description:
      - What M(hccn.cluster.device_info) returned for the host. It is best called in check mode, so that it does not write C(tls_enable) into C(hccn.conf).
    type: dict
    required: true
  hccn_conf:
    description:
      - What M(hccn.cluster.hccn_conf) returned for the host, called in check mode and without settings. With C(diff), a missing newline at the end of the
        file is found, too.
    type: dict
    required: true
seealso:
  - module: hccn.cluster.device_info
  - module: hccn.cluster.hccn_conf
"""

EXAMPLES = r"""
- name: Read the NPUs
  hccn.cluster.device_info:
  check_mode: true
  register: npus

- name: Read hccn.conf
  hccn.cluster.hccn_conf:
    fail_on: none
  check_mode: true
  register: file

- name: Show the variables
  ansible.builtin.debug:
    msg: "{{ npus | hccn.cluster.adopted(file) }}"
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(variables) and C(problems).
    - C(variables) has C(bring_up_network), the C(config) of M(hccn.cluster.device_network), with the addresses; C(bring_up_config), the C(config) of
      M(hccn.cluster.hccn_conf), with what else is in the file; and C(bring_up_tls_state), which is V(enabled) or V(disabled) where all NPUs and the file
      are so, else V(unchanged).
    - C(problems) are those of M(hccn.cluster.hccn_conf), and what was not taken and why.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.adoption import adopt
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def adopted(info: Any, hccn_conf: Any) -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        return adopt(info, hccn_conf)
    except InputError as error:
        raise AnsibleFilterError(f"adopted: {error.sentence()}") from None


class FilterModule:
    """Ansible's filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return guard.filters({"adopted": adopted})
