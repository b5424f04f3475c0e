# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of MindIE-Motor for a global rank table (server_group_list).

Source: Ascend/MindIE-Motor mindie_motor/src/controller/node_scheduler/rank_table_loader/RankTableLoader.cpp. It validates the first
instance group only, so the same violation is a warning in the other groups, where it fails later or not at all.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from .._core.numbers import is_count
from .global_table import COORDINATOR, FIRST_INSTANCE
from .hccl_super_pod_rules import sdid_findings
from .json_fields import NOTHING, entries, number_of, packed, text_of
from .model import COMPLETED
from .rule import Rule, Violation, duplicates, not_objects, shortened
from .server_list import DeviceEntry, ServerEntry, server_entries

GROUPS = (2, 98)
"""Coordinators, controllers and 96 instances (MIN_GROUP_LIST_NUM, MAX_MULTI_SERVER_GROUP_NUM); 3 if an instance is one host."""
MAX_SERVERS = 96
"""6 groups of 16 hosts (MAX_SERVER_NODES)."""
MAX_COORDINATORS = 2
DEVICES = (1, 128)
"""NPUs per server."""
MAX_ID = 2048
"""device_id, device_logical_id and rank_id (MAX_DEVICE_ID)."""
MAX_SUPER_DEVICE_ID = 2 ** 30
PORTS = (1024, 65535)
MAX_MODE = 0o640
"""Mode of the file if check_mounted_files is enabled."""

_ID_KEYS = ("device_id", "device_logical_id", "rank_id")
_PORT_KEYS = ("predict_port", "mgmt_port", "metric_port", "inter_comm_port")


class ServerGroup(NamedTuple):
    """``number`` is the group_id; None if it is not a number."""

    place: int
    fields: Mapping[str, Any]
    number: Optional[int]
    servers: List[ServerEntry]

    @property
    def where(self) -> str:
        return "server_group_list[%d]" % self.place


class GlobalTable(NamedTuple):
    fields: Mapping[str, Any]
    groups: List[ServerGroup]

    @property
    def instances(self) -> List[Tuple[str, ServerGroup]]:
        """The instance groups, each with the severity of its violations."""
        groups = [group for group in self.groups if group.number is not None and group.number >= FIRST_INSTANCE]
        return [("warning" if place else "error", group) for place, group in enumerate(groups)]

    @property
    def servers(self) -> List[Tuple[str, ServerEntry]]:
        return [(severity, server) for severity, group in self.instances for server in group.servers]

    @property
    def devices(self) -> List[Tuple[str, DeviceEntry]]:
        return [(severity, device) for severity, server in self.servers for device in server.devices]


def view(document: Mapping[str, Any], _product: Optional[str] = None) -> GlobalTable:
    """Return any JSON object as a GlobalTable."""
    return GlobalTable(document, [ServerGroup(place, fields, number_of(fields, "group_id"), server_entries(fields, "server_group_list[%d]." % place))
                                  for place, fields in enumerate(entries(document, "server_group_list"))])


def _status(table: GlobalTable) -> Iterator[Violation]:
    status = text_of(table.fields, "status")
    if status is not None and status != COMPLETED:
        yield Violation("status", "status is %s: the table is not finished" % shortened(status), severity="warning")


def _group_list(table: GlobalTable) -> Iterator[Violation]:
    members = table.fields.get("server_group_list")
    if not isinstance(members, list):
        yield Violation("server_group_list", "server_group_list is %s" % ("not a list" if "server_group_list" in table.fields else "missing"))
    yield from not_objects(table.fields, "server_group_list", "")


def _group_count(table: GlobalTable) -> Iterator[Violation]:
    members = table.fields.get("server_group_list")
    if isinstance(members, list) and not GROUPS[0] <= len(members) <= GROUPS[1]:
        yield Violation("server_group_list", "the number of groups is %d: MindIE-Motor accepts %d to %d" % ((len(members),) + GROUPS))


def _group_id(table: GlobalTable) -> Iterator[Violation]:
    names = []
    for group in table.groups:
        value = group.fields.get("group_id")
        if group.number is None and group.fields is not NOTHING:
            yield Violation(group.where + ".group_id", "group_id is %s" % (
                "not a number but %s" % shortened(value) if "group_id" in group.fields else "missing"))
        elif group.number is not None and not isinstance(value, str):
            yield Violation(group.where + ".group_id", "group_id is not a string but %s" % shortened(value), hint='write "%d"' % group.number)
        else:
            names.append((group.number, group))
    for group, first in duplicates(names):
        yield Violation(group.where + ".group_id", "group_id %s is also used by %s" % (group.number, first.where), severity="warning")


