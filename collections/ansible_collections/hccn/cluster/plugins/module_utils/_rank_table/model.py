# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The format-independent model of a rank table: groups of servers, with their devices in the order of their ranks."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import ParseError
from .json_fields import number_of, text_of

NO_MORE: Mapping[str, Any] = {}
"""For entries that have only keys of the model."""

COMPLETED = "completed"
"""The only ``status`` that readers accept. For others, HCCL reads the file again every second for 30 minutes."""


class Device(NamedTuple):
    """One rank. If ``rank`` or ``logical_id`` is None, the position determines it. ``sdid`` is the super device id.

    ``more`` holds the keys of its entry that are not part of the model, unchanged.
    """

    id: int
    address: Optional[str] = None
    sdid: Optional[int] = None
    rank: Optional[int] = None
    logical_id: Optional[int] = None
    more: Mapping[str, Any] = NO_MORE


class Server(NamedTuple):
    """``host`` is the inventory name; for a table that was read, the server_id."""

    host: str
    server_id: str
    devices: Tuple[Device, ...] = ()
    host_ip: Optional[str] = None
    container_ip: Optional[str] = None
    super_pod_id: Optional[str] = None
    more: Mapping[str, Any] = NO_MORE


class Group(NamedTuple):
    """Servers whose ranks are numbered together. ``name`` is a group_id, ``prefill`` or ``decode``; empty if the format has only one group."""

    name: str
    servers: Tuple[Server, ...]
    more: Mapping[str, Any] = NO_MORE


class Model(NamedTuple):
    """``version`` as it is written; empty for a table without a version."""

    groups: Tuple[Group, ...]
    version: str
    status: str = COMPLETED
    more: Mapping[str, Any] = NO_MORE

    @property
    def servers(self) -> Tuple[Server, ...]:
        """The servers of all groups, in order."""
        return tuple(server for group in self.groups for server in group.servers)

    @property
    def rank_count(self) -> int:
        return sum(len(server.devices) for server in self.servers)


def one_group(servers: Iterable[Server], version: str, status: str = COMPLETED, more: Optional[Mapping[str, Any]] = None) -> Model:
    """Return a model of a format without groups."""
    return Model((Group("", tuple(servers)),), version, status, more or NO_MORE)


def object_list(fields: Mapping[str, Any], key: str, where: str = "") -> List[Mapping[str, Any]]:
    """Return the objects of a list, or an empty list if it is missing. Raises ParseError for other values."""
    members = fields.get(key, [])
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        raise ParseError("%s%s is not a list of objects" % (where, key))
    return members


def required_text(fields: Mapping[str, Any], key: str, where: str) -> str:
    """Return the value of a key as text. Raises ParseError if it is neither a string nor an integer."""
    text = text_of(fields, key)
    if text is None:
        raise ParseError("%s.%s is %s" % (where, key, "neither a string nor an integer" if key in fields else "missing"))
    return text


def optional_number(fields: Mapping[str, Any], key: str, where: str) -> Optional[int]:
    """Return the value of a key as a number; None if it is missing. Raises ParseError for other values."""
    if key not in fields:
        return None
    found = number_of(fields, key)
    if found is None:
        raise ParseError("%s.%s is not a number: %r" % (where, key, fields[key]))
    return found


def other_keys(fields: Mapping[str, Any], known: Sequence[str]) -> Mapping[str, Any]:
    """Return the keys of an entry that are not in ``known``, with their values."""
    found = {key: value for key, value in fields.items() if key not in known}
    return found or NO_MORE


def read_device(fields: Mapping[str, Any], where: str, known: Sequence[str]) -> Device:
    """Return the model of a device as versions 1.x write it."""
    device_id = optional_number(fields, "device_id", where)
    if device_id is None:
        raise ParseError("%s.device_id is missing" % where)
    return Device(device_id, text_of(fields, "device_ip") or None, optional_number(fields, "super_device_id", where), optional_number(fields, "rank_id", where),
                  optional_number(fields, "device_logical_id", where), other_keys(fields, known))


def super_pods(fields: Mapping[str, Any], where: str = "") -> Dict[str, str]:
    """Return the super_pod_id of each server_id from ``super_pod_list``."""
    pods: Dict[str, str] = {}
    for index, pod in enumerate(object_list(fields, "super_pod_list", where)):
        place = "%ssuper_pod_list[%d]" % (where, index)
        name = required_text(pod, "super_pod_id", place)
        for member, server in enumerate(object_list(pod, "server_list", place + ".")):
            pods[required_text(server, "server_id", "%s.server_list[%d]" % (place, member))] = name
    return pods


def super_pod_list(servers: Iterable[Server]) -> List[Dict[str, Any]]:
    """Return the value of ``super_pod_list``: the super pods in the order of their servers."""
    members: Dict[str, List[Dict[str, str]]] = {}
    for server in servers:
        if server.super_pod_id is not None:
            members.setdefault(server.super_pod_id, []).append({"server_id": server.server_id})
    return [{"super_pod_id": name, "server_list": found} for name, found in members.items()]


def numbered(servers: Iterable[Server]) -> Iterator[Tuple[Server, int]]:
    """Yield each server with the default rank of its first device."""
    rank = 0
    for server in servers:
        yield server, rank
        rank += len(server.devices)
