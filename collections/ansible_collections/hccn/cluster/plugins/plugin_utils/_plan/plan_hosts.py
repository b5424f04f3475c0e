# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read the hosts of a pair plan from the input of the filter."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._device.host import MAX_DEVICE_ID
from ...module_utils._fabric.schedule import ip_text
from .input_numbers import whole_number


@dataclass(frozen=True)
class PlanHost:
    """A host of a plan. ``devices``: address by id. ``entry``: the input, for its other fields."""

    name: str
    devices: Mapping[int, str]
    control_address: str
    control_port: int
    entry: Mapping[str, Any]

    def control(self) -> dict[str, Any]:
        """Return the entry in ``hosts`` of a plan."""
        return {"control_address": self.control_address, "control_port": self.control_port}


def read_hosts(hosts: Any, least: int = 2) -> list[PlanHost]:
    """Return all hosts. Raises InputError for fewer than ``least``, for duplicates, and for hosts that could not be reached."""
    if not isinstance(hosts, Sequence) or isinstance(hosts, str):
        raise InputError("pair_plan takes a list of hosts, each with host, devices, control_address and control_port")
    known = [_host(entry) for entry in hosts]
    if len(known) < least:
        raise InputError(f"a pair plan needs two hosts or more, not {len(known)}")
    _unique("host", ((host.name, host.name) for host in known))
    _unique("control address", ((f"{host.control_address} port {host.control_port}", host.name) for host in known))
    _unique("address", ((address, f"{host.name} NPU {device}") for host in known for device, address in host.devices.items()))
    return known


def shuffled(hosts: Sequence[PlanHost], seed: Any) -> list[PlanHost]:
    """Return the hosts in an order that depends on names and seed only, with every Python: only Random.random is guaranteed to stay the same."""
    generator = random.Random(whole_number("seed", seed))  # noqa: S311
    weights = {host.name: generator.random() for host in sorted(hosts, key=lambda host: host.name)}
    return sorted(hosts, key=lambda host: weights[host.name])


def _unique(what: str, owned: Iterable[tuple[str, str]]) -> None:
    seen: dict[str, str] = {}
    for value, owner in owned:
        if value in seen:
            raise InputError(f"{what} {value} is used twice: {seen[value]} and {owner}")
        seen[value] = owner


def _host(entry: Any) -> PlanHost:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("host"), str) or not entry["host"]:
        raise InputError(f"an entry of the hosts has no name: {entry!r}")
    name = str(entry["host"])
    devices = _devices(name, entry.get("devices"))
    if not isinstance(entry.get("control_address"), str) or not entry["control_address"]:
        raise InputError(f"host {name} has no control_address")
    port = whole_number(f"host {name}: control_port", entry.get("control_port"))
    if not 1 <= port <= 65535:
        raise InputError(f"host {name} has the control_port {port}, which is not in 1 to 65535")
    return PlanHost(name, devices, str(entry["control_address"]), port, entry)


def _devices(host: str, entries: Any) -> dict[int, str]:
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise InputError(f"host {host} has no devices", "leave hosts without NPUs out, or read them with device_info")
    devices: dict[int, str] = {}
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise InputError(f"host {host}: a device is not a dictionary: {entry!r}")
        device = whole_number(f"host {host}: device id", entry.get("id"))
        if not 0 <= device <= MAX_DEVICE_ID or device in devices:
            raise InputError(f"host {host}: device id {device} is listed twice, or is not in 0 to {MAX_DEVICE_ID}")
        address = ip_text(str(entry.get("address")))
        if address is None:
            raise InputError(f"host {host} NPU {device} has no IP address: {entry.get('address')!r}", "set one with device_network")
        devices[device] = address
    return devices
