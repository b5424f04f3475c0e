# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The option OPTION_LOCAL_COMM_RES of LLM-DataDist and HIXL: the addresses of one NPU.

Versions 1.0 and 1.2 resemble a table of HCCL without ranks; version 1.3 lists endpoints.

Source: hicann/hixl docs/zh/api/python/LLMConfig.md and docs/zh/api/cpp/HIXL-interface.md.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .._core.errors import InputError
from . import hccl
from .json_fields import text_of
from .model import Device, Model, Server, object_list, one_group, other_keys, required_text

ENDPOINT_VERSION = "1.3"
"""Requires HDK 25.5.0 and toolkit 9.1.0 or newer. It has no limit of 512 links per card."""

_KEYS = ("version", "net_instance_id", "endpoint_list")
_ENDPOINT_KEYS = ("comm_id",)


def build(model: Model) -> Dict[str, Any]:
    """Return the document. Raises InputError for a model of more than one device (version 1.3: of more than one host)."""
    if model.version == ENDPOINT_VERSION:
        return _endpoints(model)
    if model.rank_count != 1:
        raise InputError("local_comm_res of version %s describes one NPU, not %d: select one host, and one NPU with devices" % (
            model.version, model.rank_count))
    table = hccl.build(model)
    del table["server_count"]
    for server in table["server_list"]:
        for device in server["device"]:
            del device["rank_id"]
    return table


def _endpoints(model: Model) -> Dict[str, Any]:
    if len(model.servers) > 1:
        raise InputError("local_comm_res describes one host, not %d" % len(model.servers))
    table: Dict[str, Any] = {"version": model.version}
    for server in model.servers:
        if "net_instance_id" in server.more:
            table["net_instance_id"] = server.more["net_instance_id"]
        elif server.super_pod_id is not None:
            table["net_instance_id"] = "superpod_%s" % server.super_pod_id
        table["endpoint_list"] = [_endpoint(device) for device in server.devices]
    return table


def _endpoint(device: Device) -> Dict[str, Any]:
    fields = {"protocol": device.more.get("protocol", "roce"), "comm_id": device.address, "placement": device.more.get("placement", "device")}
    fields.update(device.more)
    return fields


def read(document: Mapping[str, Any]) -> Model:
    """Return the model of a document. An endpoint of version 1.3 becomes a device with its index as id. Raises ParseError."""
    if text_of(document, "version") != ENDPOINT_VERSION:
        return hccl.read(document)
    devices: List[Device] = []
    for place, fields in enumerate(object_list(document, "endpoint_list")):
        devices.append(Device(place, required_text(fields, "comm_id", "endpoint_list[%d]" % place), more=other_keys(fields, _ENDPOINT_KEYS)))
    name = text_of(document, "net_instance_id") or ""
    more = {"net_instance_id": name} if name else {}
    servers = [Server(name, name, tuple(devices), more=more)] if devices or name else []
    return one_group(servers, ENDPOINT_VERSION, more=other_keys(document, _KEYS))
