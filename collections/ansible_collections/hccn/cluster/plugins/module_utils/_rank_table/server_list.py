# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The servers and devices of a ``server_list``, collected once for all rules, however malformed the document is."""

from __future__ import annotations

from typing import Any, List, Mapping, NamedTuple, Optional

from .json_fields import Addresses, addresses_of, entries, number_of


class DeviceEntry(NamedTuple):
    """``id`` and ``rank`` are None if they are not numbers. ``server`` and ``place`` are the indexes of the server and of the device in it."""

    server: int
    place: int
    fields: Mapping[str, Any]
    id: Optional[int]
    rank: Optional[int]
    addresses: Addresses
    within: str = ""

    @property
    def where(self) -> str:
        return "%sserver_list[%d].device[%d]" % (self.within, self.server, self.place)


class ServerEntry(NamedTuple):
    """``within`` is the path to the ``server_list`` of this server, ending with a dot."""

    place: int
    fields: Mapping[str, Any]
    devices: List[DeviceEntry]
    within: str = ""

    @property
    def where(self) -> str:
        return "%sserver_list[%d]" % (self.within, self.place)


class ServerListTable(NamedTuple):
    """``product`` as device_info names it (910A, A2, A3, 950; here also 310P), or None."""

    fields: Mapping[str, Any]
    servers: List[ServerEntry]
    devices: List[DeviceEntry]
    product: Optional[str]


def server_entries(fields: Mapping[str, Any], within: str = "") -> List[ServerEntry]:
    """Return the servers of the ``server_list`` in ``fields``."""
    return [ServerEntry(index, server, [_device(index, place, device, within) for place, device in enumerate(entries(server, "device"))], within)
            for index, server in enumerate(entries(fields, "server_list"))]


def _device(server: int, place: int, fields: Mapping[str, Any], within: str) -> DeviceEntry:
    return DeviceEntry(server, place, fields, number_of(fields, "device_id"), number_of(fields, "rank_id"), addresses_of(fields, "device_ip"), within)


def view(document: Mapping[str, Any], product: Optional[str] = None) -> ServerListTable:
    """Return any JSON object as a ServerListTable. Only A3 has version 1.2, so the version implies the product if none is given."""
    servers = server_entries(document)
    devices = [device for server in servers for device in server.devices]
    return ServerListTable(document, servers, devices, product or ("A3" if document.get("version") == "1.2" else None))
