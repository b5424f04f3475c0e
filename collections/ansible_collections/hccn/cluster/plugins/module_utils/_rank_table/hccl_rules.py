# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What HCCL refuses in a rank table of version 1.0, and what its manual forbids.

Source of all: hcomm src/framework/common/src/config.cc and topo/topoinfo_ranktable{Parser,Concise}.cc; the manual: hicann/hccl
docs/zh/user_guide/cluster_info_config. The code beside each rule in RULES is the one of the nearest report call; some refusals only
write a line to the log and return an error.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from . import hccl
from .finding import Finding, Rule, shortened
from .view import NOTHING, Device, Server, Table, number_of, packed, text_of

MAX_SERVER_ID = 64
"""Bytes of server_id (the manual; SERVERID_MAX_LENGTH)."""
MAX_PORT = 65535
MAX_RESERVED_PORT = 1023
"""Ports that the manual advises against."""
MAX_DEVICE_IDS: Mapping[str, int] = {"910A": 7, "A2": 15, "A3": 15, "310P": 31}
"""The largest device_id by product (GetSingleDevice, GetMaxDevNum)."""
AVERAGE_DEVICES = (1, 2, 4, 8, 16)
"""Devices a server on 910A (CheckAverageDev)."""

MAX_SHOWN = 10
"""Missing ranks that a message lists."""

PORT_KEYS = frozenset(("device_port", "host_port", "device_vnic_port", "backup_device_port"))
_HINTS = {
    "-1": "-1 is what the device plugin writes when it cannot read the address: look at the NPU with hccn.cluster.device_info",
    "-.-.-.-": "the NPU has no address: set one with hccn.cluster.device_network",
}


def _status(table: Table) -> Iterator[Finding]:
    status = text_of(table.fields, "status")
    if status is not None and status != hccl.COMPLETED:
        yield Finding("status", "status is %s: HCCL waits up to 30 minutes for '%s', then gives up" % (shortened(status), hccl.COMPLETED))


def _version(table: Table) -> Iterator[Finding]:
    version = text_of(table.fields, "version")
    if version is None:
        return
    if version not in (hccl.VERSION, "1.2"):
        yield Finding("version", "HCCL knows no version %s" % shortened(version), hint="1.0, or 1.2 for an A3 super pod, or 2.0 for Ascend 950")
    elif table.product == "950":
        yield Finding("version", "HCCL on Ascend 950 reads version 2.0 only, not %s" % version)


def _string_values(table: Table) -> Iterator[Finding]:
    yield from _not_strings(table.fields, hccl.KEYS, "")
    for server in table.servers:
        yield from _not_strings(server.fields, hccl.SERVER_KEYS, server.where + ".")
        for device in server.devices:
            if not all(isinstance(value, str) for value in device.fields.values()):
                yield from _not_strings(device.fields, hccl.DEVICE_KEYS, device.where + ".", device.id)


def _not_strings(fields: Mapping[str, Any], keys: Tuple[str, ...], where: str, device: Optional[int] = None) -> Iterator[Finding]:
    for key in keys:
        if key in fields and not isinstance(fields[key], str):
            yield Finding(where + key, "%s is no string but %s: HCCL then takes it as missing" % (key, shortened(fields[key])),
                          hint='write "%s"' % fields[key] if _is_number(fields[key]) else None, device=device)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _required(table: Table) -> Iterator[Finding]:
    for key in ("status", "version"):
        if key not in table.fields:
            yield Finding(key, "%s is missing" % key, hint="without version HCCL reads the table as an old group_list" if key == "version" else None)
    for server in table.servers:
        for key in ("server_id", "device"):
            if key not in server.fields and server.fields is not NOTHING:
                yield Finding("%s.%s" % (server.where, key), "%s is missing" % key)
        for device in server.devices:
            for key in ("device_id", "rank_id"):
                if key not in device.fields and device.fields is not NOTHING:
                    yield Finding("%s.%s" % (device.where, key), "%s is missing" % key, device=device.id)


