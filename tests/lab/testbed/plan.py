"""Settings of a lab, and the hosts with their addresses that result from them. Pure data without side effects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

DEVICES = {"A2": 8, "A3": 16}
"""Products with the number of devices of a server. An A3 NPU has two dies, each a device."""

MAX_HOSTS = {"A2": 500, "A3": 120}  # the host's number is one byte of a device's address; on A3 its upper half is the die
HOSTS_A_BYTE, NEXT_HOSTS = 250, 100  # offset of the last byte for further hosts
MAX_PORTS = 1000  # a Linux bridge has 1023
SPINES = (1, 2, 4, 8)
BOOT_SECONDS = 20.0

MANAGEMENT = "10.77.{high}.{low}"
MANAGEMENT_PREFIX = 16
CONTROLLER = MANAGEMENT.format(high=255, low=254)
DEVICE_NETWORK = "10.78.{network}.{number}"
FIRST_DEVICE_NUMBER = 10
SECOND_DIES = 128  # added to the third byte for the second die of an A3 NPU, which is in a separate network
SWITCHES = DEVICE_NETWORK.format(network=0, number=1), DEVICE_NETWORK.format(network=SECOND_DIES, number=1)

_RATE = re.compile(r"^(\d+(?:\.\d+)?)(kbit|mbit|gbit)$")
_UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


class LabError(Exception):
    """An error in one sentence: what is wrong, where, and what to do."""


class Unavailable(LabError):
    """This machine cannot run a lab: a tool is missing, or the kernel refuses."""


@dataclass(frozen=True)
class Host:
    """``index`` from 0; ``leaf``: number of its leaf switch; ``addresses``: by device."""

    name: str
    index: int
    product: str
    devices: int
    leaf: int

    @property
    def address(self) -> str:
        """Return the address on the management network."""
        return MANAGEMENT.format(high=(self.index + 1) // 256, low=(self.index + 1) % 256)

    def die(self, device: int) -> int:
        """Return 0 or 1: the die of the NPU. Each die has its own network."""
        return device % 2 if self.product == "A3" else 0

    @property
    def addresses(self) -> list[str]:
        block, place = divmod(self.index, HOSTS_A_BYTE)
        return [DEVICE_NETWORK.format(network=place + 1 + self.die(device) * SECOND_DIES, number=FIRST_DEVICE_NUMBER + device + block * NEXT_HOSTS)
                for device in range(self.devices)]

    @property
    def netmask(self) -> str:
        return "255.255.128.0" if self.product == "A3" else "255.255.0.0"

    def gateway(self, device: int) -> str:
        return SWITCHES[self.die(device)]


@dataclass(frozen=True)
class Settings:
    """``npus``: devices per host, None for the number of the product; ``spines``: paths between two leaves, of which the source port of a connection chooses
    one; ``expose``: folders of the machine that the hosts can read."""

    products: tuple[str, ...]
    npus: int | None = None
    leaf_size: int = 8
    spines: int = 1
    link_rate: str = "100mbit"
    python: str = "/usr/bin/python3"
    expose: tuple[str, ...] = ()
    host_megabytes: int = 256
    state: tuple[str, ...] = ()
    rootless: bool = False

    def check(self) -> None:
        """Raise LabError for invalid settings."""
        for product in self.products:
            if product not in DEVICES:
                raise LabError(f"product {product!r} is not simulated: use {' or '.join(DEVICES)}")
        most = min((MAX_HOSTS[product] for product in self.products), default=0)
        if not 1 <= len(self.products) <= most:
            raise LabError(f"{len(self.products)} hosts: a lab has 1 to {most or MAX_HOSTS['A2']} of them")
        if self.npus is not None and not 0 <= self.npus <= min(DEVICES[product] for product in self.products):
            raise LabError(f"--npus {self.npus}: the smallest host has {min(DEVICES[product] for product in self.products)} devices")
        if not 1 <= self.leaf_size <= MAX_PORTS // max(DEVICES.values()):
            raise LabError(f"--leaf-size {self.leaf_size}: a leaf switch has 1 to {MAX_PORTS // max(DEVICES.values())} hosts")
        if self.spines not in SPINES:
            raise LabError(f"--spines {self.spines}: a lab has {', '.join(map(str, SPINES[:-1]))} or {SPINES[-1]} of them")
        bits(self.link_rate)

    @property
    def hosts(self) -> list[Host]:
        found = []
        for index, product in enumerate(self.products):
            devices = DEVICES[product] if self.npus is None else self.npus
            found.append(Host(f"node{index + 1}", index, product, devices, index // self.leaf_size))
        return found

    @property
    def leaves(self) -> int:
        return -(-len(self.products) // self.leaf_size)


def settings(value: dict[str, Any]) -> Settings:
    """Return the settings of their JSON form."""
    return Settings(**{key: tuple(item) if isinstance(item, list) else item for key, item in value.items()})


def bits(rate: str) -> float:
    """Return ``200mbit`` in bit/s. Raise LabError."""
    found = _RATE.match(rate)
    if not found or not float(found.group(1)):
        raise LabError(f"rate {rate!r}: give a number and kbit, mbit or gbit, for example 200mbit")
    return float(found.group(1)) * _UNITS[found.group(2)]
