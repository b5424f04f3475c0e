# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter collective_outcome. The logic is in plugin_utils/_collective."""

from __future__ import annotations

DOCUMENTATION = r"""
name: collective_outcome
short_description: Summarize the measurement of a collective
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns the state of a collective, the lines to show, and whether it fails the play. The role P(hccn.cluster.check_collective#role) uses it.
positional: _input
options:
  _input:
    description:
      - Result of M(hccn.cluster.hccl_perf) or M(hccn.cluster.nccl_perf), empty if neither was called.
    type: dict
    required: true
  operation:
    description:
      - The collective.
    type: str
    required: true
  hosts:
    description:
      - Number of hosts, shown for a collective that is only planned.
    type: int
    required: true
  busy:
    description:
      - Busy NPUs, as returned by P(hccn.cluster.collective_placement#filter).
    type: list
    elements: str
    default: []
  unready:
    description:
      - Hosts that are not ready, as returned by P(hccn.cluster.collective_placement#filter).
    type: list
    elements: str
    default: []
  skip_message:
    description:
      - Line to show if the tool is not installed. If it is empty, a missing tool is a failure.
    type: str
    default: ""
  job_problem:
    description:
      - Sentence about the job in Kubernetes, as returned by P(hccn.cluster.job_state#filter). It is appended to the message of a failure.
    type: str
    default: ""
  slow_hint:
    description:
      - Sentence to append if the collective is slow and there is no finding.
    type: str
    default: ""
  fail_on:
    description:
      - Outcomes for which C(fails) is true. V(never) is none, V(failed) is a failure, V(slow) and V(any) include a slow collective.
    type: str
    choices: [never, failed, slow, any]
    default: slow
  check_mode:
    description:
      - Whether the play runs in check mode.
    type: bool
    default: false
seealso:
  - plugin: hccn.cluster.collective_placement
    plugin_type: filter
  - plugin: hccn.cluster.job_state
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show what was measured
  ansible.builtin.debug:
    msg: "{{ (collective | hccn.cluster.collective_outcome(operation='all_reduce', hosts=4)).lines }}"
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(state), C(lines) and C(fails). The state is V(skipped), V(unready), V(busy), V(planned) or V(measured). C(lines) is a string,
      or a list of strings if more than one group was measured or the collective is slow.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.plugin_utils._collective.outcome import Run, outcome
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def collective_outcome(result: Mapping[str, Any], operation: str, hosts: int, **about: Any) -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        return outcome(result, Run(operation, hosts, **about)).as_dict()
    except TypeError as error:
        raise AnsibleFilterError(f"collective_outcome: {error}") from error


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"collective_outcome": collective_outcome})
