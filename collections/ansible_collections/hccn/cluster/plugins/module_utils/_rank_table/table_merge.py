# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Merge rank tables, or convert one to another format: all servers, with new ranks."""

from __future__ import annotations

from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import InputError
from . import global_table, hccl, local_comm_res, rank_list
from .formats import AUTO, version_of
from .model import Device, Group, Model, Server
from .selection import GROUPED


class SourceTable(NamedTuple):
    """A table to merge. ``name`` identifies it in messages, for instance its path."""

    name: str
    model: Model


def version_for(name: str, wanted: str, sources: Sequence[SourceTable]) -> str:
    """Return the version of the merged table. Raises InputError for tables that cannot be merged."""
    versions = {source.model.version for source in sources}
    if local_comm_res.ENDPOINT_VERSION in versions:
        raise InputError("a local_comm_res of version %s does not identify NPUs, so it cannot be merged" % local_comm_res.ENDPOINT_VERSION)
    layered = rank_list.VERSION in versions
    if wanted == AUTO and layered and versions == {rank_list.VERSION} and name == "hccl":
        return rank_list.VERSION
    version = version_of(name, wanted, (), any(server.super_pod_id is not None for source in sources for server in source.model.servers))
    if layered != (version == rank_list.VERSION) or (layered and versions != {rank_list.VERSION}):
        raise InputError("tables of version %s cannot be combined with or converted to other versions, since their addresses differ" % rank_list.VERSION)
    return version


def merged(sources: Sequence[SourceTable], name: str, version: str) -> Tuple[Group, ...]:
    """Return the groups of the merged table. Entries of one server become one, with devices by id. Raises InputError if two tables have the same device."""
    if not sources:
        raise InputError("no tables are given, so there is no rank table to write")
    if version == rank_list.VERSION:
        return (Group("", tuple(_fresh(server, version) for source in sources for server in source.model.servers)),)
    if name not in GROUPED or not all(_has_groups(source.model) for source in sources):
        return (Group("", _united([(source.name, source.model.servers) for source in sources], version)),)
    parts: Dict[str, List[Tuple[str, Tuple[Server, ...]]]] = {}
    more: Dict[str, Mapping[str, object]] = {}
    instance = global_table.FIRST_INSTANCE
    for source in sources:
        for group in source.model.groups:
            title = group.name
            if name == "global" and title not in (global_table.COORDINATOR, global_table.CONTROLLER):
                title, instance = str(instance), instance + 1
            parts.setdefault(title, []).append((source.name, group.servers))
            more.setdefault(title, group.more)
    return tuple(Group(title, _united(found, version), more[title]) for title, found in parts.items())


def _has_groups(model: Model) -> bool:
    return all(group.name for group in model.groups)


def _united(parts: Sequence[Tuple[str, Sequence[Server]]], version: str) -> Tuple[Server, ...]:
    first: Dict[str, Server] = {}
    owner: Dict[Tuple[str, int], str] = {}
    for name, servers in parts:
        for server in servers:
            for device in server.devices:
                other = owner.setdefault((server.server_id, device.id), name)
                if other != name:
                    raise InputError("device %d of server %s is in both %s and %s" % (device.id, server.server_id, other, name))
            known = first.get(server.server_id)
            devices = server.devices if known is None else tuple(sorted(known.devices + server.devices, key=lambda device: device.id))
            first[server.server_id] = (server if known is None else known)._replace(devices=devices)
    return tuple(_fresh(server, version) for server in first.values())


def _fresh(server: Server, version: str) -> Server:
    """Remove the old ranks and, for version 1.0, the keys of super pods: HCCL ignores these keys there, but other readers do not."""
    single = version == hccl.VERSION
    devices: Tuple[Device, ...] = tuple(device._replace(rank=None, sdid=None if single else device.sdid) for device in server.devices)
    return server._replace(devices=devices, super_pod_id=None if single else server.super_pod_id)


def selected(groups: Sequence[Group], hosts: Optional[Sequence[str]], wanted: Callable[[str, Sequence[int]], List[int]]) -> Tuple[Group, ...]:
    """Return the groups with only the servers that ``hosts`` names, in that order (None: all), and only the devices that ``wanted`` returns.

    Raises InputError for a server or a device that is in no table.
    """
    present = {server.server_id for group in groups for server in group.servers}
    missing = [host for host in hosts or () if host not in present]
    if missing:
        raise InputError("no table has the server %s" % ", ".join(missing))
    place = {host: index for index, host in enumerate(hosts or ())}
    found: List[Group] = []
    for group in groups:
        servers = [_selected(server, wanted) for server in group.servers if hosts is None or server.server_id in place]
        found.append(group._replace(servers=tuple(sorted(servers, key=lambda server: place.get(server.server_id, 0)))))
    return tuple(found)


def _selected(server: Server, wanted: Callable[[str, Sequence[int]], List[int]]) -> Server:
    present = [device.id for device in server.devices]
    numbers = set(wanted(server.host, present))
    missing = sorted(numbers.difference(present))
    if missing and present:
        raise InputError("server %s has no device %s in the tables" % (server.server_id, ", ".join(map(str, missing))))
    return server._replace(devices=tuple(device for device in server.devices if device.id in numbers))
