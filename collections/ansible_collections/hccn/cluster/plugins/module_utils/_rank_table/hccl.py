# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The format that HCCL reads (RANK_TABLE_FILE): version 1.0, for all products but Ascend 950.

Source: hicann/hccl docs/zh/user_guide/cluster_info_config/rank_table_config_{a2,a3,910}.md. All values are strings.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

from .assemble import Server

VERSION = "1.0"
COMPLETED = "completed"
"""The only ``status`` with which HCCL starts; with any other it reads the file again, each second for 30 minutes."""

KEYS = ("status", "version", "server_count")
SERVER_KEYS = ("server_id", "host_ip")
DEVICE_KEYS = ("device_id", "device_ip", "device_port", "host_port", "device_vnic_port", "super_device_id", "backup_device_ip",
               "backup_device_port", "rank_id")
"""The scalars that HCCL reads (hcomm topoinfo_ranktableConcise.cc). It does not look at others."""


def build(servers: Sequence[Server]) -> Dict[str, Any]:
    """The table: ranks count up over the servers in their order, and within a server over its devices in their order."""
    server_list: List[Dict[str, Any]] = []
    rank = 0
    for server in servers:
        devices = [{"device_id": str(device.id), "device_ip": device.address, "rank_id": str(number)}
                   for number, device in enumerate(server.devices, rank)]
        rank += len(devices)
        server_list.append({"server_id": server.server_id, "device": devices})
    return {"status": COMPLETED, "version": VERSION, "server_count": str(len(server_list)), "server_list": server_list}


def rank_count(table: Dict[str, Any]) -> int:
    """How many ranks a table has that passed its checks."""
    return sum(len(server["device"]) for server in table["server_list"])
