# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read the table of a ConfigMap into the fields that ClusterD knows, and write them as ClusterD does: in its order, without unknown or empty fields.

ClusterD reads the table with the JSON package of Go: letter case of keys does not matter, null is the same as no key, and a number where a string belongs is an
error. Source: the structures in Ascend/mind-cluster component/clusterd/pkg/domain/epranktable/ranktable_util.go.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .._core.errors import ParseError
from .._core.words import printable


def _value(fields: Mapping[str, Any], name: str, kind: type, empty: Any, where: str) -> Any:
    found = None
    for key, value in fields.items():
        if key.lower() == name and value is not None:
            found = value
    if found is None:
        return empty
    if not isinstance(found, kind):
        raise ParseError("%s%s of the rank table is %s, not a %s" % (where, name, printable(found), "list" if kind is list else "string"))
    return found


def _text(fields: Mapping[str, Any], name: str, where: str = "") -> str:
    text: str = _value(fields, name, str, "", where)
    return text


def _objects(fields: Mapping[str, Any], name: str, where: str = "") -> List[Dict[str, Any]]:
    found: List[Dict[str, Any]] = _value(fields, name, list, [], where)
    if not all(isinstance(one, dict) for one in found):
        raise ParseError("%s%s of the rank table is not a list of objects" % (where, name))
    return found


def _without_empty(fields: Mapping[str, Any], *names: str) -> Dict[str, Any]:
    """Return the fields without those of ``names`` that are empty (``omitempty``)."""
    return {key: value for key, value in fields.items() if value or key not in names}


class TableServer(NamedTuple):
    """``devices`` are the fields of the devices as ClusterD writes them."""

    server_id: str
    host_ip: str
    container_ip: str
    hardware_type: str
    devices: List[Dict[str, str]]

    def fields(self, with_host_ip: bool) -> Dict[str, Any]:
        return _without_empty({"device": self.devices, "server_id": self.host_ip if with_host_ip else self.server_id, "server_ip": self.container_ip,
                               "hardware_type": self.hardware_type}, "device", "server_ip", "hardware_type")


class SuperPod(NamedTuple):
    """``server_ids`` is None for a super pod without a list of servers."""

    id: str
    server_ids: Optional[List[str]]


class Table(NamedTuple):
    """The table of one instance."""

    status: str
    version: str
    server_count: str
    servers: List[TableServer]
    super_pods: List[SuperPod]

    def group(self, group_id: str, deploy_server: str, with_host_ip: bool) -> Dict[str, Any]:
        """Return the group of the instance in a global table. ``with_host_ip``: ``host_ip`` replaces ``server_id``, as from ClusterD 7.3.0 on."""
        addresses = {server.server_id: server.host_ip for server in self.servers}
        pods = [{"super_pod_id": pod.id, "server_list": None if pod.server_ids is None else [
            {"server_id": addresses.get(server_id, "") if with_host_ip else server_id} for server_id in pod.server_ids]} for pod in self.super_pods]
        return _without_empty({"group_id": group_id, "deploy_server": deploy_server, "server_count": self.server_count,
                               "server_list": [server.fields(with_host_ip) for server in self.servers], "super_pod_list": pods},
                              "deploy_server", "super_pod_list")


def _device(device: Mapping[str, Any], place: int, where: str) -> Dict[str, str]:
    _text(device, "device_logical_id", where)
    return _without_empty({"device_id": _text(device, "device_id", where), "device_ip": _text(device, "device_ip", where),
                           "super_device_id": _text(device, "super_device_id", where), "device_logical_id": str(place),
                           "rank_id": _text(device, "rank_id", where)}, "super_device_id")


def _server(server: Mapping[str, Any], where: str) -> TableServer:
    devices = [_device(device, place, "%sdevice[%d]." % (where, place)) for place, device in enumerate(_objects(server, "device", where))]
    return TableServer(_text(server, "server_id", where), _text(server, "host_ip", where), _text(server, "container_ip", where),
                       _text(server, "hardware_type", where), devices)


def _super_pod(pod: Mapping[str, Any], where: str) -> SuperPod:
    servers = _value(pod, "server_list", list, None, where)
    return SuperPod(_text(pod, "super_pod_id", where), None if servers is None else [
        _text(server, "server_id", where) for server in _objects(pod, "server_list", where)])


def read_table(document: Mapping[str, Any]) -> Table:
    """Return the fields of a table. Raises ParseError for a table that ClusterD cannot read."""
    servers = [_server(server, "server_list[%d]." % place) for place, server in enumerate(_objects(document, "server_list"))]
    pods = [_super_pod(pod, "super_pod_list[%d]." % place) for place, pod in enumerate(_objects(document, "super_pod_list"))]
    return Table(_text(document, "status"), _text(document, "version"), _text(document, "server_count"), servers, pods)
