# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The table of the vLLM connector LLMDataDist (DISAGGREGATED_PREFILL_RANK_TABLE_PATH), with the NPUs that prefill and those that decode.

All values are strings.

Source: vllm-project/vllm-ascend v0.11.0-dev vllm_ascend/distributed/llmdatadist_c_mgr_connector.py. It reads both lists, and selects
the device of its tensor-parallel rank among those of its own server_id. ``cluster_id`` is numbered over both lists from 1.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Tuple

from .json_fields import number_of, text_of
from .model import Device, Group, Model, Server, object_list, other_keys, read_device, required_text

VERSION = "1.2"
ROLES = ("prefill", "decode")

_KEYS = ("version", "status", "server_count", "prefill_device_list", "decode_device_list")
_DEVICE_KEYS = ("server_id", "super_pod_id", "cluster_id", "device_id", "device_ip", "super_device_id", "device_logical_id", "rank_id")


def _device(server: Server, device: Device, rank: int) -> Dict[str, Any]:
    fields: Dict[str, Any] = {"server_id": server.server_id, "device_id": str(device.id)}
    if device.address is not None:
        fields["device_ip"] = device.address
    if server.super_pod_id is not None:
        fields["super_pod_id"] = server.super_pod_id
    if device.sdid is not None:
        fields["super_device_id"] = str(device.sdid)
    if device.more:
        fields.update(device.more)
    fields["cluster_id"] = str((rank if device.rank is None else device.rank) + 1)
    return fields


def build(model: Model) -> Dict[str, Any]:
    """Return the table. A role without a group has an empty list, since the connector requires both lists."""
    lists: Dict[str, List[Dict[str, Any]]] = {}
    rank = 0
    for role in ROLES:
        members = [(server, device) for group in model.groups if group.name == role for server in group.servers for device in server.devices]
        lists[role] = [_device(server, device, number) for number, (server, device) in enumerate(members, rank)]
        rank += len(members)
    servers = {server.server_id for server in model.servers}
    return {"status": model.status, "version": model.version, "server_count": str(len(servers)), "prefill_device_list": lists["prefill"],
            "decode_device_list": lists["decode"], **model.more}


def read(document: Mapping[str, Any]) -> Model:
    """Return the model of a table, with the devices grouped by server. Raises ParseError for a malformed document."""
    groups = tuple(Group(role, _servers(document, role + "_device_list")) for role in ROLES)
    return Model(groups, text_of(document, "version") or "", text_of(document, "status") or "", other_keys(document, _KEYS))


def _servers(document: Mapping[str, Any], key: str) -> Tuple[Server, ...]:
    found: Dict[str, List[Device]] = {}
    pods: Dict[str, str] = {}
    for place, fields in enumerate(object_list(document, key)):
        where = "%s[%d]" % (key, place)
        server_id = required_text(fields, "server_id", where)
        cluster = number_of(fields, "cluster_id")
        device = read_device(fields, where, _DEVICE_KEYS)
        found.setdefault(server_id, []).append(device._replace(rank=cluster - 1 if cluster else None))
        if text_of(fields, "super_pod_id"):
            pods[server_id] = str(text_of(fields, "super_pod_id"))
    return tuple(Server(server_id, server_id, tuple(devices), super_pod_id=pods.get(server_id)) for server_id, devices in found.items())
