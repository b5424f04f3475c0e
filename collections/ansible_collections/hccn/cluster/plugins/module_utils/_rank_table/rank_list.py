# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The format of HCCL on Ascend 950: version 2.0 (rank_list), in which numbers are JSON numbers.

Source: hicann/hccl docs/zh/user_guide/cluster_info_config/rank_table_config_a5.md. The addresses of the network layers (``level_list``)
are supplied by the user, since no tool reports them all.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Set

from .._core.errors import ParseError
from .json_fields import text_of
from .model import Device, Model, Server, object_list, one_group, optional_number, other_keys

VERSION = "2.0"
LEVELS = "level_list"
LOCAL_ID = "local_id"
"""The key of the device's id in the topology file of its server."""

_KEYS = ("status", "version", "rank_count", "rank_list")
_DEVICE_KEYS = ("rank_id", "device_id")


def build(model: Model) -> Dict[str, Any]:
    """Return the table. Ranks are numbered over the servers in their order, and within a server over its devices in their order."""
    ranks: List[Dict[str, Any]] = []
    for server in model.servers:
        for device in server.devices:
            fields: Dict[str, Any] = {"rank_id": len(ranks) if device.rank is None else device.rank, LOCAL_ID: device.id, "device_id": device.id}
            fields.update(device.more)
            ranks.append(fields)
    return {"status": model.status, "version": model.version, "rank_count": len(ranks), "rank_list": ranks, **model.more}


def _instance(device: Mapping[str, Any], where: str) -> Optional[str]:
    """Return the network instance of the lowest layer, which takes the place of a server in this format."""
    levels = object_list(device, LEVELS, where + ".")
    return text_of(levels[0], "net_instance_id") if levels else None


def read(document: Mapping[str, Any]) -> Model:
    """Return the model of a table. The format has no servers. A new one begins when the lowest network instance changes or a device id repeats."""
    servers: List[Server] = []
    seen: Set[int] = set()
    instance: Optional[str] = None
    for place, fields in enumerate(object_list(document, "rank_list")):
        where = "rank_list[%d]" % place
        device_id = optional_number(fields, "device_id" if "device_id" in fields else LOCAL_ID, where)
        if device_id is None:
            raise ParseError("%s.device_id is missing" % where)
        device = Device(device_id, rank=optional_number(fields, "rank_id", where), more=other_keys(fields, _DEVICE_KEYS))
        found = _instance(fields, where)
        if servers and found == instance and device_id not in seen:
            servers[-1] = servers[-1]._replace(devices=servers[-1].devices + (device,))
        else:
            seen.clear()
            name = found or ""
            servers.append(Server(name, name, (device,)))
        seen.add(device_id)
        instance = found
    return one_group(servers, text_of(document, "version") or "", text_of(document, "status") or "", other_keys(document, _KEYS))
