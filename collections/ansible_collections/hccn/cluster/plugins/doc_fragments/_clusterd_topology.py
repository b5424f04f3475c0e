# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The option that maps NPUs to leaf switches and their QDD modules."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  topology:
    description:
      - Which NPUs are connected to which leaf switch, and by which module (QDD). It cannot be discovered, so define it once, for instance in the
        inventory.
    type: list
    elements: dict
    suboptions:
      leaf:
        description:
          - Name of the leaf switch.
        type: str
        required: true
      backup:
        description:
          - The leaf switch that takes over. Informational, not used by the module.
        type: str
      nodes:
        description:
          - Kubernetes names of the nodes that this entry applies to. By default all nodes.
        type: list
        elements: str
      qdds:
        description:
          - The modules of the leaf switch.
        type: list
        elements: dict
        required: true
        suboptions:
          qdd:
            description:
              - Name of the module.
            type: str
            required: true
          backup:
            description:
              - The module that takes over, port by port. Informational, not used by the module.
            type: str
          ports:
            description:
              - Physical id of the NPU at each of the ports V(A) and V(B).
            type: dict
            required: true
"""
