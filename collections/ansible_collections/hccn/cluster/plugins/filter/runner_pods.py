# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell of the filter runner_pods; the logic is in plugin_utils/_jobs."""

from __future__ import annotations

DOCUMENTATION = r"""
name: runner_pods
short_description: Make the pods from which a fabric is checked in Kubernetes
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Makes the manifests of one pod a node. Each holds the devices of its node, so that the scheduler puts it on a node only whose devices are free, and
    waits. P(hccn.cluster.check_fabric#role) measures from inside of them by the same plan and modules as over ssh.
  - What the cluster would refuse is looked at before anything is sent.
  - The manifests were checked against the published schemas. They were not run on a cluster with NPUs.
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
    - A dictionary with C(objects), the manifests in the order to create them, and C(problems), what the cluster would refuse about them, in the shape
      that all checks of this collection return.
    - C(pods) has the name of each host's pod, C(container) the name of their container, C(name) and C(namespace) are those of all, C(deadline) is the seconds
      after which a pod is ended.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import runners
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def runner_pods(given: Any) -> dict[str, Any]:
    """See DOCUMENTATION."""
    try:
        return runners.planned(runners.read(given))
    except InputError as error:
        raise AnsibleFilterError(f"runner_pods: {error.sentence()}") from None


class FilterModule:
    """Ansible's filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return guard.filters({"runner_pods": runner_pods})
