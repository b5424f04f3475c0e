# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter job_state. The logic is in plugin_utils/_jobs."""

from __future__ import annotations

DOCUMENTATION = r"""
name: job_state
short_description: Summarize the state of the Kubernetes job of a collective
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Evaluates the answers of the API server about a job that P(hccn.cluster.volcano_job#filter) or P(hccn.cluster.mpi_job#filter) planned, and about its pods.
positional: _input, job
options:
  _input:
    description:
      - The result of C(kubernetes.core.k8s_info) for the pods of the job.
    type: dict
    required: true
  job:
    description:
      - The result of C(kubernetes.core.k8s_info) for the job. Empty if the job was not read yet.
    type: dict
    required: true
  planned:
    description:
      - The result of the filter that planned the job.
    type: dict
    required: true
  nodes:
    description:
      - The nodes that the job lists for its workers.
    type: list
    elements: str
    default: []
seealso:
  - plugin: hccn.cluster.volcano_job
    plugin_type: filter
  - plugin: hccn.cluster.mpi_job
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Wait until the pods of a job are scheduled
  kubernetes.core.k8s_info:
    kind: Pod
    namespace: "{{ planned.namespace }}"
    label_selectors: ["hccn.cluster/job={{ planned.name }}"]
  register: pods
  until: (pods | hccn.cluster.job_state({}, planned=planned)).placed
  retries: 60
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(placed), whether all pods have a node; C(phase), the phase of the job; and C(ended), whether this phase is final.
    - C(workers) has a dictionary with C(name) and C(node) for each worker in rank order. If the pods no longer exist, the nodes are those of O(nodes).
    - C(problem) is a sentence about a job that did not complete, with the reasons given by the cluster if pods were not scheduled. Otherwise it is empty.
  type: dict
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs.state import state
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def job_state(pods: Mapping[str, Any], job: Mapping[str, Any], planned: Mapping[str, Any], nodes: Sequence[str] = ()) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return state(pods, job, planned["name"], planned["replicas"], nodes).as_dict()


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"job_state": job_state})
