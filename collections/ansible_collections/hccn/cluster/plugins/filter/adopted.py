# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter adopted. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: adopted
short_description: Create inventory variables from the current configuration of a host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Used by the playbook C(hccn.cluster.adopt). With the returned variables, the playbook C(hccn.cluster.bring_up) changes nothing.
  - All keys of C(hccn.conf) are adopted except C(tls_enable), which C(bring_up_tls_state) declares.
  - Settings that differ between an NPU and the file are not adopted but returned as a problem. Address, netmask and gateway are adopted together or not at
    all.
  - Text that Ansible would evaluate as a template is not adopted, since it comes from the host.
positional: _input, hccn_conf
options:
  _input:
    description:
      - Result of M(hccn.cluster.device_info) for the host. Call the module in check mode, so that it does not write C(tls_enable) to C(hccn.conf).
    type: dict
    required: true
  hccn_conf:
    description:
      - Result of M(hccn.cluster.hccn_conf) for the host, called in check mode and without settings. With C(diff), a missing newline at the end of the
        file is detected as well.
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
    - C(variables) has C(bring_up_network), the C(config) of M(hccn.cluster.device_network) with the addresses; C(bring_up_config), the C(config) of
      M(hccn.cluster.hccn_conf) with the other settings of the file; and C(bring_up_tls_state), which is V(enabled) or V(disabled) if all NPUs and the
      file agree, otherwise V(unchanged).
    - C(problems) lists the problems of M(hccn.cluster.hccn_conf) and the settings that were not adopted, with the reason.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.adoption import adopt
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def adopted(info: Any, hccn_conf: Any) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return adopt(info, hccn_conf)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"adopted": adopted})
