# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter mpi_job. The logic is in plugin_utils/_jobs."""

from __future__ import annotations

DOCUMENTATION = r"""
name: mpi_job
short_description: Create an MPIJob that measures a collective
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Creates the manifests of an MPIJob (C(kubeflow.org/v2beta1), Kubeflow's MPI Operator) that runs C(hccl_test) or C(nccl-tests) over the pods of a
    Kubernetes cluster. The launcher pod starts C(mpirun) when all workers are ready. The worker pods hold the devices.
  - Checks the manifests by the rules of the operator and of pods, so that a job that cannot run is found before it is sent.
extends_documentation_fragment:
  - hccn.cluster._job
seealso:
  - plugin: hccn.cluster.volcano_job
    plugin_type: filter
"""

EXAMPLES = r"""
# The input has the same keys as that of volcano_job, which has more examples.
- name: Fail if the cluster would refuse the job
  ansible.builtin.assert:
    that: planned.problems | length == 0
    fail_msg: "{{ planned.problems | map(attribute='message') | join('; ') }}"
  vars:
    planned: "{{ {'image': 'nccl-tests:2.19', 'tool': 'nccl_tests', 'mpi': 'openmpi', 'replicas': 4} | hccn.cluster.mpi_job }}"
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

from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import mpi
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs.job import read
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def mpi_job(job: Any) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return mpi.planned(read(job))


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"mpi_job": mpi_job})
