# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter switch_upgrade. The logic is in plugin_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
name: switch_upgrade
short_description: Continue a run of the role switch_upgrade after an event
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Used by the role P(hccn.cluster.switch_upgrade#role), which writes C(file) of the result to its state file and stops if there is a C(refusal).
  - The filter itself reads, writes and switches nothing.
positional: _input, event
options:
  _input:
    description:
      - The run, with C(leaf), C(direction) (V(failover) or V(switchback)), C(path) (the state file) and C(check_mode), or the result of the filter for the
        previous event.
    type: dict
    required: true
  event:
    description:
      - V(opened) - the state file was read. Requires O(text) and O(resolution).
      - V(planned) - the jobs are known. Requires O(jobs).
      - V(checked) - each job was checked in check mode. Requires O(results) and O(confirm).
      - V(compared) - the state file was read again. Requires O(text).
      - V(started) - the next job is about to be switched. V(switched) - the job was switched.
      - V(failed) - a task failed after the first V(started). Requires O(action) and O(result).
    type: str
    choices: [opened, planned, checked, compared, started, switched, failed]
    required: true
  text:
    description:
      - Content of the state file, empty if there is no file.
    type: raw
  resolution:
    description:
      - Whether a switch that an earlier run left unfinished took place, V(done) or V(not_done).
    type: str
  jobs:
    description:
      - The jobs, as in RV(hccn.cluster.clusterd_job_info#module:jobs).
    type: list
    elements: dict
  results:
    description:
      - Results of M(hccn.cluster.clusterd_nic_switch) in a loop over the jobs, each with C(job).
    type: list
    elements: dict
  confirm:
    description:
      - Whether the operator confirmed that jobs may be switched.
    type: bool
  action:
    description:
      - The name of the module or action that failed.
    type: str
  result:
    description:
      - Result of O(action).
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
    - The run. C(plan) has the jobs to switch, C(ended) the moved jobs that no longer run, and C(moved) the moved jobs by id.
    - C(file) is the new content of the state file. C(refusal) is the reason why the run must stop, V(null) if it may continue. C(summary) is a sentence.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._clusterd.switch_upgrade import after
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def switch_upgrade(run: Any, event: str, **given: Any) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return after(run, event, given)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"switch_upgrade": switch_upgrade})
