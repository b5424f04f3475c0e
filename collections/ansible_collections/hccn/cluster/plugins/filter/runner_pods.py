# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter runner_pods. The logic is in plugin_utils/_jobs."""

from __future__ import annotations

DOCUMENTATION = r"""
name: runner_pods
short_description: Create the pods that check a fabric in Kubernetes
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Creates the manifests of one pod per node. Each pod requests the devices of its node, so that it is scheduled only to a node whose devices are free, and
    then waits. P(hccn.cluster.check_fabric#role) runs its measurements inside these pods, with the same plan and modules as over ssh.
  - Checks the manifests by the rules of the cluster before they are sent.
  - The manifests were validated against the published schemas. They were not run on a cluster with NPUs.
extends_documentation_fragment:
  - hccn.cluster._job.runners
seealso:
  - module: hccn.cluster.rdma_perf
"""

EXAMPLES = r"""
- name: Show the manifests
  ansible.builtin.debug:
    msg: "{{ ({'image': 'registry.example.com/python:3.11', 'nodes': ['node-a', 'node-b'], 'queue': 'checks'} | hccn.cluster.runner_pods).objects }}"
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(objects), the manifests in the order of their creation, and C(problems), the reasons for which the cluster would refuse them, in
      the format of all checks of this collection.
    - C(pods) has the pod name of each host, C(container) is the name of the container in each pod, C(name) and C(namespace) are common to all pods, and
      C(deadline) is the number of seconds after which the pods are terminated.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import runners
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def runner_pods(given: Any) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return runners.planned(runners.read(given))


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"runner_pods": runner_pods})
