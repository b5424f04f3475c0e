# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of MindIE-LLM for a table with server_list, and of ClusterD for the tables that it collects.

Sources: Ascend/MindIE-LLM src/config_manager/ranktable_config.cpp; Ascend/mind-cluster component/clusterd/pkg/domain/epranktable.
"""

from __future__ import annotations

from typing import Iterator, Tuple, Union

from .hccl_address_rules import HINTS
from .json_fields import number_of, text_of
from .model import COMPLETED
from .rank_list_rules import RankListTable
from .rule import Rule, Violation, not_strings, only_strings, shortened
from .server_list import ServerListTable

MINDIE_SERVERS = (2, 60)
MINDIE_DEVICES = (1, 32)
"""Devices per server."""
MINDIE_MAX_DEVICE_ID = 63
MINDIE_MAX_RANK = 511
MINDIE_MAX_MODE = 0o640
"""Mode of the file, unless MINDIE_CHECK_INPUTFILES_PERMISSION=0."""


def _server_count(table: ServerListTable) -> Iterator[Violation]:
    count = table.fields.get("server_count")
    if not isinstance(count, str):
        yield Violation("server_count", "server_count is %s" % ("not a string" if "server_count" in table.fields else "missing"))
    elif number_of(table.fields, "server_count") != len(table.servers):
        yield Violation("server_count", "server_count is %s, but server_list has %d entries" % (shortened(count), len(table.servers)))
    if not MINDIE_SERVERS[0] <= len(table.servers) <= MINDIE_SERVERS[1]:
        yield Violation("server_list", "the length of server_list is %d: MindIE-LLM accepts %d to %d servers" % ((len(table.servers),) + MINDIE_SERVERS))


def _device_count(table: ServerListTable) -> Iterator[Violation]:
    counts = [len(server.devices) for server in table.servers]
    for index, count in enumerate(counts):
        where = "server_list[%d].device" % index
        if count != counts[0]:
            yield Violation(where, "the number of devices is %d, but %d in the first server: MindIE-LLM requires the same number in each" % (count, counts[0]))
        elif not MINDIE_DEVICES[0] <= count <= MINDIE_DEVICES[1]:
            yield Violation(where, "the number of devices is %d: MindIE-LLM accepts %d to %d in each server" % ((count,) + MINDIE_DEVICES))


def _container_ip(table: ServerListTable) -> Iterator[Violation]:
    for server in table.servers:
        if not text_of(server.fields, "container_ip"):
            yield Violation(server.where + ".container_ip", "container_ip is missing", hint="the address of the pod or container on that server")


def _device_values(table: ServerListTable) -> Iterator[Violation]:
    for device in table.devices:
        for key, number, limit in (("device_id", device.id, MINDIE_MAX_DEVICE_ID), ("rank_id", device.rank, MINDIE_MAX_RANK)):
            if number is None or number > limit:
                yield Violation("%s.%s" % (device.where, key), "%s %s is not a number from 0 to %d" % (key, shortened(device.fields.get(key)), limit),
                                device=device.id)
        if len(device.addresses) != 1 or not any(device.addresses[0][1] or b""):
            address = device.fields.get("device_ip")
            yield Violation(device.where + ".device_ip", "%s is not an IP address" % shortened(address), device=device.id,
                            hint=HINTS.get(address) if isinstance(address, str) else None)


def _string_values(table: ServerListTable) -> Iterator[Violation]:
    consequence = "MindIE-LLM requires a string"
    for server in table.servers:
        yield from not_strings(server.fields, ("server_id", "container_ip"), server.where + ".", consequence)
        for device in server.devices:
            if not only_strings(device.fields):
                yield from not_strings(device.fields, ("device_id", "device_ip", "rank_id"), device.where + ".", consequence, device.id)


def _server_id(table: ServerListTable) -> Iterator[Violation]:
    for server in table.servers:
        if "server_id" not in server.fields:
            yield Violation(server.where + ".server_id", "server_id is missing")


def _master(table: ServerListTable) -> Iterator[Violation]:
    """MindIE-LLM accepts the table, but without a master each server waits for one."""
    if table.devices and not any(device.fields.get("rank_id") == "0" for device in table.devices):
        yield Violation("server_list", "no device has rank_id '0', so no server is the master", severity="warning")


def _completed(table: Union[ServerListTable, RankListTable]) -> Iterator[Violation]:
    if table.fields.get("status") != COMPLETED:
        yield Violation("status", "ClusterD silently skips the table until status is 'completed'")


def _pod_addresses(table: ServerListTable) -> Iterator[Violation]:
    for server in table.servers:
        for key, target in (("host_ip", "server_id"), ("container_ip", "server_ip")):
            if not text_of(server.fields, key):
                yield Violation("%s.%s" % (server.where, key), "%s is missing: the global rank table of ClusterD then has an empty %s" % (key, target),
                                severity="warning")


MINDIE_LLM_RULES: Tuple[Rule, ...] = (
    Rule("server_count", None, _server_count),
    Rule("string_values", None, _string_values),
    Rule("server_id", None, _server_id),
    Rule("device_count", None, _device_count),
    Rule("container_ip", None, _container_ip),
    Rule("device_values", None, _device_values),
    Rule("master", None, _master),
)

CLUSTERD_SERVER_LIST_RULES: Tuple[Rule, ...] = (
    Rule("status", None, _completed),
    Rule("pod_addresses", None, _pod_addresses),
)

CLUSTERD_RANK_LIST_RULES: Tuple[Rule, ...] = (Rule("status", None, _completed),)
