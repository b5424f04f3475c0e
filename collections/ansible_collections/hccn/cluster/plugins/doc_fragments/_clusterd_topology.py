# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The option that says which NPU hangs on which leaf and QDD."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  topology:
    description:
      - Which NPUs hang on which leaf switch, and by which module (QDD). Nothing tells it by itself, so it is written down once, for instance in the
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
          - The leaf that takes over. For people only.
        type: str
      nodes:
        description:
          - The nodes for which this entry holds, by their names in Kubernetes. Without it, all.
        type: list
        elements: str
      qdds:
        description:
          - The modules that hang on the leaf.
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
              - The module that takes over, port by port. For people only.
            type: str
          ports:
            description:
              - The NPU of each of the ports V(A) and V(B), by physical id.
            type: dict
            required: true
"""