def _server_list(table: Table) -> Iterator[Finding]:
    members = table.fields.get("server_list")
    if not isinstance(members, list) or not members:
        reason = "missing" if "server_list" not in table.fields else "empty" if members == [] else "no list"
        yield Finding("server_list", "server_list is %s: HCCL wants one entry a server" % reason)
        return
    for index, member in enumerate(members):
        if not isinstance(member, dict):
            yield Finding("server_list[%d]" % index, "no object but %s" % shortened(member))


def _server_count(table: Table) -> Iterator[Finding]:
    """Optional for HCCL, though the manual calls it required."""
    text = text_of(table.fields, "server_count")
    length = len(table.servers)
    if text is not None and length and number_of(table.fields, "server_count") != length:
        yield Finding("server_count", "server_count is %s, but the length of server_list %d" % (shortened(text), length), hint='write "%d"' % length)


def _server_id(table: Table) -> Iterator[Finding]:
    first: Dict[str, Server] = {}
    for server in table.servers:
        name = text_of(server.fields, "server_id")
        where = server.where + ".server_id"
        if name is None:
            continue
        if not name:
            yield Finding(where, "server_id is empty")
        elif len(name.encode("utf-8", "surrogatepass")) > MAX_SERVER_ID:
            yield Finding(where, "server_id has more than %d bytes: %s" % (MAX_SERVER_ID, shortened(name)))
        elif name in first:
            yield Finding(where, "server_id %r is also that of %s" % (name, first[name].where), hint="one entry a server, with a name of its own")
        else:
            first[name] = server


def _device_list(table: Table) -> Iterator[Finding]:
    for server in table.servers:
        members = server.fields.get("device")
        if not isinstance(members, list) or not members:
            if "device" in server.fields:
                yield Finding(server.where + ".device", "device is %s: HCCL wants one entry an NPU" % ("empty" if members == [] else "no list"))
            continue
        for index, member in enumerate(members):
            if not isinstance(member, dict):
                yield Finding("%s.device[%d]" % (server.where, index), "no object but %s" % shortened(member))


def _device_id(table: Table) -> Iterator[Finding]:
    limit = MAX_DEVICE_IDS.get(table.product or "", max(MAX_DEVICE_IDS.values()))
    for server in table.servers:
        seen: Dict[int, Device] = {}
        for device in server.devices:
            if device.id is None:
                text = text_of(device.fields, "device_id")
                if text is not None:
                    yield Finding(device.where + ".device_id", "device_id %s is no number from 0 up" % shortened(text))
                continue
            if device.id > limit:
                yield Finding(device.where + ".device_id", "device_id %d is beyond %d, the last of %s" % (
                    device.id, limit, table.product or "any product"), device=device.id, hint="device_id is the physical id of the NPU in its server")
            if seen.setdefault(device.id, device) is not device:
                yield Finding(device.where + ".device_id", "device_id %d is also that of %s" % (device.id, seen[device.id].where), device=device.id)


def _rank_ids(table: Table) -> Iterator[Finding]:
    first: Dict[int, Device] = {}
    for device in table.devices:
        if device.rank is None:
            text = text_of(device.fields, "rank_id")
            if text is not None:
                yield Finding(device.where + ".rank_id", "rank_id %s is no number from 0 up" % shortened(text), device=device.id)
        elif first.setdefault(device.rank, device) is not device:
            yield Finding(device.where + ".rank_id", "rank_id %d is also that of %s" % (device.rank, first[device.rank].where), device=device.id)
    total = len(table.devices)
    beyond = min((rank for rank in first if rank >= total), default=None)
    if beyond is not None:
        missing = ", ".join(map(str, islice((rank for rank in range(total) if rank not in first), MAX_SHOWN)))
        yield Finding(first[beyond].where + ".rank_id", "rank_id %d: %d ranks must be numbered 0 to %d without a gap; missing first: %s" % (
            beyond, total, total - 1, missing), device=first[beyond].id)


def _address_needed(table: Table, server: Server) -> Optional[Tuple[str, str]]:
    """Severity and reason where a device of this server cannot go without device_ip."""
    if len(table.servers) < 2:
        return None
    if table.product == "A3":
        return "warning", "only inside one super pod can HCCL go without it, and not where RoCE is forced"
    if table.product in ("910A", "310P") and packed(text_of(server.fields, "host_ip") or ""):
        return None
    return "error", "HCCL needs it as soon as there are several servers"


