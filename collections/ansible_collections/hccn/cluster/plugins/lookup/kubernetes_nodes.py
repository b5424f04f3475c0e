# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The lookup kubernetes_nodes. The client is in module_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
name: kubernetes_nodes
short_description: List the nodes of a Kubernetes cluster by label
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns the names of all nodes with the given labels, in natural order. A label such as that of a node pool selects all of its nodes.
  - Only lists nodes. It needs PyYAML on the controller, and neither C(kubernetes.core) nor C(kubectl).
options:
  _terms:
    description:
      - Label selectors, each in the form of C(kubectl get nodes -l), such as V(accelerator=huawei-Ascend910). A node with any of them is returned.
    type: list
    elements: str
    required: true
  kubeconfig:
    description:
      - Path of the kubeconfig on the controller. By default the one that C(kubectl) would use.
    type: str
  context:
    description:
      - Context in the kubeconfig. By default the current one.
    type: str
  timeout:
    description:
      - Seconds that a list may take.
    type: float
    default: 30
seealso:
  - plugin: hccn.cluster.runner_pods
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the nodes of a pool
  ansible.builtin.debug:
    msg: "{{ query('hccn.cluster.kubernetes_nodes', 'example.com/pool=train,accelerator=huawei-Ascend910') }}"
"""

RETURN = r"""
_raw:
  description:
    - The names of the nodes, as in their label C(kubernetes.io/hostname), without duplicates.
  type: list
  elements: str
"""

from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import kube
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.words import natural
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

HOSTNAME = "kubernetes.io/hostname"


class LookupModule(LookupBase):
    """See DOCUMENTATION."""

    @guard.lookup
    def run(self, terms: list[Any], variables: Any = None, **kwargs: Any) -> list[Any]:
        self.set_options(var_options=variables, direct=kwargs)
        try:
            api = kube.Api(self.get_option("kubeconfig") or "", self.get_option("context") or "", float(self.get_option("timeout")))
            nodes = [node for term in terms for node in api.items("v1", "nodes", labels=str(term))]
        except HccnError as error:
            raise AnsibleError(f"kubernetes_nodes: {error.sentence()}") from None
        return sorted({kube.labels_of(node).get(HOSTNAME) or kube.name_of(node) for node in nodes}, key=natural)
