# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell of the filter measurable_hosts; the logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: measurable_hosts
short_description: Choose the NPUs that a fabric check can measure
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads for each host what M(hccn.cluster.device_info) or M(hccn.cluster.perf_tools_info) returned there, and returns the hosts in the form in which
    P(hccn.cluster.pair_plan#filter) takes them. NPUs that cannot or must not be measured are left out, each with the reason.
  - An NPU is left out where it has an error, a link that is down, no address or one that is no IP address, the same address as another one, or processes.
    Of two NPUs with the same address both are left out and named with each other, since it is unknown which of them is right.
  - An answer that is not as the modules return it leaves out that NPU, or that host.
  - Walks over all hosts. Use it in a task that runs once.
positional: _input, hostvars
options:
  _input:
    description:
      - The names of the hosts.
    type: list
    elements: str
    required: true
  hostvars:
    description:
      - The variables of all hosts, as Ansible has them under this name. They are read one by one.
      - Of each host C(check_fabric_leaf), C(check_fabric_labels), C(check_fabric_super_pod), C(check_fabric_rack), C(check_fabric_control_address) and
        C(check_fabric_control_port) are taken over.
    type: dict
    required: true
  register_name:
    description:
      - The variable under which the hosts registered the result.
    type: str
    required: true
  control_port:
    description:
      - The port where a host has none of its own.
    type: int
    required: true
  allow_busy:
    description:
      - Whether NPUs with processes are measured.
    type: bool
    default: false
seealso:
  - plugin: hccn.cluster.pair_plan
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Which NPUs can be measured?
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts | hccn.cluster.measurable_hosts(hostvars, register_name='npus', control_port=18514) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(hosts), for P(hccn.cluster.pair_plan#filter), and C(left_out), for C(left_out) of M(hccn.cluster.fabric_verdict), each with
      C(host), C(device) (null for the host as a whole), C(code) and C(message).
    - The codes are those of the errors of an NPU, V(address_not_set), V(address_invalid), V(address_duplicate), V(device_busy) and V(answer_not_understood).
  type: dict
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleError, AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.measurable import measurable
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.input_numbers import whole_number
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def measurable_hosts(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], register_name: str, control_port: Any,
                     allow_busy: bool = False) -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        found = measurable(hosts, HostVars(hostvars).of, register_name, whole_number("control_port", control_port), bool(allow_busy))
    except InputError as error:
        raise AnsibleFilterError(f"measurable_hosts: {error.sentence()}") from None
    except AnsibleError as error:
        raise AnsibleFilterError(f"measurable_hosts: a variable of a host cannot be read: {error}") from error
    return {"hosts": found.hosts, "left_out": found.left_out}


class FilterModule:
    """Ansible's filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return guard.filters({"measurable_hosts": measurable_hosts})
