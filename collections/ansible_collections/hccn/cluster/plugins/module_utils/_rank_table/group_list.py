# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The old format without a version (group_list), which HCCL reads on 910A only. It is read, so that such tables can be turned into new ones.

Source: hicann/hccl docs/zh/user_guide/cluster_info_config/rank_table_config_910.md.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .model import Device, Model, Server, needed, objects, one_group, read_device
from .view import text_of

_DEVICE_KEYS = ("device_id", "device_ip", "rank_id")


def read(document: Mapping[str, Any]) -> Model:
    """The model of a table: instances (pods) on one server are one server. Ranks go by the order. Raises ParseError."""
    found: Dict[str, List[Device]] = {}
    for index, group in enumerate(objects(document, "group_list")):
        for place, instance in enumerate(objects(group, "instance_list", "group_list[%d]." % index)):
            where = "group_list[%d].instance_list[%d]" % (index, place)
            devices = found.setdefault(needed(instance, "server_id", where), [])
            devices += [read_device(device, "%s.devices[%d]" % (where, number), _DEVICE_KEYS)
                        for number, device in enumerate(objects(instance, "devices", where + "."))]
    return one_group((Server(server_id, server_id, tuple(devices)) for server_id, devices in found.items()), "", text_of(document, "status") or "")
