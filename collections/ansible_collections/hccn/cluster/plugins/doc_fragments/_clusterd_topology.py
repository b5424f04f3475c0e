# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The option that describes which NPUs are connected to which leaf and QDD."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  topology:
    description:
      - Which NPUs are connected to which leaf switch, and by which module (QDD). This cannot be discovered, so describe it once, for example in the
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
          - The leaf that takes over. This is informational.
        type: str
      nodes:
        description:
          - Names in Kubernetes of the nodes to which this entry applies. By default it applies to all nodes.
        type: list
        elements: str
      qdds:
        description:
          - The modules that are connected to the leaf.
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
              - The module that takes over, port by port. This is informational.
            type: str
          ports:
            description:
              - The physical id of the NPU on each of the ports V(A) and V(B).
            type: dict
            required: true
"""
