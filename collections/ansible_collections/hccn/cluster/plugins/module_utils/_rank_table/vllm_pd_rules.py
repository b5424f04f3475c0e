# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of the LLMDataDist connector of vLLM for a prefill and decode table, including errors with which its links fail.

Source: vllm-project/vllm-ascend v0.11.0-dev vllm_ascend/distributed/llmdatadist_c_mgr_connector.py. It reads both lists, and finds its
own entry by server_id (its address) and device_id (an element of ASCEND_RT_VISIBLE_DEVICES).
"""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from .hccl_address_rules import HINTS
from .json_fields import NOTHING, Addresses, addresses_of, entries, number_of, packed, text_of
from .model import COMPLETED
from .rule import Rule, Violation, duplicates, missing_keys, not_objects, not_strings, shortened
from .super_pod import sdid_parts, vnic_place
from .vllm_pd import ROLES

LISTS = tuple(role + "_device_list" for role in ROLES)

_NEEDED = ("server_id", "device_id", "device_ip", "cluster_id")
_CONSEQUENCE = "the connector compares it with a string"


class VllmDevice(NamedTuple):
    where: str
    fields: Mapping[str, Any]
    id: Optional[int]
    addresses: Addresses


class VllmTable(NamedTuple):
    fields: Mapping[str, Any]
    devices: List[VllmDevice]


def view(document: Mapping[str, Any], _product: Optional[str] = None) -> VllmTable:
    """Return any JSON object as a prefill and decode table."""
    return VllmTable(document, [VllmDevice("%s[%d]" % (key, place), fields, number_of(fields, "device_id"), addresses_of(fields, "device_ip"))
                                for key in LISTS for place, fields in enumerate(entries(document, key))])


def _device_lists(table: VllmTable) -> Iterator[Violation]:
    for key in LISTS:
        members = table.fields.get(key)
        if not isinstance(members, list):
            yield Violation(key, "%s is %s: the connector requires both lists" % (key, "not a list" if key in table.fields else "missing"))
        elif not members:
            yield Violation(key, "%s is empty" % key, severity="warning")
        yield from not_objects(table.fields, key, "")


def _required(table: VllmTable) -> Iterator[Violation]:
    for entry in table.devices:
        if entry.fields is not NOTHING:
            yield from missing_keys(entry.fields, _NEEDED, entry.where + ".", entry.id)


def _string_values(table: VllmTable) -> Iterator[Violation]:
    for entry in table.devices:
        yield from not_strings(entry.fields, ("server_id", "device_id", "device_ip"), entry.where + ".", _CONSEQUENCE, entry.id)


def _server_id(table: VllmTable) -> Iterator[Violation]:
    for entry in table.devices:
        name = text_of(entry.fields, "server_id")
        if name is not None and packed(name) is None:
            yield Violation(entry.where + ".server_id", "server_id %s is not an IP address: the connector compares it with that of its host" % shortened(name),
                            device=entry.id)


def _device_id(table: VllmTable) -> Iterator[Violation]:
    for entry in table.devices:
        text = text_of(entry.fields, "device_id")
        if text is not None and entry.id is None:
            yield Violation(entry.where + ".device_id", "device_id %s is not a non-negative integer" % shortened(text))


def _device_unique(table: VllmTable) -> Iterator[Violation]:
    """Two processes on one NPU need two ports, otherwise the second cannot listen (EI0006)."""
    keys = [((text_of(entry.fields, "server_id"), entry.id), entry) for entry in table.devices if entry.id is not None]
    for entry, first in duplicates(keys):
        yield Violation(entry.where + ".device_id", "device_id %d of this server is also used by %s" % (entry.id, first.where),
                        severity="warning", device=entry.id)


def _cluster_id(table: VllmTable) -> Iterator[Violation]:
    keys = []
    for entry in table.devices:
        if "cluster_id" in entry.fields:
            number = number_of(entry.fields, "cluster_id")
            if number is None:
                yield Violation(entry.where + ".cluster_id", "cluster_id %s is not a number" % shortened(entry.fields["cluster_id"]), device=entry.id)
            else:
                keys.append((number, entry))
    for entry, first in duplicates(keys):
        yield Violation(entry.where + ".cluster_id", "cluster_id %s is also used by %s, so they cannot be linked" % (
            shortened(entry.fields["cluster_id"]), first.where), device=entry.id)


def _device_ip(table: VllmTable) -> Iterator[Violation]:
    for entry in table.devices:
        text = text_of(entry.fields, "device_ip")
        if text is not None and (len(entry.addresses) != 1 or not any(entry.addresses[0][1] or b"")):
            yield Violation(entry.where + ".device_ip", "%s is not an IP address of an NPU" % shortened(text), hint=HINTS.get(text), device=entry.id)


def _is_super_pod(entry: VllmDevice) -> bool:
    """Return True for an entry in a super pod, where addresses are those of virtual NICs, which repeat in other super pods."""
    return "super_device_id" in entry.fields


def _device_ip_unique(table: VllmTable) -> Iterator[Violation]:
    addresses = [((found, text_of(entry.fields, "super_pod_id") if _is_super_pod(entry) else None), entry) for entry in table.devices
                 for _address, found in entry.addresses if found is not None]
    for entry, first in duplicates(addresses):
        # The same NPU in both lists is reported by device_unique.
        if (entry.fields.get("server_id"), entry.id) != (first.fields.get("server_id"), first.id):
            yield Violation(entry.where + ".device_ip", "the address %s is also used by %s" % (shortened(entry.fields["device_ip"]), first.where),
                            device=entry.id)


def _super_device_id(table: VllmTable) -> Iterator[Violation]:
    keys = []
    for entry in table.devices:
        if _is_super_pod(entry):
            number = number_of(entry.fields, "super_device_id")
            if number is None:
                yield Violation(entry.where + ".super_device_id", "super_device_id %s is not an SDID in decimal digits" % (
                    shortened(entry.fields["super_device_id"])), device=entry.id)
            else:
                keys.append(((text_of(entry.fields, "super_pod_id"), number), entry))
    for entry, first in duplicates(keys):
        if (entry.fields.get("server_id"), entry.id) != (first.fields.get("server_id"), first.id):
            yield Violation(entry.where + ".super_device_id", "super_device_id %s is also used by %s: the link fails" % (
                shortened(entry.fields["super_device_id"]), first.where), device=entry.id)


def _sdid(table: VllmTable) -> Iterator[Violation]:
    """On A3 the SDID and the address of the virtual NIC both contain the device and its server."""
    for entry in table.devices:
        number = number_of(entry.fields, "super_device_id") if _is_super_pod(entry) else None
        parts = sdid_parts(number) if number is not None else None
        if parts is None or entry.id is None:
            continue
        if not parts.consistent or parts.device != entry.id:
            yield Violation(entry.where + ".super_device_id", "super_device_id %s does not belong to device %d" % (
                shortened(entry.fields["super_device_id"]), entry.id), severity="warning", device=entry.id)
            continue
        place = vnic_place(entry.addresses[0][0]) if len(entry.addresses) == 1 else None
        if place is not None and (place.device != entry.id or place.server_index not in (None, parts.server_index)):
            yield Violation(entry.where + ".device_ip", "%s is the virtual NIC of device %d of server %s, but super_device_id belongs to device %d of "
                            "server %d" % (shortened(entry.fields["device_ip"]), place.device, place.server_index, parts.device, parts.server_index),
                            severity="warning", device=entry.id)


def _server_count(table: VllmTable) -> Iterator[Violation]:
    """The connector does not read it."""
    servers = {text_of(entry.fields, "server_id") for entry in table.devices}
    count = table.fields.get("server_count")
    if isinstance(count, (int, str)) and number_of(table.fields, "server_count") != len(servers):
        yield Violation("server_count", "server_count is %s, but both lists have %d servers" % (shortened(count), len(servers)), severity="warning")


def _status(table: VllmTable) -> Iterator[Violation]:
    """The connector does not read it."""
    status = text_of(table.fields, "status")
    if status is not None and status != COMPLETED:
        yield Violation("status", "status is %s: the table is not finished" % shortened(status), severity="warning")


RULES: Tuple[Rule, ...] = (
    Rule("device_lists", None, _device_lists),
    Rule("required_keys", None, _required),
    Rule("string_values", None, _string_values),
    Rule("server_id", None, _server_id),
    Rule("device_id", None, _device_id),
    Rule("device_unique", None, _device_unique),
    Rule("cluster_id", None, _cluster_id),
    Rule("device_ip", None, _device_ip),
    Rule("device_ip_unique", None, _device_ip_unique),
    Rule("super_device_id", None, _super_device_id),
    Rule("sdid", None, _sdid),
    Rule("server_count", None, _server_count),
    Rule("status", None, _status),
)
