# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter pod_states. The logic is in plugin_utils/_jobs."""

from __future__ import annotations

DOCUMENTATION = r"""
name: pod_states
short_description: Find the state of the pod of each host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Evaluates the answer of the API server about the pods that P(hccn.cluster.runner_pods#filter) planned.
  - One task evaluates it for all hosts, since the answer has some kilobytes for each pod.
positional: _input, pods
options:
  _input:
    description:
      - The C(resources) of the result of C(kubernetes.core.k8s_info) for the pods.
    type: list
    elements: dict
    required: true
  pods:
    description:
      - The names of the pods by host, from P(hccn.cluster.runner_pods#filter).
    type: dict
    required: true
seealso:
  - plugin: hccn.cluster.runner_pods
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Keep the states of the pods
  ansible.builtin.set_fact:
    pods: "{{ answer.resources | hccn.cluster.pod_states(runners.pods) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - By host, a dictionary with C(phase), V(Pending) for a pod that the server does not have; C(address), empty if the pod has none; and C(reason), why it
      is not ready, as the cluster words it.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs.state import of_pods
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def pod_states(resources: Any, pods: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """See DOCUMENTATION."""
    return of_pods(resources, pods)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"pod_states": pod_states})
