# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of HCCL for the super pods of a rank table, and checks for impossible SDIDs.

Source: hcomm topo/topoinfo_ranktableConcise.cc (GetSuperPodList, CheckSuperPodInfo, GetSingleSuperDeviceId).
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from .hccl import SUPER_POD_VERSION as VERSION
from .json_fields import NOTHING, entries, number_of, text_of
from .rule import RankBlock, Violation, duplicates, interleaved_blocks, not_objects, shortened
from .server_list import DeviceEntry, ServerEntry, ServerListTable
from .super_pod import Sdid, sdid_parts

NO_SDID = 0xFFFFFFFF
"""HCCL's own value for "not configured" (INVALID_UINT)."""
MAX_PLACEHOLDER = 0xFFFF
"""SDIDs up to this value have die 0 of chip 0 of server 0."""

_SPOD_INFO = "npu-smi info -t spod-info -i NPU -c CHIP prints the SDID; hccn.cluster.device_info returns it with gather super_pod"


class _Pod(NamedTuple):
    place: int
    fields: Mapping[str, Any]

    @property
    def where(self) -> str:
        return "super_pod_list[%d]" % self.place


def _pods(table: ServerListTable) -> List[_Pod]:
    """Return the super pods that HCCL reads."""
    if table.fields.get("version") != VERSION:
        return []
    return [_Pod(place, fields) for place, fields in enumerate(entries(table.fields, "super_pod_list"))]


def _pod_of(table: ServerListTable) -> Dict[str, str]:
    """Return the path of the super pod of each server_id; the last one counts if several list it."""
    return {name: pod.where for pod in _pods(table) for name in (text_of(member, "server_id") for member in entries(pod.fields, "server_list")) if name}


def super_pod_list(table: ServerListTable) -> Iterator[Violation]:
    """HCCL accepts these tables, but does not see a super pod."""
    version = text_of(table.fields, "version")
    if "super_pod_list" in table.fields and version == "1.0":
        yield Violation("super_pod_list", "HCCL ignores super_pod_list, since it reads it with version 1.2 only", severity="warning",
                        hint='write version "1.2" for a super pod, or leave the list out')
    elif version == VERSION and "super_pod_list" not in table.fields:
        yield Violation("super_pod_list", "super_pod_list is missing: without it, a table of version 1.2 has no super pod", severity="warning",
                        hint='list the super pods, or write version "1.0"')


def super_pod_id(table: ServerListTable) -> Iterator[Violation]:
    pods = _pods(table)
    names = []
    yield from not_objects(table.fields, "super_pod_list", "") if table.fields.get("version") == VERSION else ()
    for pod in pods:
        name = text_of(pod.fields, "super_pod_id")
        if name:
            names.append((name, pod))
        elif pod.fields is not NOTHING and not isinstance(pod.fields.get("super_pod_id"), (list, dict, float)):
            yield Violation(pod.where + ".super_pod_id", "super_pod_id is %s" % ("empty" if name == "" else "missing"))
    for pod, first in duplicates(names):
        yield Violation(pod.where + ".super_pod_id", "super_pod_id %s is also used by %s" % (shortened(pod.fields["super_pod_id"]), first.where))


def super_pod_servers(table: ServerListTable) -> Iterator[Violation]:
    if table.fields.get("version") != VERSION or "super_pod_list" not in table.fields:
        return
    if not isinstance(table.fields["super_pod_list"], list):
        yield Violation("super_pod_list", "super_pod_list is not a list: HCCL requires one entry per super pod")
        return
    known = {text_of(server.fields, "server_id") for server in table.servers}
    members: Dict[str, str] = {}
    for pod in _pods(table):
        if pod.fields is not NOTHING and not isinstance(pod.fields.get("server_list"), list):
            yield Violation(pod.where + ".server_list", "server_list is %s: HCCL requires one entry per server of the super pod" % (
                "not a list" if "server_list" in pod.fields else "missing"))
        for place, member in enumerate(entries(pod.fields, "server_list")):
            where = "%s.server_list[%d].server_id" % (pod.where, place)
            name = text_of(member, "server_id")
            if name is None or name not in known:
                yield Violation(where, "%s in server_list" % ("server_id %s is not" % shortened(name) if name else "server_id is missing, so it is not"))
            elif name in members:
                yield Violation(where, "server_id %s is also in %s: HCCL uses the last one" % (shortened(name), members[name]), severity="warning")
            else:
                members[name] = where
    for server in table.servers:
        name = text_of(server.fields, "server_id")
        if name and name not in members:
            yield Violation(server.where + ".server_id", "server_id %s is in no super pod, but HCCL requires each server to be in one" % shortened(name))


