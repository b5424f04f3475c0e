# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Arrange the servers of a table: order of the ranks, groups of instances, device ids inside containers."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from .._core.errors import InputError
from .._core.numbers import is_count
from .._core.problems import Problem
from .._core.words import natural
from . import global_table, vllm_pd
from .assemble import RULE, Expand, HostAddresses
from .model import Device, Group, Server
from .super_pod import sdid_parts

ORDERS = ("given", "host", "super_pod", "rack")
GROUPED = ("global", "vllm_pd")
"""Formats with groups of servers."""

_GLOBAL_IDS = {"coordinator": global_table.COORDINATOR, "controller": global_table.CONTROLLER}


def _by_name(name: str) -> List[Tuple[int, int, str]]:
    """Return a key for natural order with letters before numbers. It must never change, since it determines ranks that are in use."""
    return [(-kind, value, text) for kind, value, text in natural(name)]


def _server_index(server: Server) -> int:
    parts = sdid_parts(server.devices[0].sdid) if server.devices and server.devices[0].sdid is not None else None
    return parts.server_index if parts else -1


def ordered(servers: Sequence[Server], order: str, rack: Callable[[str], Optional[str]]) -> Tuple[Server, ...]:
    """Return the servers in the order of their ranks. The sort is stable.

    ``super_pod`` sorts by super pod, then by server index. Raises InputError if a host has no rack or no super pod.
    """
    if order == "host":
        return tuple(sorted(servers, key=lambda server: _by_name(server.host)))
    if order == "super_pod":
        _all_have("super_pod", servers, [server.super_pod_id for server in servers])
        return tuple(sorted(servers, key=lambda server: (_by_name(str(server.super_pod_id)), _server_index(server))))
    if order == "rack":
        racks = {server.host: rack(server.host) for server in servers}
        _all_have("rack", servers, [racks[server.host] for server in servers])
        return tuple(sorted(servers, key=lambda server: _by_name(str(racks[server.host]))))
    return tuple(servers)


def _all_have(name: str, servers: Sequence[Server], values: Sequence[Optional[str]]) -> None:
    missing = [server.host for server, value in zip(servers, values) if value is None]
    if missing:
        hint = "set the variable rank_table_rack, or the option racks" if name == "rack" else "gather super_pod with device_info, or use another order"
        raise InputError("rank_order: %s: the %s of %s is unknown; %s" % (name, name.replace("_", " "), ", ".join(missing), hint))


def logical(servers: Sequence[Server]) -> Tuple[Tuple[Server, ...], List[Problem]]:
    """Return the servers with the device ids inside a container that has exactly these devices, and a warning if these differ from the physical ids."""
    problems: List[Problem] = []
    found: List[Server] = []
    for server in servers:
        odd = next(((place, device.id) for place, device in enumerate(server.devices) if device.id != place), None)
        if odd and not problems:
            problems.append(Problem(
                RULE, "warning", "device_id %d is NPU %d: HCCL requires the physical id (ranktable config devId[%d], but local devId[%d])" % (
                    odd[0], odd[1], odd[0], odd[1]), host=server.host, device=odd[1],
                hint="only the vLLM connector identifies its NPUs by the ids inside the container; no table suits both"))
        found.append(server._replace(devices=tuple(device._replace(id=place) for place, device in enumerate(server.devices))))
    return tuple(found), problems


def _group_names(name: str, wanted: Sequence[Mapping[str, Any]]) -> List[str]:
    """Return the name of each group as the format writes it. Raises InputError."""
    given = [str(group["name"]) for group in wanted]
    if name == "vllm_pd":
        unknown = [word for word in given if word not in vllm_pd.ROLES]
        if unknown:
            raise InputError("groups: %s: format vllm_pd has the groups prefill and decode" % ", ".join(unknown))
        names = given
    else:
        instance = global_table.FIRST_INSTANCE
        names = []
        for word in given:
            if word not in _GLOBAL_IDS and not is_count(word):
                names.append(str(instance))
                instance += 1
            else:
                names.append(_GLOBAL_IDS.get(word, word))
    duplicates = sorted({word for word in names if names.count(word) > 1})
    if duplicates:
        raise InputError("groups: duplicate name %s" % ", ".join(duplicates))
    return names


def _part(server: Server, group: Mapping[str, Any], expand: Expand) -> Server:
    """Return a server with only the devices that are in the group. Raises InputError."""
    present = [device.id for device in server.devices]
    numbers: Set[int] = set(expand(group.get("devices") or ["all"], present))
    missing = sorted(numbers.difference(present))
    if missing:
        raise InputError("groups: %s: %s has no device %s in the table" % (
            group["name"], server.host, ", ".join(map(str, missing))))
    devices: Tuple[Device, ...] = tuple(device for device in server.devices if device.id in numbers)
    address = (group.get("container_ips") or {}).get(server.host)
    return server._replace(devices=devices, container_ip=str(address) if address else server.container_ip)


def grouped(name: str, servers: Sequence[Server], wanted: Optional[Sequence[Mapping[str, Any]]], addresses_of: Callable[[str], HostAddresses],
            expand: Expand) -> Tuple[Tuple[Group, ...], List[Problem]]:
    """Return the groups of a table, and a warning for each server without a group. ``wanted`` is the option ``groups``.

    ``addresses_of`` returns the addresses of hosts without NPUs, for coordinators and controllers. Raises InputError.
    """
    if name not in GROUPED:
        if wanted:
            raise InputError("groups is for the formats %s, not for %s" % (" and ".join(GROUPED), name))
        return (Group("", tuple(servers)),), []
    if not wanted:
        if name == "vllm_pd":
            raise InputError("format vllm_pd needs groups: the hosts that prefill and those that decode")
        return (Group(str(global_table.FIRST_INSTANCE), tuple(servers)),), []
    known = {server.host: server for server in servers}
    groups: List[Group] = []
    taken: Dict[Tuple[str, int], str] = {}
    for group, title in zip(wanted, _group_names(name, wanted)):
        members = [_without_devices(host, addresses_of, group) if name == "global" and title in _GLOBAL_IDS.values() else
                   _part(_known(host, known, group), group, expand) for host in group["hosts"]]
        for server in members:
            for device in server.devices:
                other = taken.setdefault((server.host, device.id), str(group["name"]))
                if other != str(group["name"]):
                    raise InputError("groups: device %d of %s is in %s and in %s" % (device.id, server.host, other, group["name"]))
        more = {"deploy_server": str(group["deploy_server"])} if group.get("deploy_server") is not None else {}
        groups.append(Group(title, tuple(members), more))
    return tuple(groups), _without_group(servers, {host for host, _device in taken})


def _known(host: str, known: Mapping[str, Server], group: Mapping[str, Any]) -> Server:
    if host not in known:
        raise InputError("groups: %s: %s is not among the hosts of the table" % (group["name"], host))
    return known[host]


def _without_devices(host: str, addresses_of: Callable[[str], HostAddresses], group: Mapping[str, Any]) -> Server:
    server_id, host_ip, container_ip = addresses_of(host)
    address = (group.get("container_ips") or {}).get(host)
    return Server(host, server_id, (), host_ip, str(address) if address else container_ip)


def _without_group(servers: Iterable[Server], used: Set[str]) -> List[Problem]:
    return [Problem(RULE, "warning", "is in no group, so it is not in the table", host=server.host) for server in servers if server.host not in used]
