# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of HCCL and of its manual for a rank table with server_list (version 1.0 or 1.2).

Source of all: hcomm src/framework/common/src/config.cc and topo/topoinfo_ranktable{Parser,Concise}.cc; the manual: hicann/hccl
docs/zh/user_guide/cluster_info_config. The code of each rule in RULES is that of the nearest report call; some refusals only
write a line to the log and return an error.
"""

from __future__ import annotations

from itertools import islice
from typing import Dict, Iterator, List, Mapping, Set, Tuple

from . import hccl, hccl_address_rules, hccl_super_pod_rules
from .json_fields import NOTHING, entries, number_of, text_of
from .model import COMPLETED
from .rule import RankBlock, Rule, Violation, interleaved_blocks, not_objects, not_strings, only_strings, shortened
from .server_list import DeviceEntry, ServerEntry, ServerListTable

MAX_SERVER_ID = 64
"""Bytes of server_id (manual, SERVERID_MAX_LENGTH)."""
MAX_PORT = 65535
MAX_RESERVED_PORT = 1023
"""Ports that the manual advises against."""
MAX_DEVICE_IDS: Mapping[str, int] = {"910A": 7, "A2": 15, "A3": 15, "310P": 31}
"""The largest device_id by product (GetSingleDevice, GetMaxDevNum)."""
AVERAGE_DEVICES = (1, 2, 4, 8, 16)
"""Devices per server on 910A (CheckAverageDev)."""

MAX_SHOWN = 10
"""Missing ranks, or device ids, that a message lists."""

_PORT_KEYS = ("backup_device_port", "device_port", "device_vnic_port", "host_port")


def _status(table: ServerListTable) -> Iterator[Violation]:
    status = text_of(table.fields, "status")
    if status is not None and status != COMPLETED:
        yield Violation("status", "status is %s: HCCL waits up to 30 minutes for '%s', then gives up" % (shortened(status), COMPLETED))


def _version(table: ServerListTable) -> Iterator[Violation]:
    version = text_of(table.fields, "version")
    if version is None:
        return
    if version not in (hccl.VERSION, "1.2"):
        yield Violation("version", "HCCL does not support version %s" % shortened(version), hint="1.0, or 1.2 for an A3 super pod, or 2.0 for Ascend 950")
    elif table.product == "950":
        yield Violation("version", "HCCL on Ascend 950 reads version 2.0 only, not %s" % version,
                        hint="in a container this may be a stale /etc/hccl_rootinfo.json of the host")
    elif version == "1.2" and table.product != "A3":
        yield Violation("version", "version 1.2 is for super pods, which %s does not have" % table.product, severity="warning", hint='write version "1.0"')


_CONSEQUENCE = "HCCL then treats it as missing"


def _string_values(table: ServerListTable) -> Iterator[Violation]:
    yield from not_strings(table.fields, hccl.KEYS, "", _CONSEQUENCE)
    for server in table.servers:
        yield from not_strings(server.fields, hccl.SERVER_KEYS, server.where + ".", _CONSEQUENCE)
        for device in server.devices:
            if not only_strings(device.fields):
                yield from not_strings(device.fields, hccl.DEVICE_KEYS, device.where + ".", _CONSEQUENCE, device.id)
    for index, pod in enumerate(entries(table.fields, "super_pod_list")):
        where = "super_pod_list[%d]." % index
        yield from not_strings(pod, ("super_pod_id",), where, _CONSEQUENCE)
        for place, member in enumerate(entries(pod, "server_list")):
            yield from not_strings(member, ("server_id",), "%sserver_list[%d]." % (where, place), _CONSEQUENCE)


def _required(table: ServerListTable) -> Iterator[Violation]:
    for key in ("status", "version"):
        if key not in table.fields:
            yield Violation(key, "%s is missing" % key, hint="without version HCCL reads the table as an old group_list" if key == "version" else None)
    for server in table.servers:
        for key in ("server_id", "device"):
            if key not in server.fields and server.fields is not NOTHING:
                yield Violation("%s.%s" % (server.where, key), "%s is missing" % key)
        for device in server.devices:
            for key in ("device_id", "rank_id"):
                if key not in device.fields and device.fields is not NOTHING:
                    yield Violation("%s.%s" % (device.where, key), "%s is missing" % key, device=device.id)


def _server_list(table: ServerListTable) -> Iterator[Violation]:
    members = table.fields.get("server_list")
    if not isinstance(members, list) or not members:
        reason = "missing" if "server_list" not in table.fields else "empty" if members == [] else "not a list"
        yield Violation("server_list", "server_list is %s: HCCL requires one entry per server" % reason)
    yield from not_objects(table.fields, "server_list", "")


def _server_count(table: ServerListTable) -> Iterator[Violation]:
    """HCCL treats it as optional, although the manual calls it required."""
    text = text_of(table.fields, "server_count")
    length = len(table.servers)
    if text is not None and length and number_of(table.fields, "server_count") != length:
        yield Violation("server_count", "server_count is %s, but server_list has %d entries" % (shortened(text), length), hint='write "%d"' % length)


def _server_id(table: ServerListTable) -> Iterator[Violation]:
    first: Dict[str, ServerEntry] = {}
    for server in table.servers:
        name = text_of(server.fields, "server_id")
        where = server.where + ".server_id"
        if name is None:
            continue
        if not name:
            yield Violation(where, "server_id is empty")
        elif len(name.encode("utf-8", "surrogatepass")) > MAX_SERVER_ID:
            yield Violation(where, "server_id has more than %d bytes: %s" % (MAX_SERVER_ID, shortened(name)))
        elif name in first:
            yield Violation(where, "server_id %r is also used by %s" % (name, first[name].where), hint="give each server one entry with a unique name")
        else:
            first[name] = server


def _device_list(table: ServerListTable) -> Iterator[Violation]:
    for server in table.servers:
        members = server.fields.get("device")
        if not isinstance(members, list) or not members:
            if "device" in server.fields:
                yield Violation(server.where + ".device", "device is %s: HCCL requires one entry per NPU" % ("empty" if members == [] else "not a list"))
        yield from not_objects(server.fields, "device", server.where + ".")


def _device_id(table: ServerListTable) -> Iterator[Violation]:
    limit = MAX_DEVICE_IDS.get(table.product or "", max(MAX_DEVICE_IDS.values()))
    for server in table.servers:
        seen: Dict[int, DeviceEntry] = {}
        for device in server.devices:
            if device.id is None:
                text = text_of(device.fields, "device_id")
                if text is not None:
                    yield Violation(device.where + ".device_id", "device_id %s is not a non-negative integer" % shortened(text))
                continue
            if device.id > limit:
                yield Violation(device.where + ".device_id", "device_id %d exceeds %d, the largest of %s" % (
                    device.id, limit, table.product or "any product"), device=device.id, hint="device_id is the physical id of the NPU in its server")
            if seen.setdefault(device.id, device) is not device:
                yield Violation(device.where + ".device_id", "device_id %d is also used by %s" % (device.id, seen[device.id].where), device=device.id)


def _ports(table: ServerListTable) -> Iterator[Violation]:
    valid: Set[str] = set()
    for device in table.devices:
        for key in _PORT_KEYS:
            text = text_of(device.fields, key) if key in device.fields else None
            if text is None or text in valid:
                continue
            number = number_of(device.fields, key)
            where = "%s.%s" % (device.where, key)
            if number is None or not 1 <= number <= MAX_PORT:
                yield Violation(where, "%s %s is not a port from 1 to %d" % (key, shortened(text), MAX_PORT), device=device.id)
            elif number <= MAX_RESERVED_PORT:
                yield Violation(where, "%s %d: ports up to %d are reserved for the system" % (key, number, MAX_RESERVED_PORT), severity="warning",
                                device=device.id)
            else:
                valid.add(text)


def _device_count(table: ServerListTable) -> Iterator[Violation]:
    """Only 910A refuses it, so it is a warning if the product is unknown."""
    counts = [len(server.devices) for server in table.servers]
    if not counts or table.product not in ("910A", None):
        return
    severity = "error" if table.product else "warning"
    odd = next((index for index, count in enumerate(counts) if count != counts[0]), None)
    if odd is not None:
        yield Violation("server_list[%d].device" % odd, "the number of devices is %d, but %d in the first server: 910A requires the same number in each" % (
            counts[odd], counts[0]), severity=severity)
    elif table.product and counts[0] not in AVERAGE_DEVICES:
        yield Violation("server_list[0].device", "the number of devices is %d: 910A accepts %s in each server" % (
            counts[0], ", ".join(map(str, AVERAGE_DEVICES))))


def _rank_ids(table: ServerListTable) -> Iterator[Violation]:
    first: Dict[int, DeviceEntry] = {}
    for device in table.devices:
        if device.rank is None:
            text = text_of(device.fields, "rank_id")
            if text is not None:
                yield Violation(device.where + ".rank_id", "rank_id %s is not a non-negative integer" % shortened(text), device=device.id)
        elif first.setdefault(device.rank, device) is not device:
            yield Violation(device.where + ".rank_id", "rank_id %d is also used by %s" % (device.rank, first[device.rank].where), device=device.id)
    total = len(table.devices)
    beyond = min((rank for rank in first if rank >= total), default=None)
    if beyond is not None:
        missing = ", ".join(map(str, islice((rank for rank in range(total) if rank not in first), MAX_SHOWN)))
        yield Violation(first[beyond].where + ".rank_id", "rank_id %d: %d ranks must be numbered 0 to %d without a gap; missing first: %s" % (
            beyond, total, total - 1, missing), device=first[beyond].id)


def _rank_order(table: ServerListTable) -> Iterator[Violation]:
    """According to the manual, the rank ids of one server form one block. HCCL does not check it."""
    blocks: List[RankBlock] = []
    for server in table.servers:
        ranks = [device.rank for device in server.devices if device.rank is not None]
        if ranks:
            blocks.append((min(ranks), max(ranks), server.where))
    for block, other in interleaved_blocks(blocks):
        yield Violation(block[2], "its rank ids interleave with those of %s, which the manual of HCCL does not allow" % other[2],
                        hint="number the ranks of one server after those of another")


def _device_order(table: ServerListTable) -> Iterator[Violation]:
    """Ranks that follow the device ids sorted as text (0, 1, 10, 11, 2) are valid, but come from a generator that sorts strings by mistake."""
    for server in table.servers:
        ranked = sorted((device.rank, device.id) for device in server.devices if device.rank is not None and device.id is not None)
        ids = [number for _rank, number in ranked]
        if ids != sorted(ids) and ids == sorted(ids, key=str):
            yield Violation(server.where + ".device", "the ranks follow the device ids sorted as text (%s), not as numbers" % (
                ", ".join(map(str, ids[:MAX_SHOWN]))), severity="warning", hint="sort the device ids as numbers before assigning ranks")


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
    Rule("device_ip", "EI0014", hccl_address_rules.device_ip),
    Rule("device_ip_unique", "EI0014", hccl_address_rules.device_ip_unique),
    Rule("device_ip_count", "EI0014", hccl_address_rules.device_ip_count),
    Rule("vnic_address", "EI0014", hccl_address_rules.vnic_address),
    Rule("ip_family", "EI0001", hccl_address_rules.ip_family),
    Rule("host_ip", "EI0014", hccl_address_rules.host_ip),
    Rule("backup_device", "EI0014", hccl_address_rules.backup_device),
    Rule("ports", "EI0014", _ports),
    Rule("super_pod_list", None, hccl_super_pod_rules.super_pod_list),
    Rule("super_pod_id", "EI0014", hccl_super_pod_rules.super_pod_id),
    Rule("super_pod_servers", "EI0014", hccl_super_pod_rules.super_pod_servers),
    Rule("super_device_id", "EI0014", hccl_super_pod_rules.super_device_id),
    Rule("sdid", None, hccl_super_pod_rules.sdid),
    Rule("device_count", "EI0014", _device_count),
    Rule("rank_order", None, _rank_order),
    Rule("super_pod_order", None, hccl_super_pod_rules.super_pod_order),
    Rule("device_order", None, _device_order),
)
