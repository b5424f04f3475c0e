# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The table of MindIE-LLM on several hosts: that of HCCL, and on each server the address of its container.

Source: Ascend/MindIE-LLM docs/zh/user_guide/user_manual/rank_table_file_configuration.md.
"""

from __future__ import annotations

from typing import Any, Dict

from . import hccl
from .model import Model

read = hccl.read


def build(model: Model) -> Dict[str, Any]:
    """A server without container_ip gets its server_id there: a container with the host's network has the host's address."""
    groups = tuple(group._replace(servers=tuple(
        server if server.container_ip else server._replace(container_ip=server.server_id) for server in group.servers)) for group in model.groups)
    return hccl.build(model._replace(groups=groups))
