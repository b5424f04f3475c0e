# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Choose the RDMA device, port and GID of this host for a test, and check them, once before the first test.

The index of a GID changes when addresses or VLANs are added or removed, so the GID is found by type (RoCE v2), address and network device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence

from .._core.errors import HccnError
from .._core.problems import Problem
from .._core.words import some
from .._device.rdma_checks import Memlock, chosen_ports, memlock_problems, port_problems
from .._device.rdma_sysfs import ACTIVE, ETHERNET, ROCE_V2, Gid, RdmaPort
from .perftest_options import ALL_SIZES, Options

MAX_GID_INDEX = 64
"""The largest index that perftest accepts with -x (4.5 to 25.01); a GID table may be longer."""

DEFAULT_SIZE = 65536
_BUFFER = 4096
_CHOOSE = "choose one with rdma_device and rdma_port"


@dataclass(frozen=True)
class RdmaDevice:
    """An RDMA port with the GID to use; ``gid_index`` is None on InfiniBand, which needs none."""

    port: RdmaPort
    gid_index: Optional[int]

    @property
    def netdev(self) -> Optional[str]:
        """The network device of the GID, None if it is not known."""
        return next((gid.netdev for gid in self.port.gids if gid.index == self.gid_index and gid.netdev), self.port.netdev)

    @property
    def link_type(self) -> str:
        """The link layer as perftest names it."""
        return "Ethernet" if self.port.link_layer == ETHERNET else "IB"


def find_device(ports: Sequence[RdmaPort], address: str, device: Optional[str] = None, number: Optional[int] = None, netdev: Optional[str] = None,
                gid_index: Optional[int] = None) -> RdmaDevice:
    """Return the port that has ``address``, limited to ``device``, port ``number`` and ``netdev`` if these are given.

    Raises HccnError ``no_rdma_device``, ``no_rdma_port``, ``no_gid``, ``gid_ambiguous``, ``port_ambiguous``, whose hints list what is available. The address
    of a host does not identify an InfiniBand port, so of several ports one must be named.
    """
    chosen = _chosen(ports, device, number)
    if gid_index is not None:
        return _by_index(chosen, address, gid_index)
    found = [(port, gid) for port in chosen for gid in port.gids
             if gid.type == ROCE_V2 and gid.address == address and netdev in (None, gid.netdev) and gid.index <= MAX_GID_INDEX]
    if not found:
        fabric = [port for port in chosen if port.link_layer not in (None, ETHERNET)]
        if len(fabric) == 1:
            return RdmaDevice(fabric[0], None)
        if fabric:
            raise HccnError("port_ambiguous", "%s does not identify one of the InfiniBand ports %s" % (address, some(list(map(str, fabric)))), _CHOOSE)
        raise HccnError("no_gid", "no RDMA device of this host has a RoCE v2 GID of %s%s" % (address, " on %s" % netdev if netdev else ""), _there(chosen))
    active = [pair for pair in found if pair[0].state == ACTIVE] or found
    if len({str(port) for port, _gid in active}) > 1:
        raise HccnError("gid_ambiguous", "%s is a GID of %s" % (address, " and ".join(str(port) for port, _gid in active)), _CHOOSE)
    port, gid = active[0]
    return RdmaDevice(port, gid.index)


def _chosen(ports: Sequence[RdmaPort], device: Optional[str], number: Optional[int]) -> List[RdmaPort]:
    found, problem = chosen_ports(ports, device, number)
    if problem:
        raise HccnError(problem.rule, problem.message, problem.hint or "")
    return found


def _by_index(ports: Sequence[RdmaPort], address: str, index: int) -> RdmaDevice:
    """Return the requested GID; if several ports have that index, the one with the address."""
    found = [port for port in ports if any(gid.index == index for gid in port.gids)]
    if len(found) > 1:
        found = [port for port in found if any(gid.index == index and gid.address == address for gid in port.gids)]
    if len(found) != 1:
        raise HccnError("no_gid", "no RDMA device of this host has %s at GID index %d" % (address, index), _there(ports))
    return RdmaDevice(found[0], index)


def _there(ports: Sequence[RdmaPort]) -> str:
    """Return a hint that lists the GIDs with an IP address."""
    def describe(port: RdmaPort, gid: Gid) -> str:
        return "%s GID %d (%s, %s)" % (port, gid.index, gid.type, gid.address)

    found = [describe(port, gid) for port in ports for gid in port.gids if gid.address]
    if not found:
        return "no GID has an IP address: assign one to the network device of the port"
    return "available are " + some(found)


def blockers(rdma_device: RdmaDevice, memlock: Optional[Memlock], options: Options) -> List[Problem]:
    """Return the problems that make every test on this device fail."""
    port = rdma_device.port
    down = [] if port.state == ACTIVE else [
        Problem("port_down", "error", "%s is %s (%s)" % (port, port.state, port.physical_state), where=str(port),
                hint="check cable, optical module and switch port")]
    verbs = [problem for problem in port_problems(port) if problem.rule == "verbs_missing"]
    return verbs + down + memlock_problems(memlock, pinned(options), "error")


def pinned(options: Options) -> int:
    """Return the bytes that perftest locks: for each queue pair a buffer of two messages of at least one page (perftest_resources.c)."""
    size = ALL_SIZES[-1] if options.all_sizes else options.size_bytes or DEFAULT_SIZE
    return 2 * max(size, _BUFFER) * (options.qps or 1)
