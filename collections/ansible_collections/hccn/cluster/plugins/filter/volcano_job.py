# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter volcano_job. The logic is in plugin_utils/_jobs."""

from __future__ import annotations

DOCUMENTATION = r"""
name: volcano_job
short_description: Create a Volcano Job that measures a collective
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Creates the manifests of a Volcano Job (C(batch.volcano.sh/v1alpha1)) that runs C(hccl_test) or C(nccl-tests) over the pods of a Kubernetes
    cluster. One master pod starts C(mpirun). The worker pods hold the devices. Either all pods are scheduled together or none.
  - Checks the manifests by the rules of Volcano's admission webhook before they are sent. Only the cluster can check whether the queue exists, is open and is
    a leaf.
extends_documentation_fragment:
  - hccn.cluster._job
seealso:
  - plugin: hccn.cluster.mpi_job
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the manifests of a collective over two nodes
  ansible.builtin.debug:
    msg: "{{ (job | hccn.cluster.volcano_job).objects }}"
  vars:
    job:
      name: hccl-check-1
      image: registry.example.com/hccl-test:8.2
      nodes: [node-a, node-b]
      queue: checks
      labels:
        ring-controller.atlas: ascend-910b
      node_selector:
        accelerator-type: module-910b-8
      environment:
        HCCL_SOCKET_IFNAME: eth0

- name: Fail if the cluster would refuse the job
  ansible.builtin.assert:
    that: planned.problems | length == 0
    fail_msg: "{{ planned.problems | map(attribute='message') | join('; ') }}"
  vars:
    planned: "{{ {'image': 'nccl-tests:2.19', 'tool': 'nccl_tests', 'mpi': 'openmpi', 'replicas': 4} | hccn.cluster.volcano_job }}"
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(objects), the manifests in the order of their creation, with the job last, and C(problems), the reasons for which the cluster would
      refuse it, in the format of all checks of this collection.
    - C(api_version), C(kind), C(name) and C(namespace) are those of the job. C(replicas) is the number of workers. C(deadline) is the number of seconds
      after which the pods are terminated.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import volcano
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs.job import read
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def volcano_job(job: Any) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return volcano.planned(read(job))


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"volcano_job": volcano_job})