def _device_ip(table: Table) -> Iterator[Finding]:
    for server in table.servers:
        needed = _address_needed(table, server)
        for device in server.devices:
            for address, found in device.addresses:
                if found is None or not any(found):
                    yield Finding(device.where + ".device_ip", "%s is no IP address of an NPU" % shortened(address), hint=_HINTS.get(address),
                                  device=device.id)
            if not device.addresses and needed:
                value = device.fields.get("device_ip", NOTHING)
                if isinstance(value, str) or value is NOTHING:
                    yield Finding(device.where + ".device_ip", "device_ip is %s: %s" % ("missing" if value is NOTHING else "empty", needed[1]),
                                  severity=needed[0], device=device.id)


def _device_ip_unique(table: Table) -> Iterator[Finding]:
    first: Dict[Tuple[bytes, str], Device] = {}
    for device in table.devices:
        for address, found in device.addresses:
            key = (found or b"", address.partition("%")[2])
            if found is None:
                continue
            if key in first:
                yield Finding(device.where + ".device_ip", "the address %s is also that of %s" % (address, first[key].where), device=device.id)
            else:
                first[key] = device


def _device_ip_count(table: Table) -> Iterator[Finding]:
    """A device without an address counts as one (hcomm pushes an invalid address then)."""
    expected = max(1, len(table.devices[0].addresses)) if table.devices else 1
    for device in table.devices:
        number = len(device.addresses) or 1
        if number != expected:
            yield Finding(device.where + ".device_ip", "the number of addresses is %d, but %d in the first device: HCCL wants as many in each" % (
                number, expected), device=device.id)


def _ip_family(table: Table) -> Iterator[Finding]:
    """HCCL compares the families of the devices with each other, and those of the hosts."""
    devices: Dict[int, List[Device]] = {}
    for device in table.devices:
        for _address, found in device.addresses:
            if found is not None:
                devices.setdefault(len(found), []).append(device)
    hosts: Dict[int, List[Server]] = {}
    for server in table.servers:
        found = packed(text_of(server.fields, "host_ip") or "")
        if found is not None:
            hosts.setdefault(len(found), []).append(server)
    for key, families in (("device_ip", devices), ("host_ip", hosts)):
        if len(families) == 2:
            rest, rare = sorted(families.values(), key=len, reverse=True)
            yield Finding("%s.%s" % (rare[0].where, key), "IPv4 and IPv6 are mixed: %d of %d values of %s are of another family than the rest" % (
                len(rare), len(rare) + len(rest), key), device=getattr(rare[0], "id", None))


def _host_ip(table: Table) -> Iterator[Finding]:
    for server in table.servers:
        text = text_of(server.fields, "host_ip")
        if text is not None and packed(text) is None:
            yield Finding(server.where + ".host_ip", "%s is no IP address" % shortened(text), hint="leave host_ip out where it is not known")


def _ports(table: Table) -> Iterator[Finding]:
    for device in table.devices:
        for key in sorted(PORT_KEYS.intersection(device.fields)):
            text = text_of(device.fields, key)
            if text is None:
                continue
            number = number_of(device.fields, key)
            where = "%s.%s" % (device.where, key)
            if number is None or not 1 <= number <= MAX_PORT:
                yield Finding(where, "%s %s is no port from 1 to %d" % (key, shortened(text), MAX_PORT), device=device.id)
            elif number <= MAX_RESERVED_PORT:
                yield Finding(where, "%s %d: ports up to %d are reserved for the system" % (key, number, MAX_RESERVED_PORT), severity="warning",
                              device=device.id)


def _super_pod_list(table: Table) -> Iterator[Finding]:
    if "super_pod_list" in table.fields and text_of(table.fields, "version") == "1.0":
        yield Finding("super_pod_list", "HCCL ignores super_pod_list, since it reads it with version 1.2 only", severity="warning",
                      hint='write version "1.2" for a super pod, or leave the list out')
    elif text_of(table.fields, "version") == "1.2":
        yield Finding("super_pod_list", "super_pod_list and super_device_id are not checked: this check knows version 1.0", severity="warning")


