# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of HCCL on 910A for an old group_list table, which has no version: the cloud form and, with deploy_mode, the laboratory form.

Source: hcomm topo/topoinfo_ranktableStandard.cc. The cloud form has no ranks: HCCL numbers the devices of the pods in their order.
"""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from .hccl_rules import MAX_DEVICE_IDS
from .json_fields import NOTHING, Addresses, addresses_of, entries, number_of, text_of
from .model import COMPLETED
from .rule import Rule, Violation, duplicates, missing_keys, not_objects, not_strings, shortened

PRODUCT = "910A"

_CONSEQUENCE = "HCCL then treats it as missing"
_CLOUD_KEYS = ("device_count", "instance_count", "instance_list")
_LAB_KEYS = ("device_num", "server_num", "instance_count", "instance_list")


class GroupListDevice(NamedTuple):
    where: str
    fields: Mapping[str, Any]
    server: str
    id: Optional[int]
    addresses: Addresses


class GroupListInstance(NamedTuple):
    where: str
    fields: Mapping[str, Any]
    devices: List[GroupListDevice]


class GroupListGroup(NamedTuple):
    where: str
    fields: Mapping[str, Any]
    instances: List[GroupListInstance]

    @property
    def devices(self) -> List[GroupListDevice]:
        return [device for instance in self.instances for device in instance.devices]


class GroupListTable(NamedTuple):
    """``laboratory`` is True for tables with deploy_mode, in which each instance is a rank with a rank_id."""

    fields: Mapping[str, Any]
    groups: List[GroupListGroup]
    product: Optional[str]
    laboratory: bool

    @property
    def devices(self) -> List[GroupListDevice]:
        return [device for group in self.groups for device in group.devices]


def _instance(where: str, fields: Mapping[str, Any]) -> GroupListInstance:
    server = text_of(fields, "server_id") or ""
    devices = [GroupListDevice("%s.devices[%d]" % (where, place), device, server, number_of(device, "device_id"), addresses_of(device, "device_ip"))
               for place, device in enumerate(entries(fields, "devices"))]
    return GroupListInstance(where, fields, devices)


def view(document: Mapping[str, Any], product: Optional[str] = None) -> GroupListTable:
    """Return any JSON object as a GroupListTable."""
    groups = []
    for index, fields in enumerate(entries(document, "group_list")):
        where = "group_list[%d]" % index
        groups.append(GroupListGroup(where, fields, [_instance("%s.instance_list[%d]" % (where, place), member)
                                                     for place, member in enumerate(entries(fields, "instance_list"))]))
    return GroupListTable(document, groups, product, "deploy_mode" in document)


def _status(table: GroupListTable) -> Iterator[Violation]:
    status = text_of(table.fields, "status")
    if status is not None and status != COMPLETED:
        yield Violation("status", "status is %s: HCCL waits up to 30 minutes for '%s', then gives up" % (shortened(status), COMPLETED))


def _product(table: GroupListTable) -> Iterator[Violation]:
    if table.product not in (PRODUCT, None):
        yield Violation("version", "version is missing: HCCL then reads an old group_list table, which is for %s, not for %s" % (PRODUCT, table.product))


def _string_values(table: GroupListTable) -> Iterator[Violation]:
    yield from not_strings(table.fields, ("status", "group_count"), "", _CONSEQUENCE)
    for group in table.groups:
        yield from not_strings(group.fields, ("group_name", "device_count", "device_num", "server_num", "instance_count"), group.where + ".", _CONSEQUENCE)
        for instance in group.instances:
            yield from not_strings(instance.fields, ("pod_name", "server_id", "rank_id"), instance.where + ".", _CONSEQUENCE)
            for device in instance.devices:
                yield from not_strings(device.fields, ("device_id", "device_ip"), device.where + ".", _CONSEQUENCE, device.id)


def _required(table: GroupListTable) -> Iterator[Violation]:
    yield from missing_keys(table.fields, ("status", "group_count"), "")
    for group in table.groups:
        if group.fields is not NOTHING:
            yield from missing_keys(group.fields, ("group_name",) + (_LAB_KEYS if table.laboratory else _CLOUD_KEYS), group.where + ".")
        for instance in group.instances:
            if instance.fields is not NOTHING:
                yield from missing_keys(instance.fields, ("rank_id" if table.laboratory else "pod_name", "server_id", "devices"), instance.where + ".")
            for device in instance.devices:
                if device.fields is not NOTHING:
                    yield from missing_keys(device.fields, ("device_id", "device_ip"), device.where + ".", device.id)


def _lists(table: GroupListTable) -> Iterator[Violation]:
    if not table.groups:
        yield Violation("group_list", "group_list is not a list of groups")
    yield from not_objects(table.fields, "group_list", "")
    for group in table.groups:
        yield from not_objects(group.fields, "instance_list", group.where + ".")
        for instance in group.instances:
            yield from not_objects(instance.fields, "devices", instance.where + ".")


def _counts(table: GroupListTable) -> Iterator[Violation]:
    counted = [("group_count", table.fields, "", len(table.groups), "groups")]
    for group in table.groups:
        where = group.where + "."
        counted.append(("instance_count", group.fields, where, len(group.instances), "instances"))
        counted += [(key, group.fields, where, len(group.devices), "devices") for key in ("device_count", "device_num")]
    for key, fields, where, number, members in counted:
        text = text_of(fields, key)
        if text is not None and number_of(fields, key) != number:
            yield Violation(where + key, "%s is %s, but the number of %s is %d" % (key, shortened(text), members, number), hint='write "%d"' % number)


def _device_id(table: GroupListTable) -> Iterator[Violation]:
    limit = MAX_DEVICE_IDS[PRODUCT]
    for device in table.devices:
        text = text_of(device.fields, "device_id")
        if text is not None and (device.id is None or device.id > limit):
            yield Violation(device.where + ".device_id", "device_id %s is not a number from 0 to %d" % (shortened(text), limit), device=device.id)
    known = [((device.server, device.id), device) for device in table.devices if device.id is not None]
    for device, first in duplicates(known):
        yield Violation(device.where + ".device_id", "device_id %d is also used by %s in the same server" % (device.id, first.where), device=device.id)


def _rank_ids(table: GroupListTable) -> Iterator[Violation]:
    """Only the laboratory form has ranks."""
    instances = [instance for group in table.groups for instance in group.instances] if table.laboratory else []
    known = [(number_of(instance.fields, "rank_id"), instance) for instance in instances]
    for number, instance in known:
        if (number is None or number >= len(known)) and "rank_id" in instance.fields:
            yield Violation(instance.where + ".rank_id", "rank_id %s is not a number from 0 to %d" % (shortened(instance.fields["rank_id"]), len(known) - 1))
    for instance, first in duplicates(pair for pair in known if pair[0] is not None):
        yield Violation(instance.where + ".rank_id", "rank_id %s is also used by %s" % (shortened(instance.fields["rank_id"]), first.where))


def _device_ip(table: GroupListTable) -> Iterator[Violation]:
    for device in table.devices:
        text = text_of(device.fields, "device_ip")
        if text is not None and (not device.addresses or any(found is None or not any(found) for _address, found in device.addresses)):
            yield Violation(device.where + ".device_ip", "%s is not an IP address of an NPU" % shortened(text), device=device.id)
    addresses = [(found, device) for device in table.devices for _address, found in device.addresses if found is not None]
    for device, first in duplicates(addresses):
        yield Violation(device.where + ".device_ip", "the address %s is also used by %s" % (shortened(device.fields["device_ip"]), first.where),
                        device=device.id)


def _ip_family(table: GroupListTable) -> Iterator[Violation]:
    sizes = [(len(found), device) for device in table.devices for _address, found in device.addresses if found is not None]
    for size, device in sizes:
        if size != sizes[0][0]:
            yield Violation(device.where + ".device_ip", "IPv4 and IPv6 are mixed: %s has another family than %s" % (
                shortened(device.fields["device_ip"]), sizes[0][1].where), device=device.id)
            return


RULES: Tuple[Rule, ...] = (
    Rule("status", "EI0004", _status),
    Rule("version", "EI0014", _product),
    Rule("string_values", "EI0017", _string_values),
    Rule("required_keys", "EI0017", _required),
    Rule("group_list", "EI0017", _lists),
    Rule("counts", "EI0014", _counts),
    Rule("device_id", "EI0014", _device_id),
    Rule("rank_ids", "EI0014", _rank_ids),
    Rule("device_ip", "EI0014", _device_ip),
    Rule("ip_family", "EI0001", _ip_family),
)
