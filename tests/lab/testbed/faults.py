"""Inject faults into a lab.

    fault node2 --npu 3 --rate 50mbit    limit the rate of a port in both directions; without --npu all ports of the host; leaf:0 is a leaf switch's uplink,
                                         leaf:0:1 that to the second of several spines
    fault node2 --npu 3 --link-down      disconnect a cable
    fault node2 kill                     kill the host's first process, and with it the whole host
    fault node2 pause | resume           stop or continue every process
    fault node2 ssh-cut                  disconnect the management cable: packets are lost, connections stay silent
    fault node2 disk-full                fill the host's file system
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

from . import kernel, links
from .plan import Host, LabError
from tests.lib.waiting import happens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from .lab import Lab

LEAF = "leaf:"
WHAT = ("kill", "pause", "resume", "ssh-cut", "disk-full")
GONE_SECONDS, CALL_SECONDS, CARRIER_SECONDS = 10.0, 20.0, 10.0


def fault(lab: Lab, target: str, what: str = "", *, npu: int | None = None, rate: str = "", link_down: bool = False) -> None:
    """Inject a fault. Raise LabError."""
    if sum(map(bool, (what, rate, link_down))) != 1:
        raise LabError(f"one fault at a time: a rate, link-down, or {', '.join(WHAT)}")
    if target.startswith(LEAF):
        if what:
            raise LabError(f"{what} is not a fault of a leaf switch: use --rate or --link-down")
        _set_uplink(lab, target, rate or lab.settings.link_rate, link_down)
    elif not what:
        _set_ports(lab, lab.host(target), _devices(lab, target, npu), rate or lab.settings.link_rate, link_down)
    elif what in WHAT:
        {"kill": _kill, "pause": _pause, "resume": _resume, "ssh-cut": _cut, "disk-full": _fill}[what](lab, lab.host(target))
    else:
        raise LabError(f"unknown fault {what!r}: use one of {', '.join(WHAT)}")


def heal(lab: Lab, target: str) -> None:
    if target.startswith(LEAF):
        _set_uplink(lab, target, "", False)
        return
    host = lab.host(target)
    if not lab.alive(target):
        raise LabError(f"{target} is dead and cannot be healed: start the lab again")
    _resume(lab, host)
    _set_ports(lab, host, range(host.devices), lab.settings.link_rate, False)
    _switch(lab, [links.management_port(host)], False)
    _set_size(lab, host, f"{lab.settings.host_megabytes}m")


def _devices(lab: Lab, target: str, npu: int | None) -> Iterable[int]:
    count = lab.host(target).devices
    if npu is None:
        return range(count)
    if npu not in range(count):
        raise LabError(f"{target} has no NPU {npu}: it has {count}, from 0")
    return [npu]


def _set_ports(lab: Lab, host: Host, devices: Iterable[int], rate: str, down: bool) -> None:
    """Set both ends of the links: the leaf's port and the host's own."""
    devices = list(devices)
    there = lab.enter_switches()
    _switch(lab, [links.port(host, device) for device in devices], down)
    links.batch("tc", [links.shaped(links.port(host, device), rate) for device in devices], there)
    links.batch("tc", [links.shaped(f"npu{device}", rate) for device in devices], tuple(lab.enter(host.name)))


def _set_uplink(lab: Lab, target: str, rate: str, down: bool) -> None:
    """Set the uplink of a leaf. Uplinks have no default limit."""
    leaf, _, spine = target[len(LEAF):].partition(":")
    if not leaf.isdigit() or int(leaf) >= lab.settings.leaves:
        raise LabError(f"no leaf switch {target}: the lab has leaf:0 to leaf:{lab.settings.leaves - 1}")
    if spine and (not spine.isdigit() or int(spine) >= lab.settings.spines or lab.settings.spines == 1):
        raise LabError(f"no uplink {target}: the number of spines of the lab is {lab.settings.spines}")
    ports = links.uplink(int(leaf), int(spine) if spine else None)
    _switch(lab, ports, down)
    links.batch("tc", [links.shaped(end, rate) if rate else links.unshaped(end) for end in ports], lab.enter_switches())


def _switch(lab: Lab, ports: Sequence[str], down: bool) -> None:
    """Disconnect or connect ports of the switches. A port forwards only after the kernel has noticed its carrier, up to a second after it is set up."""
    there = lab.enter_switches()
    links.batch("ip", [f"link set {port} {'down' if down else 'up'}" for port in ports], there)
    if not down and not happens(lambda: links.up(there).issuperset(ports), CARRIER_SECONDS):
        raise LabError(f"a link has no carrier: {', '.join(ports)}")


def _kill(lab: Lab, host: Host) -> None:
    first = lab.first(host.name)
    kernel.end(first["pid"], first["started"])
    if not happens(lambda: not lab.alive(host.name), GONE_SECONDS):
        raise LabError(f"{host.name} did not exit")


def _pause(lab: Lab, host: Host) -> None:
    """Stop all processes of the host and wait until they are stopped: signals arrive with a delay, and running processes may fork meanwhile."""

    def stand() -> bool:
        moving = [pid for pid in lab.processes(host.name) if not kernel.is_stopped(pid)]
        for pid in moving:
            started = kernel.start_time(pid)
            if started:
                kernel.end(pid, started, signal.SIGSTOP)
        return not moving

    if not happens(stand, GONE_SECONDS):
        raise LabError(f"{host.name} did not stop")


def _resume(lab: Lab, host: Host) -> None:
    for pid in lab.processes(host.name):
        started = kernel.start_time(pid)
        if started:
            kernel.end(pid, started, signal.SIGCONT)


def _cut(lab: Lab, host: Host) -> None:
    _switch(lab, [links.management_port(host)], True)


def _fill(lab: Lab, host: Host) -> None:
    """Shrink the file system to its used size, which fills it without writing anything."""
    now = os.statvfs(lab.path(host.name, "/"))
    _set_size(lab, host, str((now.f_blocks - now.f_bfree) * now.f_frsize))


def _set_size(lab: Lab, host: Host, size: str) -> None:
    try:
        lab.exec(host.name, ["mount", "--options-source", "disable", "-o", f"remount,size={size}", "/"], check=True, timeout=CALL_SECONDS)
    except subprocess.CalledProcessError as error:
        raise LabError(f"the size of {host.name}'s file system cannot be changed: {error.stderr.strip()}") from None
