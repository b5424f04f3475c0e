# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell of the filter switch_upgrade; the logic is in plugin_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
name: switch_upgrade
short_description: Continue a run of the role switch_upgrade after an event
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Used by the role P(hccn.cluster.switch_upgrade#role), which writes C(file) of the result to its state file and stops where there is a C(refusal).
  - Nothing is read, written or switched by the filter itself.
positional: _input, event
options:
  _input:
    description:
      - The run, with C(leaf), C(direction) (V(failover) or V(switchback)), C(path) (the state file) and C(check_mode), or what the filter returned for the
        event before.
    type: dict
    required: true
  event:
    description:
      - V(opened) - the state file was read. Takes O(text) and O(resolution).
      - V(planned) - the jobs are known. Takes O(jobs).
      - V(checked) - each job was checked in check mode. Takes O(results) and O(confirm).
      - V(compared) - the state file was read again. Takes O(text).
      - V(started) - the next job is about to be switched. V(switched) - it was.
      - V(failed) - a task failed on the way. Takes O(action) and O(result).
    type: str
    choices: [opened, planned, checked, compared, started, switched, failed]
    required: true
  text:
    description:
      - The content of the state file, empty where there is none.
    type: raw
  resolution:
    description:
      - What became of a switch that an earlier run left open, V(done) or V(not_done).
    type: str
  jobs:
    description:
      - The jobs, as in RV(hccn.cluster.clusterd_job_info#module:jobs).
    type: list
    elements: dict
  results:
    description:
      - What M(hccn.cluster.clusterd_nic_switch) returned in a loop over the jobs, each with C(job).
    type: list
    elements: dict
  confirm:
    description:
      - Whether the operator confirmed that jobs are switched.
    type: bool
  action:
    description:
      - The name of the module or action that failed.
    type: str
  result:
    description:
      - What it returned.
    type: dict
seealso:
  - module: hccn.cluster.clusterd_job_info
  - module: hccn.cluster.clusterd_nic_switch
"""

EXAMPLES = r"""
- name: Plan the switches
  ansible.builtin.set_fact:
    run: "{{ run | hccn.cluster.switch_upgrade('planned', jobs=found.jobs) }}"
"""

RETURN = r"""
_value:
  description:
    - The run. C(plan) has the jobs to be switched, C(ended) those that were moved and run no longer, C(moved) by id those that are moved.
    - C(file) is what the state file has to hold. C(refusal) says why the run must stop, V(null) where it may go on. C(summary) is a sentence.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._clusterd.switch_upgrade import after
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def switch_upgrade(run: Any, event: str, **given: Any) -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        return after(run, event, given)
    except InputError as error:
        raise AnsibleFilterError(f"switch_upgrade: {error.sentence()}") from None


class FilterModule:
    """Ansible's filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return guard.filters({"switch_upgrade": switch_upgrade})
