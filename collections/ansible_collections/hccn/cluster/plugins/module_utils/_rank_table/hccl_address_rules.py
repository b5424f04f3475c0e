# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of HCCL for the addresses in a rank table with server_list. Sources as in hccl_rules."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Tuple

from .json_fields import NOTHING, addresses_of, entries, number_of, packed, text_of
from .rule import Violation, shortened
from .server_list import DeviceEntry, ServerEntry, ServerListTable
from .super_pod import vnic_place

HINTS = {
    "-1": "-1 is what the device plugin writes when it cannot read the address: check the NPU with hccn.cluster.device_info",
    "-.-.-.-": "the NPU has no address: set one with hccn.cluster.device_network",
}


def _address_needed(table: ServerListTable, server: ServerEntry) -> Optional[Tuple[str, str]]:
    """Return severity and reason if the devices of this server need device_ip; otherwise None."""
    if len(table.servers) < 2:
        return None
    if table.product == "A3":
        pods = len(entries(table.fields, "super_pod_list")) if table.fields.get("version") == "1.2" else 0
        if pods:
            return None if pods == 1 else ("error", "HCCL requires it if there are several super pods")
        return "warning", "HCCL can do without it only inside one super pod, unless RoCE is forced"
    if table.product in ("910A", "310P") and packed(text_of(server.fields, "host_ip") or ""):
        return None
    return "error", "HCCL requires it if there are several servers"


def device_ip(table: ServerListTable) -> Iterator[Violation]:
    for server in table.servers:
        needed = _address_needed(table, server)
        for device in server.devices:
            for address, found in device.addresses:
                if found is None or not any(found):
                    yield Violation(device.where + ".device_ip", "%s is not an IP address of an NPU" % shortened(address), hint=HINTS.get(address),
                                    device=device.id)
            if not device.addresses and needed:
                value = device.fields.get("device_ip", NOTHING)
                if isinstance(value, str) or value is NOTHING:
                    yield Violation(device.where + ".device_ip", "device_ip is %s: %s" % ("missing" if value is NOTHING else "empty", needed[1]),
                                    severity=needed[0], device=device.id)


def device_ip_unique(table: ServerListTable) -> Iterator[Violation]:
    first: Dict[Tuple[bytes, str], DeviceEntry] = {}
    for device in table.devices:
        for address, found in device.addresses:
            key = (found or b"", address.partition("%")[2])
            if found is None:
                continue
            if key in first:
                yield Violation(device.where + ".device_ip", "the address %s is also used by %s" % (shortened(address)[1:-1], first[key].where),
                                device=device.id)
            else:
                first[key] = device


def device_ip_count(table: ServerListTable) -> Iterator[Violation]:
    """HCCL counts a device without an address as one address, since it adds an invalid one."""
    expected = max(1, len(table.devices[0].addresses)) if table.devices else 1
    for device in table.devices:
        number = len(device.addresses) or 1
        if number != expected:
            yield Violation(device.where + ".device_ip", "the number of addresses is %d, but %d in the first device: HCCL requires the same number in each" % (
                number, expected), device=device.id)


def ip_family(table: ServerListTable) -> Iterator[Violation]:
    """HCCL compares the address families of all devices, and those of all hosts."""
    devices: Dict[int, List[DeviceEntry]] = {}
    for device in table.devices:
        for _address, found in device.addresses:
            if found is not None:
                devices.setdefault(len(found), []).append(device)
    hosts: Dict[int, List[ServerEntry]] = {}
    for server in table.servers:
        found = packed(text_of(server.fields, "host_ip") or "")
        if found is not None:
            hosts.setdefault(len(found), []).append(server)
    for key, families in (("device_ip", devices), ("host_ip", hosts)):
        if len(families) == 2:
            rest, rare = sorted(families.values(), key=len, reverse=True)
            yield Violation("%s.%s" % (rare[0].where, key), "IPv4 and IPv6 are mixed: %d of %d values of %s are of another family than the rest" % (
                len(rare), len(rare) + len(rest), key), device=getattr(rare[0], "id", None))


def host_ip(table: ServerListTable) -> Iterator[Violation]:
    for server in table.servers:
        text = text_of(server.fields, "host_ip")
        if text is not None and packed(text) is None:
            yield Violation(server.where + ".host_ip", "%s is not an IP address" % shortened(text), hint="omit host_ip if it is unknown")


def _are_vnics(server: ServerEntry) -> Optional[str]:
    """Return a severity if each device of the server has the address of its own virtual NIC: a warning for 192.168, which may be an ordinary network."""
    severity = None
    for device in server.devices:
        place = vnic_place(device.addresses[0][0]) if len(device.addresses) == 1 else None
        if place is None or place.device != device.id:
            return None
        severity = "warning" if place.server_index is None else "error"
    return severity


def vnic_address(table: ServerListTable) -> Iterator[Violation]:
    """HCCL fails if the address is not that of the network adapter."""
    if table.product not in ("A3", None):
        return
    for server in table.servers:
        severity = _are_vnics(server)
        if severity:
            yield Violation(server.devices[0].where + ".device_ip", "the addresses of this server are those of its virtual NICs, which do not leave the "
                            "super pod", severity=severity, hint="device_ip is what hccn_tool -i N -ip -g prints, not -vnic -g")


def backup_device(table: ServerListTable) -> Iterator[Violation]:
    """HCCL reads these keys on A3 only, if operator retry between super pods is enabled."""
    if table.product not in ("A3", None):
        return
    owners: Dict[bytes, Tuple[ServerEntry, DeviceEntry]] = {
        found: (server, device) for server in table.servers for device in server.devices for _address, found in device.addresses if found is not None}
    used: Dict[bytes, DeviceEntry] = {}
    for server in table.servers:
        for device in server.devices:
            for address, found in addresses_of(device.fields, "backup_device_ip") if "backup_device_ip" in device.fields else ():
                problem = _backup(server, device, found, owners, used)
                if problem is not None:
                    key, message, severity = problem
                    yield Violation("%s.%s" % (device.where, key), message % shortened(address)[1:-1], severity=severity, device=device.id)


def _backup(server: ServerEntry, device: DeviceEntry, found: Optional[bytes], owners: Dict[bytes, Tuple[ServerEntry, DeviceEntry]],
            used: Dict[bytes, DeviceEntry]) -> Optional[Tuple[str, str, str]]:
    """Return key, message with a placeholder for the address, and severity of the error in one backup address; None if it is correct."""
    if found is None:
        return "backup_device_ip", "'%s' is not an IP address of an NPU", "error"
    if used.setdefault(found, device) is not device:
        return "backup_device_ip", "the backup address %s is also used by " + used[found].where, "error"
    if found not in owners:
        return "backup_device_ip", "no device of the table has the backup address %s: HCCL cannot verify it", "warning"
    other_server, other = owners[found]
    if other is device:
        return "backup_device_ip", "the backup address %s is the device's own", "error"
    if device.id is not None and (other_server is not server or other.id != device.id ^ 1):
        return "backup_device_ip", "the backup address %s is that of " + other.where + ", which is not the other die of the same NPU", "error"
    port = number_of(device.fields, "backup_device_port")
    if port is not None and port == number_of(other.fields, "device_port"):
        return "backup_device_port", "backup_device_port %d is also the device_port of %s, which has the address %%s" % (port, other.where), "error"
    return None
