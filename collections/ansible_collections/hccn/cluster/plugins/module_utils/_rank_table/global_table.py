# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The global rank table (server_group_list) of MindIE-Motor, as ClusterD writes it: version 1.0, and 1.2 for super pods. All values are strings.

Source: Ascend/mind-cluster component/clusterd/pkg/domain/epranktable, and docs/zh/scheduling/06_api/04_clusterd/05_service_configuration_apis.md.
Ranks start at 0 in each group. Group 0 holds the coordinators and group 1 the controllers, both without devices; the instances follow.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .hccl import SUPER_POD_VERSION
from .json_fields import text_of
from .model import Device, Group, Model, Server, numbered, object_list, other_keys, read_device, required_text, super_pod_list, super_pods

COORDINATOR, CONTROLLER = "0", "1"
FIRST_INSTANCE = 2

_KEYS = ("version", "status", "server_group_list")
_GROUP_KEYS = ("group_id", "server_count", "server_list", "super_pod_list")
_SERVER_KEYS = ("server_id", "server_ip", "device")
_DEVICE_KEYS = ("device_id", "device_ip", "super_device_id", "device_logical_id", "rank_id")


def _device(device: Device, place: int, rank: int) -> Dict[str, Any]:
    fields: Dict[str, Any] = {"device_id": str(device.id)}
    if device.address is not None:
        fields["device_ip"] = device.address
    if device.sdid is not None:
        fields["super_device_id"] = str(device.sdid)
    fields["device_logical_id"] = str(place if device.logical_id is None else device.logical_id)
    if device.more:
        fields.update(device.more)
    fields["rank_id"] = str(rank if device.rank is None else device.rank)
    return fields


def _server(server: Server, first_rank: int) -> Dict[str, Any]:
    fields: Dict[str, Any] = {"server_id": server.server_id, "server_ip": server.container_ip or server.server_id}
    fields.update(server.more)
    if server.devices:
        fields["device"] = [_device(device, place, first_rank + place) for place, device in enumerate(server.devices)]
    return fields


def _group(group: Group, version: str) -> Dict[str, Any]:
    fields: Dict[str, Any] = {"group_id": group.name, "server_count": str(len(group.servers)), **group.more}
    fields["server_list"] = [_server(server, rank) for server, rank in numbered(group.servers)]
    pods = super_pod_list(group.servers) if version == SUPER_POD_VERSION else []
    if pods:
        fields["super_pod_list"] = pods
    return fields


def build(model: Model) -> Dict[str, Any]:
    """Return the table, with the groups in the order of the model."""
    return {"version": model.version, "status": model.status, "server_group_list": [_group(group, model.version) for group in model.groups], **model.more}


def read(document: Mapping[str, Any]) -> Model:
    """Return the model of a table. Raises ParseError for a malformed document."""
    groups: List[Group] = []
    for index, fields in enumerate(object_list(document, "server_group_list")):
        where = "server_group_list[%d]" % index
        pods = super_pods(fields, where + ".")
        servers: List[Server] = []
        for place, server in enumerate(object_list(fields, "server_list", where + ".")):
            inner = "%s.server_list[%d]" % (where, place)
            server_id = required_text(server, "server_id", inner)
            devices = tuple(read_device(device, "%s.device[%d]" % (inner, number), _DEVICE_KEYS)
                            for number, device in enumerate(object_list(server, "device", inner + ".")))
            servers.append(Server(server_id, server_id, devices, None, text_of(server, "server_ip"), pods.get(server_id), other_keys(server, _SERVER_KEYS)))
        groups.append(Group(required_text(fields, "group_id", where), tuple(servers), other_keys(fields, _GROUP_KEYS)))
    return Model(tuple(groups), text_of(document, "version") or "", text_of(document, "status") or "", other_keys(document, _KEYS))
