# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The format that HCCL reads (RANK_TABLE_FILE): version 1.0, and 1.2 for super pods of A3. All values are strings.

Source: hicann/hccl docs/zh/user_guide/cluster_info_config/rank_table_config_{a2,a3,910}.md.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .json_fields import text_of
from .model import Device, Model, Server, numbered, object_list, one_group, other_keys, read_device, required_text, super_pod_list, super_pods

VERSION = "1.0"
SUPER_POD_VERSION = "1.2"
"""The only version with which HCCL reads super_pod_list (hcomm topoinfo_ranktableParser.cc); it ignores the list in other versions."""

KEYS = ("status", "version", "server_count")
SERVER_KEYS = ("server_id", "host_ip")
DEVICE_KEYS = ("device_id", "device_ip", "device_port", "host_port", "device_vnic_port", "super_device_id", "backup_device_ip",
               "backup_device_port", "rank_id")
"""The scalars that HCCL reads (hcomm topoinfo_ranktableConcise.cc). It ignores others."""

_MODEL_KEYS = KEYS + ("server_list", "super_pod_list")
_MODEL_SERVER_KEYS = SERVER_KEYS + ("container_ip", "device")
_GROUP_LIST_DEVICE_KEYS = ("device_id", "device_ip", "rank_id")
_MODEL_DEVICE_KEYS = ("device_id", "device_ip", "super_device_id", "rank_id", "device_logical_id")


def _device(device: Device, rank: int) -> Dict[str, Any]:
    fields: Dict[str, Any] = {"device_id": str(device.id)}
    if device.address is not None:
        fields["device_ip"] = device.address
    if device.sdid is not None:
        fields["super_device_id"] = str(device.sdid)
    if device.logical_id is not None:
        fields["device_logical_id"] = str(device.logical_id)
    if device.more:
        fields.update(device.more)
    fields["rank_id"] = str(rank if device.rank is None else device.rank)
    return fields


def _server(server: Server, first_rank: int) -> Dict[str, Any]:
    fields: Dict[str, Any] = {"server_id": server.server_id}
    if server.host_ip is not None:
        fields["host_ip"] = server.host_ip
    if server.container_ip is not None:
        fields["container_ip"] = server.container_ip
    fields.update(server.more)
    fields["device"] = [_device(device, rank) for rank, device in enumerate(server.devices, first_rank)]
    return fields


def build(model: Model) -> Dict[str, Any]:
    """Return the table. Ranks are numbered over the servers in their order, and within a server over its devices in their order."""
    server_list: List[Dict[str, Any]] = [_server(server, rank) for server, rank in numbered(model.servers)]
    table = {"status": model.status, "version": model.version, "server_count": str(len(server_list)), "server_list": server_list, **model.more}
    if model.version == SUPER_POD_VERSION:
        table["super_pod_list"] = super_pod_list(model.servers)
    return table


def read(document: Mapping[str, Any]) -> Model:
    """Return the model of a table. Raises ParseError for a malformed document."""
    pods = super_pods(document)
    servers: List[Server] = []
    for index, fields in enumerate(object_list(document, "server_list")):
        where = "server_list[%d]" % index
        server_id = required_text(fields, "server_id", where)
        devices = tuple(read_device(device, "%s.device[%d]" % (where, place), _MODEL_DEVICE_KEYS)
                        for place, device in enumerate(object_list(fields, "device", where + ".")))
        servers.append(Server(server_id, server_id, devices, text_of(fields, "host_ip"), text_of(fields, "container_ip"), pods.get(server_id),
                              other_keys(fields, _MODEL_SERVER_KEYS)))
    return one_group(servers, text_of(document, "version") or "", text_of(document, "status") or "", other_keys(document, _MODEL_KEYS))


def read_group_list(document: Mapping[str, Any]) -> Model:
    """Return the model of a table of the old format without a version, which HCCL reads on 910A only. Raises ParseError.

    Instances (pods) on one server become one server, and ranks follow the order. The format is read only, to convert such tables.
    Source: hicann/hccl docs/zh/user_guide/cluster_info_config/rank_table_config_910.md.
    """
    found: Dict[str, List[Device]] = {}
    for index, group in enumerate(object_list(document, "group_list")):
        for place, instance in enumerate(object_list(group, "instance_list", "group_list[%d]." % index)):
            where = "group_list[%d].instance_list[%d]" % (index, place)
            devices = found.setdefault(required_text(instance, "server_id", where), [])
            devices += [read_device(device, "%s.devices[%d]" % (where, number), _GROUP_LIST_DEVICE_KEYS)
                        for number, device in enumerate(object_list(instance, "devices", where + "."))]
    return one_group((Server(server_id, server_id, tuple(devices)) for server_id, devices in found.items()), "", text_of(document, "status") or "")
