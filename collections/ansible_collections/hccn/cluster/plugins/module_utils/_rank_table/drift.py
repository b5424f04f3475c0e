# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Compare a rank table with the hosts, to find what has changed since it was written."""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from .._core.errors import HccnError
from .._core.problems import Problem
from . import local_comm_res, rank_list
from .host_result import Result, devices_by_id, super_pod_of, vnic_address
from .json_fields import entries, packed
from .model import Device, Model, Server

HOST, DEVICE, ADDRESS, SDID, SUPER_POD = "drift_host", "drift_device", "drift_address", "drift_super_device_id", "drift_super_pod"
RULES = (HOST, DEVICE, ADDRESS, SDID, SUPER_POD)

Found = Dict[int, Mapping[str, Any]]
Key = Union[bytes, str]
"""A comparable form of an address, since an IPv6 address has many spellings."""


def _key(address: str) -> Key:
    return packed(address) or address


def _addresses(device: Mapping[str, Any]) -> Tuple[str, ...]:
    return tuple(str(address) for address in (device.get("address"), vnic_address(device)) if address)


def drift(model: Model, results: Mapping[str, Result], server_ids: Optional[Mapping[str, str]] = None) -> List[Problem]:
    """Return the differences between a table and ``results``, those of device_info by host. Hosts and NPUs missing in the table are warnings.

    A server belongs to the host that has its id in ``server_ids``, else to the host of that name, else to the host that has most of its addresses.
    """
    problems: List[Problem] = []
    found: Dict[str, Found] = {}
    for host, result in results.items():
        try:
            found[host] = devices_by_id(result)
        except HccnError as error:
            problems.append(Problem(HOST, "error", "cannot be compared with the table: %s" % error.message, host=host))
    owners: Dict[Key, str] = {_key(address): host for host, devices in found.items() for device in devices.values() for address in _addresses(device)}
    if model.version == local_comm_res.ENDPOINT_VERSION:
        return problems + list(_endpoints(model, owners))
    listed: Dict[str, Dict[int, Device]] = {}
    for server in model.servers:
        if not server.devices:
            continue
        owner = _host_of(server, results, server_ids or {}, owners)
        if owner is None and model.version == rank_list.VERSION:
            problems.append(Problem(HOST, "warning", "no host has an address of the devices in net instance %s: they cannot be compared" % server.server_id))
        elif owner is None:
            problems.append(Problem(HOST, "error", "the table has the server %s, which does not match any host" % server.server_id))
        else:
            listed.setdefault(owner, {}).update((device.id, device) for device in server.devices)
            if owner in found:
                problems.extend(_server(owner, server, found[owner]))
    problems.extend(_missing(found, listed))
    return problems


def _host_of(server: Server, results: Mapping[str, Result], server_ids: Mapping[str, str], owners: Mapping[Key, str]) -> Optional[str]:
    for known, name in server_ids.items():
        if str(name) == server.server_id and known in results:
            return known
    if server.server_id in results:
        return server.server_id
    votes = Counter(owners[part] for device in server.devices for part in map(_key, _written(device)) if part in owners)
    return votes.most_common(1)[0][0] if votes else None


def _written(device: Device) -> List[str]:
    """Return the addresses of an entry. Version 2.0 lists them by network layer."""
    return (device.address or "").split(",") + [str(entry.get("addr")) for level in entries(device.more, rank_list.LEVELS)
                                                for entry in entries(level, "rank_addr_list")]


def _endpoints(model: Model, owners: Mapping[Key, str]) -> Iterator[Problem]:
    """Compare the addresses of endpoints, which do not identify an NPU. device_info does not read addresses of hosts and EIDs, so these are skipped."""
    for device in (device for server in model.servers for device in server.devices):
        address = device.address or ""
        if device.more.get("placement") == "device" and packed(address) is not None and _key(address) not in owners:
            yield Problem(ADDRESS, "error", "the endpoint %s is not the address of any NPU of the hosts" % address)


def _server(host: str, server: Server, found: Found) -> Iterator[Problem]:
    for device in server.devices:
        present = found.get(device.id)
        if present is None:
            yield Problem(DEVICE, "error", "the table has device %d, which the host does not have" % device.id, host=host, device=device.id)
            continue
        yield from _address(host, device, present)
        pod = super_pod_of(present)
        if device.sdid is not None and pod is not None and int(pod["sdid"]) != device.sdid:
            yield Problem(SDID, "error", "device %d has the super device id %s, but %d in the table" % (device.id, pod["sdid"], device.sdid),
                          host=host, device=device.id)
    pods = {str(pod["super_pod_id"]) for pod in map(super_pod_of, found.values()) if pod}
    if server.super_pod_id is not None and pods and server.super_pod_id not in pods:
        yield Problem(SUPER_POD, "error", "the host is in super pod %s, but in %s in the table" % (", ".join(sorted(pods)), server.super_pod_id), host=host)


def _address(host: str, device: Device, present: Mapping[str, Any]) -> Iterator[Problem]:
    known = _addresses(present)
    # An NPU with several ports has several addresses, of which device_info reads the first.
    written = (device.address or "").split(",") if device.address else []
    if written and set(map(_key, written)).isdisjoint(map(_key, known)) and ("address" in present or known):
        yield Problem(ADDRESS, "error", "device %d has %s, but %s in the table" % (
            device.id, "the address " + known[0] if known else "no address", device.address), host=host, device=device.id)


def _missing(found: Mapping[str, Found], listed: Mapping[str, Mapping[int, Device]]) -> Iterator[Problem]:
    for host, devices in found.items():
        if host not in listed:
            yield Problem(HOST, "warning", "the host is not in the table", host=host)
            continue
        unlisted = sorted(set(devices).difference(listed[host]))
        if unlisted:
            yield Problem(DEVICE, "warning", "device %s of this host is not in the table" % ", ".join(map(str, unlisted)), host=host)
