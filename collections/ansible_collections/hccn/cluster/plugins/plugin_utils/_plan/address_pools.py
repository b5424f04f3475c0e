# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Subnets as address pools: which address of which pool a device gets. Needs netaddr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._device.host import MAX_DEVICE_ID, expand

try:
    import netaddr
except ImportError:
    netaddr = None

KEYS = ("cidr", "gateway", "netdetect", "first", "last", "devices", "rail")


def can_plan() -> bool:
    """Return whether the library that planning needs is installed."""
    return netaddr is not None


@dataclass(frozen=True)
class Pool:
    """A subnet. The addresses ``first`` to ``last``, as numbers, are for NPUs. ``devices`` is None if the devices of a host take all subnets in turn."""

    cidr: str
    netmask: str
    first: int
    last: int
    gateway: str | None
    netdetect: str | None
    devices: tuple[int, ...] | None

    @property
    def size(self) -> int:
        """The number of addresses for NPUs."""
        return self.last - self.first + 1

    def gateway_inside(self) -> bool:
        """Return True if the gateway is among the addresses for NPUs."""
        return self.gateway is not None and self.first <= int(netaddr.IPAddress(self.gateway)) <= self.last

    def address(self, index: int) -> str:
        """Return an address for NPUs by its index."""
        return str(netaddr.IPAddress(self.first + index, 4))

    def range(self) -> str:
        """Return the first and last address for NPUs as text."""
        return f"{self.address(0)} to {self.address(self.size - 1)}"

    def settings(self, index: int) -> dict[str, str]:
        """Return the options of device_network for an address."""
        given = {"address": self.address(index), "netmask": self.netmask, "gateway": self.gateway, "netdetect": self.netdetect}
        return {option: value for option, value in given.items() if value is not None}


@dataclass(frozen=True)
class PoolSlot:
    """The place of a device in a pool: the ``slot``-th of the ``block`` addresses that each host has there."""

    pool: Pool
    slot: int
    block: int


def make_pools(subnets: Any, where: str = "subnets") -> list[Pool]:
    """Return the pools of a list of subnets. Raises InputError for anything that is not a subnet, and if netaddr is missing."""
    if not can_plan():
        raise InputError("planning addresses needs the Python library netaddr on the controller", "pip install netaddr, beside ansible-core")
    if not isinstance(subnets, Sequence) or isinstance(subnets, str) or not subnets:
        raise InputError(f"{where} is not a list of subnets such as 10.78.0.0/16", "give a list of subnets, or of dictionaries with cidr and gateway")
    pools = [_pool(subnet, f"{where}[{index}]") for index, subnet in enumerate(subnets)]
    own = [pool for pool in pools if pool.devices is not None]
    if own and len(own) != len(pools):
        raise InputError(f"{where}: some of the subnets name their devices or rail and some do not", "name them in all or in none")
    named = [device for pool in own for device in pool.devices or ()]
    twice = sorted({device for device in named if named.count(device) > 1})
    if twice:
        raise InputError(f"{where}: NPU {', '.join(map(str, twice))} is named by two subnets", "each NPU has one subnet")
    return pools


def pool_slot(pools: Sequence[Pool], device: int, devices_per_host: int) -> PoolSlot | None:
    """Return the place of a device, which depends only on the subnets and ``devices_per_host``; None if no subnet is for this device."""
    for pool in pools:
        if pool.devices is not None and device in pool.devices:
            return PoolSlot(pool, pool.devices.index(device), len(pool.devices))
    if pools[0].devices is not None:
        return None
    return PoolSlot(pools[device % len(pools)], device // len(pools), -(-devices_per_host // len(pools)))


def _pool(subnet: Any, where: str) -> Pool:
    fields = subnet if isinstance(subnet, Mapping) else {"cidr": subnet}
    unknown = sorted(str(key) for key in fields if key not in KEYS)
    if unknown:
        raise InputError(f"{where}: {', '.join(unknown)} is not known", f"known are {', '.join(KEYS)}")
    network = _network(fields.get("cidr"), f"{where}.cidr")
    gateway = _inside(fields, "gateway", network, where)
    first = _inside(fields, "first", network, where)
    last = _inside(fields, "last", network, where)
    netdetect = fields.get("netdetect") or (str(gateway) if gateway is not None else None)
    lowest, highest = _hosts(network, gateway)
    low, high = int(first) if first is not None else lowest, int(last) if last is not None else highest
    if low > high:
        raise InputError(f"{where}: no address is left between its first and its last", "give a larger subnet")
    return Pool(str(network), str(network.netmask), low, high, None if gateway is None else str(gateway),
                None if netdetect is None else str(_address(netdetect, f"{where}.netdetect")), _devices(fields, where))


def _hosts(network: Any, gateway: Any) -> tuple[int, int]:
    """Return the first and last address of hosts, without a gateway that is one of them."""
    point_to_point = network.prefixlen >= 31
    low, high = (network.first, network.last) if point_to_point else (network.first + 1, network.last - 1)
    if gateway is not None and int(gateway) == low:
        low += 1
    if gateway is not None and int(gateway) == high:
        high -= 1
    return low, high


def _network(cidr: Any, where: str) -> Any:
    text = str(cidr)
    try:
        network = netaddr.IPNetwork(text) if "/" in text else None
    except (netaddr.AddrFormatError, ValueError):
        network = None
    if network is None or network.version != 4:
        raise InputError(f"{where}: {cidr!r} is not an IPv4 subnet such as 10.78.0.0/16")
    if network.ip != network.network:
        raise InputError(f"{where}: {cidr} is an address in a subnet", f"the subnet is {network.cidr}")
    return network


def _address(text: Any, where: str) -> Any:
    try:
        return netaddr.IPAddress(str(text), 4)
    except (netaddr.AddrFormatError, ValueError):
        raise InputError(f"{where}: {text!r} is not an IPv4 address") from None


def _inside(fields: Mapping[str, Any], key: str, network: Any, where: str) -> Any:
    if fields.get(key) in (None, ""):
        return None
    address = _address(fields[key], f"{where}.{key}")
    if address not in network:
        raise InputError(f"{where}.{key}: {address} is outside {network}")
    return address


def _devices(fields: Mapping[str, Any], where: str) -> tuple[int, ...] | None:
    if fields.get("devices") is not None and fields.get("rail") is not None:
        raise InputError(f"{where}: devices and rail are both given", "a rail is short for the one device of that id")
    wanted = [fields["rail"]] if fields.get("rail") is not None else fields.get("devices")
    if wanted is None:
        return None
    words = [str(word) for word in wanted] if isinstance(wanted, Sequence) and not isinstance(wanted, str) else [str(wanted)]
    try:
        return tuple(expand(words, range(MAX_DEVICE_ID + 1)))
    except InputError as error:
        raise InputError(f"{where}: {error.message}", error.hint) from None