def super_device_id(table: ServerListTable) -> Iterator[Violation]:
    """Required if HCCL reads super pods, and unique in each super pod."""
    if table.fields.get("version") != VERSION:
        yield from _twice_in_a_server(table)
        return
    pod_of = _pod_of(table)
    needed = "super_pod_list" in table.fields
    first: Dict[Tuple[Optional[str], int], DeviceEntry] = {}
    for server in table.servers:
        pod = pod_of.get(text_of(server.fields, "server_id") or "")
        for device in server.devices:
            number = number_of(device.fields, "super_device_id")
            if number is None or number == NO_SDID:
                yield from _no_sdid(device, needed)
            elif pod is not None and first.setdefault((pod, number), device) is not device:
                yield Violation(device.where + ".super_device_id", "super_device_id %d is also used by %s in the same super pod" % (
                    number, first[pod, number].where), device=device.id)


def _twice_in_a_server(table: ServerListTable) -> Iterator[Violation]:
    """In other versions HCCL reads no SDID, but two devices of a server with the same SDID are always wrong."""
    keys = [((server.place, number_of(device.fields, "super_device_id")), device)
            for server in table.servers for device in server.devices if "super_device_id" in device.fields]
    for device, first in duplicates(pair for pair in keys if pair[0][1] is not None):
        yield Violation(device.where + ".super_device_id", "super_device_id %s is also used by %s; HCCL reads it with version 1.2 only" % (
            shortened(device.fields["super_device_id"]), first.where), severity="warning", device=device.id, hint=_SPOD_INFO)


def _no_sdid(device: DeviceEntry, needed: bool) -> Iterator[Violation]:
    """Values that are not strings are reported by string_values."""
    value = device.fields.get("super_device_id", NOTHING)
    if isinstance(value, str) or value == NO_SDID:
        hint = "-2 is what the device plugin writes when it cannot read the SDID" if value == "-2" else _SPOD_INFO
        yield Violation(device.where + ".super_device_id", "super_device_id %s is not an SDID in decimal digits" % shortened(value),
                        device=device.id, hint=hint)
    elif needed and value is NOTHING and device.fields is not NOTHING:
        yield Violation(device.where + ".super_device_id", "super_device_id is missing: HCCL requires it in a super pod", device=device.id, hint=_SPOD_INFO)


def _sdids(server: ServerEntry) -> List[Tuple[DeviceEntry, Sdid]]:
    """Return the devices of a server with the parts of their SDIDs."""
    found = []
    for device in server.devices:
        number = number_of(device.fields, "super_device_id") if "super_device_id" in device.fields else None
        parts = None if number is None or number == NO_SDID else sdid_parts(number)
        if parts is not None and device.id is not None:
            found.append((device, parts))
    return found


def sdid_findings(servers: List[ServerEntry]) -> Iterator[Violation]:
    """Report SDIDs that contradict the device ids, or each other within a server."""
    sdids = [_sdids(server) for server in servers]
    every = [pair for pairs in sdids for pair in pairs]
    if len(every) > 1 and all((parts.server_index, parts.chip, parts.die) == (0, 0, 0) for _device, parts in every):
        yield Violation(every[0][0].where + ".super_device_id", "no super_device_id of the table is an SDID of A3: all of them are below %d, so they are "
                        "placeholders" % (MAX_PLACEHOLDER + 1), severity="warning", hint=_SPOD_INFO)
        return
    for pairs in sdids:
        index: Optional[Tuple[int, DeviceEntry]] = None
        for device, parts in pairs:
            if not parts.consistent or parts.device != device.id:
                reason = "belongs to device %d of server %d" % (parts.device, parts.server_index) if parts.consistent else "is not an SDID of A3"
                yield Violation(device.where + ".super_device_id", "super_device_id %s of device %s %s" % (
                    device.fields["super_device_id"], device.id, reason), severity="warning", device=device.id, hint=_SPOD_INFO)
                continue
            if index is None:
                index = parts.server_index, device
            elif parts.server_index != index[0]:
                yield Violation(device.where + ".super_device_id", "super_device_id %s belongs to server %d of the super pod, but that of %s to server %d" % (
                    device.fields["super_device_id"], parts.server_index, index[1].where, index[0]), severity="warning", device=device.id, hint=_SPOD_INFO)


def sdid(table: ServerListTable) -> Iterator[Violation]:
    """HCCL accepts any unique number."""
    if table.fields.get("version") == VERSION:
        yield from sdid_findings(table.servers)


def super_pod_order(table: ServerListTable) -> Iterator[Violation]:
    """According to the manual, the rank ids of one super pod form one block. HCCL does not check it."""
    pod_of = _pod_of(table)
    ranks: Dict[str, List[int]] = {}
    for server in table.servers:
        pod = pod_of.get(text_of(server.fields, "server_id") or "")
        if pod is not None:
            ranks.setdefault(pod, []).extend(device.rank for device in server.devices if device.rank is not None)
    blocks: List[RankBlock] = [(min(found), max(found), pod) for pod, found in ranks.items() if found]
    for block, other in interleaved_blocks(blocks):
        yield Violation(block[2], "its rank ids interleave with those of %s, which the manual of HCCL does not allow" % other[2],
                        hint="number the ranks of one super pod after those of another")