def _coordinator_group(table: GlobalTable) -> Iterator[Violation]:
    """The document of ClusterD shows tables without the group, although ClusterD itself always writes it."""
    if isinstance(table.fields.get("server_group_list"), list) and int(COORDINATOR) not in {group.number for group in table.groups}:
        yield Violation("server_group_list", "no group has group_id '0', which is for the coordinators")


def _instances(table: GlobalTable) -> Iterator[Violation]:
    if isinstance(table.fields.get("server_group_list"), list) and not table.instances:
        yield Violation("server_group_list", "no group has a group_id of '%d' or more: there is no instance" % FIRST_INSTANCE)


def _coordinators(table: GlobalTable) -> Iterator[Violation]:
    for group in table.groups:
        if group.number != int(COORDINATOR):
            continue
        if len(group.servers) > MAX_COORDINATORS:
            yield Violation(group.where + ".server_list", "the number of coordinators is %d: MindIE-Motor accepts at most %d" % (
                len(group.servers), MAX_COORDINATORS))
        for server in group.servers:
            if packed(_string(server.fields, "server_ip")) is None:
                yield Violation(server.where + ".server_ip", "server_ip %s is not an IP address" % shortened(server.fields.get("server_ip")))


def _string(fields: Mapping[str, Any], key: str) -> str:
    """Return a string value; an empty string for other values, as MindIE-Motor reads them."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def _number(fields: Mapping[str, Any], key: str) -> Optional[int]:
    """Return the number in a string; None if the value is not a string."""
    return number_of(fields, key) if isinstance(fields.get(key), str) else None


def _server_list(table: GlobalTable) -> Iterator[Violation]:
    for group in table.groups:
        if group.fields is not NOTHING and not isinstance(group.fields.get("server_list"), list):
            yield Violation(group.where + ".server_list", "server_list is %s" % ("not a list" if "server_list" in group.fields else "missing"))
        yield from not_objects(group.fields, "server_list", group.where + ".")
    for severity, group in table.instances:
        if len(group.servers) > MAX_SERVERS:
            yield Violation(group.where + ".server_list", "the number of servers is %d: MindIE-Motor accepts at most %d" % (len(group.servers), MAX_SERVERS),
                            severity=severity)
    total = len(table.servers)
    if total > MAX_SERVERS:
        yield Violation("server_group_list", "the number of servers in all instance groups is %d: MindIE-Motor accepts at most %d" % (total, MAX_SERVERS))


def _server_count(table: GlobalTable) -> Iterator[Violation]:
    """MindIE-Motor does not read it."""
    for group in table.groups:
        count = group.fields.get("server_count", NOTHING)
        if count is NOTHING:
            continue
        if not isinstance(count, str):
            yield Violation(group.where + ".server_count", "server_count is not a string but %s" % shortened(count), severity="warning")
        elif number_of(group.fields, "server_count") != len(group.servers):
            yield Violation(group.where + ".server_count", "server_count is %s, but server_list has %d entries" % (shortened(count), len(group.servers)),
                            severity="warning")


def _server_addresses(table: GlobalTable) -> Iterator[Violation]:
    for severity, server in table.servers:
        for key in ("server_id", "server_ip"):
            if packed(_string(server.fields, key)) is None:
                # MindIE-Motor reads both keys of every server and stops at a value that is not a string, in whatever group.
                missing = not isinstance(server.fields.get(key), str)
                yield Violation("%s.%s" % (server.where, key), "%s is missing" % key if key not in server.fields else
                                "%s %s is not an IP address" % (key, shortened(server.fields[key])), severity="error" if missing else severity)


def _server_unique(table: GlobalTable) -> Iterator[Violation]:
    """MindIE-Motor identifies an instance by server_ip and mgmt_port."""
    servers = [((_string(server.fields, "server_ip"), text_of(server.fields, "mgmt_port")), server) for _severity, server in table.servers
               if server.fields.get("server_ip")]
    for server, first in duplicates(servers):
        yield Violation(server.where + ".server_ip", "server_ip %s is also used by %s" % (shortened(server.fields["server_ip"]), first.where))
    for _severity, group in table.instances:
        names = [(text_of(server.fields, "server_id"), server) for server in group.servers if text_of(server.fields, "server_id")]
        for server, first in duplicates(names):
            yield Violation(server.where + ".server_id", "server_id %s is also used by %s" % (shortened(server.fields["server_id"]), first.where),
                            severity="warning")


def _ports(table: GlobalTable) -> Iterator[Violation]:
    for severity, server in table.servers:
        for key in _PORT_KEYS:
            if key in server.fields:
                number = _number(server.fields, key)
                if number is None or not PORTS[0] <= number <= PORTS[1]:
                    yield Violation("%s.%s" % (server.where, key), "%s %s is not a port from %d to %d as a string" % (
                        (key, shortened(server.fields[key])) + PORTS), severity=severity)


def _device_count(table: GlobalTable) -> Iterator[Violation]:
    for severity, server in table.servers:
        if not DEVICES[0] <= len(server.devices) <= DEVICES[1]:
            yield Violation(server.where + ".device", "the number of devices is %d: MindIE-Motor accepts %d to %d in each server" % (
                (len(server.devices),) + DEVICES), severity=severity)
        yield from not_objects(server.fields, "device", server.where + ".")


def _device_values(table: GlobalTable) -> Iterator[Violation]:
    for severity, device in table.devices:
        fields = device.fields
        for key in _ID_KEYS:
            number = _number(fields, key)
            if number is None or number > MAX_ID:
                yield Violation("%s.%s" % (device.where, key), "%s %s is not a number from 0 to %d as a string" % (key, shortened(fields.get(key)), MAX_ID)
                                if key in fields else "%s is missing" % key, severity="error" if number is None else severity, device=device.id)
        if "super_device_id" in fields:
            number = _number(fields, "super_device_id")
            if number is None or number > MAX_SUPER_DEVICE_ID:
                yield Violation(device.where + ".super_device_id", "super_device_id %s is not a number from 0 to %d as a string" % (
                    shortened(fields["super_device_id"]), MAX_SUPER_DEVICE_ID), severity=severity, device=device.id)


def _device_ip(table: GlobalTable) -> Iterator[Violation]:
    for severity, device in table.devices:
        address = _string(device.fields, "device_ip")
        if not address or len(device.addresses) != 1 or device.addresses[0][1] is None:
            yield Violation(device.where + ".device_ip", "device_ip is missing" if "device_ip" not in device.fields else
                            "%s is not an IP address" % shortened(device.fields["device_ip"]), severity=severity if address else "error", device=device.id)


def _device_ip_unique(table: GlobalTable) -> Iterator[Violation]:
    """MindIE-Motor does not compare addresses. A host may be in two groups, but within one group an address belongs to one NPU."""
    for _severity, group in table.instances:
        addresses = [(found, device) for server in group.servers for device in server.devices for _address, found in device.addresses if found]
        for device, first in duplicates(addresses):
            yield Violation(device.where + ".device_ip", "the address %s is also used by %s" % (shortened(device.fields["device_ip"]), first.where),
                            severity="warning", device=device.id)


def _super_pods(table: GlobalTable) -> Iterator[Violation]:
    """MindIE-Motor reads the list in any version. It treats servers that are not in it as servers without a super pod."""
    for group in table.groups:
        if "super_pod_list" not in group.fields:
            continue
        where = group.where + ".super_pod_list"
        if text_of(table.fields, "version") == "1.0":
            yield Violation(where, "super_pod_list in a table of version 1.0: HCCL reads it with version 1.2 only", severity="warning")
        members: Dict[Optional[str], bool] = {}
        for place, pod in enumerate(entries(group.fields, "super_pod_list")):
            if not isinstance(pod.get("super_pod_id"), str):
                yield Violation("%s[%d].super_pod_id" % (where, place), "super_pod_id is %s" % ("not a string" if "super_pod_id" in pod else "missing"))
            members.update((text_of(member, "server_id"), True) for member in entries(pod, "server_list"))
        for server in group.servers:
            if text_of(server.fields, "server_id") not in members:
                yield Violation(server.where + ".server_id", "server_id %s is in no super pod of its group" % shortened(server.fields.get("server_id")),
                                severity="warning")


def _deploy_server(table: GlobalTable) -> Iterator[Violation]:
    for _severity, group in table.instances:
        value = group.fields.get("deploy_server", "0")
        if not isinstance(value, str) or not is_count(value):
            yield Violation(group.where + ".deploy_server", "deploy_server %s is not a number as a string" % shortened(value))


def _sdid(table: GlobalTable) -> Iterator[Violation]:
    for _severity, group in table.instances:
        if text_of(table.fields, "version") == "1.2":
            yield from sdid_findings(group.servers)


RULES: Tuple[Rule, ...] = (
    Rule("status", None, _status),
    Rule("group_list", None, _group_list),
    Rule("group_count", None, _group_count, only_if_named=True),
    Rule("group_id", None, _group_id),
    Rule("coordinator_group", None, _coordinator_group, only_if_named=True),
    Rule("instances", None, _instances),
    Rule("coordinators", None, _coordinators),
    Rule("server_list", None, _server_list),
    Rule("server_count", None, _server_count),
    Rule("server_addresses", None, _server_addresses),
    Rule("server_unique", None, _server_unique),
    Rule("ports", None, _ports),
    Rule("device_count", None, _device_count),
    Rule("device_values", None, _device_values),
    Rule("device_ip", None, _device_ip),
    Rule("device_ip_unique", None, _device_ip_unique),
    Rule("super_pods", None, _super_pods),
    Rule("deploy_server", None, _deploy_server),
    Rule("sdid", None, _sdid),
)