def _device_count(table: Table) -> Iterator[Finding]:
    """Only 910A refuses it; said as a warning where the product is not known."""
    counts = [len(server.devices) for server in table.servers]
    if not counts or table.product not in ("910A", None):
        return
    severity = "error" if table.product else "warning"
    odd = next((index for index, count in enumerate(counts) if count != counts[0]), None)
    if odd is not None:
        yield Finding("server_list[%d].device" % odd, "the number of devices is %d, but %d in the first server: 910A wants as many in each" % (
            counts[odd], counts[0]), severity=severity)
    elif table.product and counts[0] not in AVERAGE_DEVICES:
        yield Finding("server_list[0].device", "the number of devices is %d: 910A takes %s in each server" % (
            counts[0], ", ".join(map(str, AVERAGE_DEVICES))))


def _rank_order(table: Table) -> Iterator[Finding]:
    """The manual: the rank ids of one server form one block. No code of HCCL looks at it."""
    blocks: List[Tuple[int, int, Server]] = []
    for server in table.servers:
        ranks = [device.rank for device in server.devices if device.rank is not None]
        if ranks:
            blocks.append((min(ranks), max(ranks), server))
    blocks.sort(key=lambda block: block[:2])
    widest = blocks[0] if blocks else None
    for block in blocks[1:]:
        if widest is not None and block[0] < widest[1]:
            yield Finding(block[2].where, "its rank ids interleave with those of %s, which the manual of HCCL does not allow" % widest[2].where,
                          hint="number the ranks of one server after those of another")
        if widest is not None and block[1] > widest[1]:
            widest = block


_OTHER_FORMATS = (
    ("server_group_list", "a global rank table (server_group_list), which MindIE-Motor reads"),
    ("prefill_device_list", "a prefill and decode table of the vLLM connector"),
    ("decode_device_list", "a prefill and decode table of the vLLM connector"),
    ("group_list", "an old group_list table, which HCCL reads on 910A only"),
    ("rank_list", "a table of version 2.0 (rank_list), which HCCL reads on Ascend 950 only"),
    ("peer_list", "a topology file of Ascend 950"),
    ("endpoint_list", "a local_comm_res of HIXL"),
)
_OTHER_VERSIONS = {
    "1.1": "a heterogeneous table of version 1.1",
    "1.3": "a local_comm_res of HIXL",
    "2.0": "a table of version 2.0, which HCCL reads on Ascend 950 only",
}


def foreign(fields: Mapping[str, Any]) -> Optional[str]:
    """What the document is, where it is no hccl table of version 1.0 or 1.2; else None."""
    for key, name in _OTHER_FORMATS:
        if key in fields:
            return name
    return _OTHER_VERSIONS.get(text_of(fields, "version") or "")


def _foreign(table: Table) -> Iterator[Finding]:
    yield Finding("", "this is %s: checked are tables with server_list of version %s" % (foreign(table.fields), hccl.VERSION))


FOREIGN = Rule("format", None, _foreign)
"""Alone, for a document that ``foreign`` names: the other rules would only say that nothing is there."""

RULES: Tuple[Rule, ...] = (
    Rule("status", "EI0004", _status),
    Rule("version", "EI0014", _version),
    Rule("string_values", "EI0017", _string_values),
    Rule("required_keys", "EI0017", _required),
    Rule("server_list", "EI0017", _server_list),
    Rule("server_count", "EI0014", _server_count),
    Rule("server_id", "EI0014", _server_id),
    Rule("device_list", "EI0014", _device_list),
    Rule("device_id", "EI0014", _device_id),
    Rule("rank_ids", "EI0014", _rank_ids),
    Rule("device_ip", "EI0014", _device_ip),
    Rule("device_ip_unique", "EI0014", _device_ip_unique),
    Rule("device_ip_count", "EI0014", _device_ip_count),
    Rule("ip_family", "EI0001", _ip_family),
    Rule("host_ip", "EI0014", _host_ip),
    Rule("ports", "EI0014", _ports),
    Rule("super_pod_list", None, _super_pod_list),
    Rule("device_count", "EI0014", _device_count),
    Rule("rank_order", None, _rank_order),
)
