# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check whether the RDMA devices of this host can be used: driver, device files, port state, GIDs, and the limit of locked memory."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core import problems
from .._core.numbers import count_of
from .._core.problems import Problem
from .._core.words import natural, some
from .rdma_sysfs import ACTIVE, CLASS, ETHERNET, ROCE_V2, RdmaPort, read_ports

ENOUGH_MEMLOCK = 64 * 1024 * 1024
"""Sufficient limit in bytes. Kernels default to 64 KiB (up to 5.15) or 8 MiB. A test of 8 MiB messages on one queue pair pins 16 MiB."""

CAP_IPC_LOCK = 14
"""The capability that lifts the limit (capabilities(7))."""

# Network drivers of adapters, and the kernel modules that provide RDMA for them.
RDMA_MODULES = {"mlx5_core": "mlx5_ib", "mlx4_core": "mlx4_ib", "hns3": "hns_roce_hw_v2", "bnxt_en": "bnxt_re", "ice": "irdma", "i40e": "irdma",
                "cxgb4": "iw_cxgb4", "qede": "qedr", "ionic": "ionic_rdma"}

_MEMLOCK = re.compile(r"^Max locked memory\s+(\S+)", re.MULTILINE)
_CAPABILITIES = re.compile(r"^CapEff:\s*([0-9a-f]+)", re.MULTILINE)


@dataclass(frozen=True)
class Memlock:
    """The limit of locked memory. ``limit_bytes`` is None for unlimited, ``enforced`` False for a process that may lock any amount (mostly root)."""

    limit_bytes: Optional[int]
    enforced: bool

    def allows(self, size: int) -> bool:
        return not self.enforced or self.limit_bytes is None or self.limit_bytes >= size

    def as_dict(self) -> Dict[str, Any]:
        return {"limit_bytes": self.limit_bytes, "enforced": self.enforced}


def parse_memlock(limits: str, status: str) -> Optional[Memlock]:
    """Parse ``/proc/PID/limits`` and ``/proc/PID/status``; return None where they lack the values."""
    limit, capabilities = _MEMLOCK.search(limits), _CAPABILITIES.search(status)
    if limit is None or capabilities is None:
        return None
    size = None if limit.group(1) == "unlimited" else count_of(limit.group(1))
    return Memlock(size, not int(capabilities.group(1), 16) >> CAP_IPC_LOCK & 1)


def read_memlock(root: str = "/") -> Optional[Memlock]:
    """Return the limit of this process, which its children inherit."""
    texts = []
    for name in ("limits", "status"):
        try:
            with open(os.path.join(root, "proc/self", name), encoding="ascii", errors="replace") as file:
                texts.append(file.read())
        except OSError:
            return None
    return parse_memlock(*texts)


def probe(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the values of rdma_info: ``rdma_devices``, ``memlock``, ``problems``, and by ``fail_on`` ``failed`` with ``msg``."""
    root = params["root"]
    there, memlock = read_ports(root), read_memlock(root)
    ports, missing = chosen_ports(there, params["rdma_device"], params["rdma_port"])
    found = host_problems(root, there) + ([missing] if there and missing else [])
    found += [problem for port in ports for problem in port_problems(port)] + memlock_problems(memlock, ENOUGH_MEMLOCK)
    result: Dict[str, Any] = {
        "changed": False, "rdma_devices": [port.as_dict() for port in ports], "memlock": memlock.as_dict() if memlock else None,
        "problems": problems.as_dicts(found),
    }
    if problems.fails(found, params["fail_on"]):
        rest = "" if len(found) == 1 else "; see problems for %d more" % (len(found) - 1)
        result.update(failed=True, msg=found[0].message + rest)
    return result


def chosen_ports(ports: Sequence[RdmaPort], device: Optional[str], number: Optional[int]) -> Tuple[List[RdmaPort], Optional[Problem]]:
    """Return the ports of ``device`` with this ``number``, where None is any, and a problem if there is none."""
    of_device = [port for port in ports if device in (None, port.device)]
    found = [port for port in of_device if number in (None, port.port)]
    if found:
        return found, None
    if not of_device:
        there = sorted({port.device for port in ports}, key=natural)
        return [], Problem("no_rdma_device", "error", "this host has no RDMA device%s" % (" " + device if device else ""), where="/" + CLASS,
                           hint="available are %s" % some(there) if there else "check that the driver is loaded; see hccn.cluster.rdma_info")
    message = "%s has no port %s" % (device, number) if device else "no RDMA device of this host has a port %s" % number
    return [], Problem("no_rdma_port", "error", message, where="/" + CLASS, hint="available are %s" % some([str(port) for port in of_device]))


def host_problems(root: str, ports: Sequence[RdmaPort]) -> List[Problem]:
    """Return the problems of the host as a whole: missing drivers."""
    idle = _without_rdma(root)
    hint = "; ".join("%s is driven by %s: modprobe %s" % (netdev, driver, RDMA_MODULES[driver]) for netdev, driver in sorted(idle.items()))
    if ports:
        return []
    if not os.path.isdir(os.path.join(root, CLASS)):
        return [Problem("driver_missing", "error", "the kernel's RDMA core is not loaded: there is no /%s" % CLASS, where="/" + CLASS,
                        hint=hint or "load the RDMA driver of the adapter (mlx5_ib, hns_roce_hw_v2, irdma, ...)")]
    return [Problem("no_rdma_device", "error", "no RDMA device is registered below /%s" % CLASS, where="/" + CLASS,
                    hint=hint or "load the RDMA driver of the adapter (mlx5_ib, hns_roce_hw_v2, irdma, ...), if the host has one")]


def _without_rdma(root: str) -> Dict[str, str]:
    """Return the drivers of network devices whose adapter supports RDMA, by network device."""
    folder = os.path.join(root, "sys/class/net")
    found = {}
    for netdev in os.listdir(folder) if os.path.isdir(folder) else ():
        driver = os.path.basename(os.path.realpath(os.path.join(folder, netdev, "device/driver")))
        if driver in RDMA_MODULES:
            found[netdev] = driver
    return found


def port_problems(port: RdmaPort) -> List[Problem]:
    """Return the problems of a port. A port that is down may be unused, so it is a warning."""
    found = []
    where = str(port)
    if port.verbs is None:
        found.append(Problem("verbs_missing", "error", "%s has no device file in /dev/infiniband" % port.device, where=where,
                             hint="modprobe ib_uverbs; in a container, map /dev/infiniband into it"))
    if port.state != ACTIVE:
        found.append(Problem("port_down", "warning", "%s is %s (%s)" % (port, port.state or "in an unknown state", port.physical_state or "link unknown"),
                             where=where, hint="check cable, optical module and switch port; is %s up?" % (port.netdev or "its network device")))
    elif port.link_layer == ETHERNET and not any(gid.type == ROCE_V2 and gid.address for gid in port.gids):
        found.append(Problem("no_gid", "warning", "%s has no RoCE v2 GID of an IP address" % port, where=where,
                             hint="give %s an IP address" % (port.netdev or "its network device")))
    return found


def memlock_problems(memlock: Optional[Memlock], needed: int, severity: str = "warning") -> List[Problem]:
    """Return a problem if ``needed`` bytes exceed the limit of locked memory, none if the limit is not known."""
    if memlock is None or memlock.allows(needed):
        return []
    return [Problem("memlock", severity, "this user may lock %d bytes of memory, RDMA needs %d" % (memlock.limit_bytes or 0, needed),
                    hint="set memlock to unlimited for this user (limits.conf, or LimitMEMLOCK= of the service), or become root")]
