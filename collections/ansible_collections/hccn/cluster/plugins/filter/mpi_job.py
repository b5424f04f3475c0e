# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell of the filter mpi_job; the logic is in plugin_utils/_jobs."""

from __future__ import annotations

DOCUMENTATION = r"""
name: mpi_job
short_description: Make an MPIJob that measures a collective
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Makes the manifests of an MPIJob (C(kubeflow.org/v2beta1), Kubeflow's MPI Operator) that runs C(hccl_test) or C(nccl-tests) over the pods of a
    Kubernetes cluster. The launcher pod starts C(mpirun) when all workers are ready, the worker pods hold the devices.
  - What the operator refuses or cannot make pods of is looked at before anything is sent.
extends_documentation_fragment:
  - hccn.cluster._job
seealso:
  - plugin: hccn.cluster.volcano_job
    plugin_type: filter
"""

EXAMPLES = r"""
# The keys are those of volcano_job, which has more examples.
- name: Refuse a job that the cluster would refuse
  ansible.builtin.assert:
    that: planned.problems | length == 0
    fail_msg: "{{ planned.problems | map(attribute='message') | join('; ') }}"
  vars:
    planned: "{{ {'image': 'nccl-tests:2.19', 'tool': 'nccl_tests', 'mpi': 'openmpi', 'replicas': 4} | hccn.cluster.mpi_job }}"
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(objects), the manifests in the order to create them, the job last, and C(problems), what the cluster would refuse about it,
      in the shape that all checks of this collection return.
    - C(api_version), C(kind), C(name) and C(namespace) are those of the job. C(replicas) is the number of workers, C(deadline) the seconds
      after which a pod is ended.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import mpi
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs.job import read
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def mpi_job(job: Any) -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        return mpi.planned(read(job))
    except InputError as error:
        raise AnsibleFilterError(f"mpi_job: {error.sentence()}") from None


class FilterModule:
    """Ansible's filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return guard.filters({"mpi_job": mpi_job})
