# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read the RDMA devices of this host from the kernel: ``/sys/class/infiniband``, port by port, with the GIDs in use.

No tool is used: ``show_gids`` and ``ibdev2netdev`` are tools of one vendor, and ``rdma`` and ``ibv_devinfo`` do not show the index of a GID. Reading
an unused entry of the GID table fails with EINVAL. The RoCE ports of NPUs are not listed there. Source: Linux,
Documentation/ABI/stable/sysfs-class-infiniband.
"""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional, Tuple

from .._core.numbers import is_count
from .._core.words import natural

CLASS = "sys/class/infiniband"
VERBS = "sys/class/infiniband_verbs"
ETHERNET = "Ethernet"
ACTIVE = "ACTIVE"
ROCE_V2 = "RoCE v2"
MTUS = (4096, 2048, 1024, 512, 256)
"""Path MTUs of InfiniBand and RoCE."""
ROCE_HEADERS = 40 + 8 + 12 + 4 + 28 + 4
"""Bytes that Linux reserves in a frame for headers: GRH, UDP, BTH, XRC, AtomicETH and ICRC (include/rdma/ib_addr.h, iboe_get_mtu)."""

_RATE = re.compile(r"([\d.]+) Gb/sec")
_UNUSED = re.compile(r"[0:]*")


@dataclass(frozen=True)
class Gid:
    """An entry of the GID table. ``type``: ``RoCE v2`` or ``IB/RoCE v1``. ``address``: its IP address, None for link-local GIDs and on InfiniBand."""

    index: int
    gid: str
    type: Optional[str]
    address: Optional[str]
    netdev: Optional[str]


@dataclass(frozen=True)
class RdmaPort:
    """A port. ``state``, ``physical_state`` (``ACTIVE``, ``LinkUp``) and ``rate`` are texts of the kernel. ``verbs``: the device file of libibverbs."""

    device: str
    port: int
    netdev: Optional[str]
    state: Optional[str]
    physical_state: Optional[str]
    rate: Optional[str]
    rate_gbit_s: Optional[float]
    link_layer: Optional[str]
    gids: Tuple[Gid, ...]
    driver: Optional[str]
    firmware: Optional[str]
    pci_address: Optional[str]
    numa_node: Optional[int]
    verbs: Optional[str]
    netdev_mtu: Optional[int] = None
    active_mtu: Optional[int] = None

    def __str__(self) -> str:
        return "%s port %d" % (self.device, self.port)

    def as_dict(self) -> Dict[str, Any]:
        """Return the port in the form of the module's result. Values that the kernel does not report are None."""
        return {**asdict(self), "gids": [asdict(gid) for gid in self.gids]}


def read_ports(root: str = "/") -> List[RdmaPort]:
    """Return all ports of all RDMA devices below ``root``, sorted by name with ``mlx5_2`` before ``mlx5_10``."""
    verbs = _verbs(root)
    found = []
    for device in _listed(os.path.join(root, CLASS)):
        folder = os.path.join(root, CLASS, device)
        for number in _listed(os.path.join(folder, "ports")):
            if is_count(number):
                found.append(_port(folder, device, int(number), verbs.get(device)))
    return found


def _listed(folder: str) -> List[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(names, key=natural)


def _text(*path: str) -> Optional[str]:
    """Return the text of a file, None if it is empty, missing or cannot be read."""
    try:
        with open(os.path.join(*path), encoding="utf-8", errors="replace") as file:
            return file.read().strip() or None
    except OSError:
        return None


def _port(folder: str, device: str, number: int, verbs: Optional[str]) -> RdmaPort:
    port = os.path.join(folder, "ports", "%d" % number)
    layer, rate = _text(port, "link_layer"), _text(port, "rate")
    gids = _gids(port, layer == ETHERNET)
    speed = _RATE.match(rate or "")
    hardware = os.path.join(folder, "device")
    numa = _text(hardware, "numa_node")
    netdev = _netdev(folder, number, gids)
    netdev_mtu = _text(os.path.dirname(os.path.dirname(folder)), "net", netdev, "mtu") if netdev else None
    mtu = int(netdev_mtu) if netdev_mtu and is_count(netdev_mtu) else None
    return RdmaPort(
        device, number, netdev, _word(_text(port, "state")), _word(_text(port, "phys_state")),
        rate, float(speed.group(1)) if speed else None, layer, gids, _link(hardware, "driver"), _text(folder, "fw_ver"), _link(hardware),
        int(numa) if numa and is_count(numa) else None, verbs, mtu, active_mtu(mtu) if layer == ETHERNET else None)


def active_mtu(netdev_mtu: Optional[int]) -> Optional[int]:
    """Return the path MTU that Linux uses for RoCE over a network device with this MTU, None if it is unknown or too small."""
    return next((mtu for mtu in MTUS if netdev_mtu is not None and netdev_mtu - ROCE_HEADERS >= mtu), None)


def _word(state: Optional[str]) -> Optional[str]:
    """Return ``ACTIVE`` for ``4: ACTIVE``."""
    return state.rpartition(": ")[2] if state else None


def _link(*path: str) -> Optional[str]:
    """Return the name of the target of a symbolic link."""
    place = os.path.join(*path)
    return os.path.basename(os.path.realpath(place)) if os.path.islink(place) else None


def _gids(port: str, ethernet: bool) -> Tuple[Gid, ...]:
    found = []
    for name in _listed(os.path.join(port, "gids")):
        gid = _text(port, "gids", name)
        if is_count(name) and gid and not _UNUSED.fullmatch(gid):
            kind, netdev = (_text(port, "gid_attrs", attribute, name) for attribute in ("types", "ndevs"))
            found.append(Gid(int(name), gid, kind, address_of(gid) if ethernet else None, netdev))
    return tuple(found)


def address_of(gid: str) -> Optional[str]:
    """Return the IP address of a RoCE GID; None for link-local GIDs, which identify an interface and not a host."""
    try:
        address = ipaddress.IPv6Address(gid)
    except ValueError:
        return None
    if address.is_link_local:
        return None
    return str(address.ipv4_mapped or address)


def _netdev(folder: str, number: int, gids: Tuple[Gid, ...]) -> Optional[str]:
    """Return the network device of a port: of its first GID, else the parent of software RoCE, else by ``dev_port`` of the adapter, counted from 0."""
    for gid in gids:
        if gid.netdev:
            return gid.netdev
    parent = _text(folder, "parent")
    if parent:
        return parent
    networks = os.path.join(folder, "device", "net")
    for name in _listed(networks):
        if _text(networks, name, "dev_port") == "%d" % (number - 1):
            return name
    return None


def _verbs(root: str) -> Dict[str, str]:
    """Return the existing device files of libibverbs by RDMA device."""
    found = {}
    for name in _listed(os.path.join(root, VERBS)):
        device, file = _text(root, VERBS, name, "ibdev"), os.path.join(root, "dev/infiniband", name)
        if device and os.path.exists(file):
            found[device] = "/dev/infiniband/" + name
    return found
