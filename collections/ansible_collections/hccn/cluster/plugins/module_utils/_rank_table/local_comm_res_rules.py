# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of HIXL and LLM-DataDist for a local_comm_res of version 1.3, and of versions 1.0 and 1.2, which resemble a table with one device.

Source: hicann/hixl docs/zh/api/cpp/HIXL-interface.md, docs/zh/api/python/LLMConfig.md.
"""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from .hccl_address_rules import HINTS
from .json_fields import NOTHING, entries, packed, text_of
from .local_comm_res import ENDPOINT_VERSION
from .model import COMPLETED
from .rank_list_rules import is_eid
from .rule import Rule, Violation, missing_keys, not_objects, not_strings, shortened
from .server_list import DeviceEntry, ServerListTable

MAX_TEXT = 64 * 1024
"""Bytes of a local_comm_res (LLMConfig.md)."""
IP_PROTOCOLS = ("roce", "uboe")
EID_PROTOCOLS = ("ub_ctp", "ub_rtp")
PLACEMENTS = ("host", "device")

_CONSEQUENCE = "HIXL requires a string"


class EndpointTable(NamedTuple):
    fields: Mapping[str, Any]
    endpoints: List[Tuple[str, Mapping[str, Any]]]


def view(document: Mapping[str, Any], _product: Optional[str] = None) -> EndpointTable:
    """Return any JSON object as a local_comm_res of version 1.3."""
    return EndpointTable(document, [("endpoint_list[%d]" % place, fields) for place, fields in enumerate(entries(document, "endpoint_list"))])


def _version(resource: EndpointTable) -> Iterator[Violation]:
    if resource.fields.get("version") != ENDPOINT_VERSION:
        yield Violation("version", "an endpoint_list must have version '%s', not %s" % (ENDPOINT_VERSION, shortened(resource.fields.get("version"))))


def _endpoint_list(resource: EndpointTable) -> Iterator[Violation]:
    if not isinstance(resource.fields.get("endpoint_list", []), list):
        yield Violation("endpoint_list", "endpoint_list is not a list")
    yield from not_objects(resource.fields, "endpoint_list", "")


def _string_values(resource: EndpointTable) -> Iterator[Violation]:
    yield from not_strings(resource.fields, ("net_instance_id",), "", _CONSEQUENCE)
    for where, fields in resource.endpoints:
        yield from not_strings(fields, ("protocol", "comm_id", "placement", "dst_eid", "plane", "server_id"), where + ".", _CONSEQUENCE)


def _required(resource: EndpointTable) -> Iterator[Violation]:
    if resource.endpoints and "net_instance_id" not in resource.fields:
        yield Violation("net_instance_id", "net_instance_id is missing, although there is an endpoint_list", severity="warning")
    for where, fields in resource.endpoints:
        if fields is not NOTHING:
            yield from missing_keys(fields, ("protocol", "comm_id", "placement"), where + ".")


def _choices(resource: EndpointTable) -> Iterator[Violation]:
    for where, fields in resource.endpoints:
        for key, choices in (("protocol", IP_PROTOCOLS + EID_PROTOCOLS), ("placement", PLACEMENTS)):
            value = fields.get(key)
            if isinstance(value, str) and value not in choices:
                yield Violation("%s.%s" % (where, key), "%s %s is not one of %s" % (key, shortened(value), ", ".join(choices)))


def _addresses(resource: EndpointTable) -> Iterator[Violation]:
    for where, fields in resource.endpoints:
        address, protocol, target = fields.get("comm_id"), fields.get("protocol"), fields.get("dst_eid")
        if isinstance(address, str) and protocol in IP_PROTOCOLS and packed(address) is None:
            yield Violation(where + ".comm_id", "%s is not an IP address, which the protocol %s requires" % (shortened(address), protocol),
                            hint=HINTS.get(address))
        if isinstance(address, str) and protocol in EID_PROTOCOLS and not is_eid(address):
            yield Violation(where + ".comm_id", "%s is not an EID of 32 hexadecimal digits, which the protocol %s requires" % (shortened(address), protocol))
        if isinstance(target, str) and not is_eid(target):
            yield Violation(where + ".dst_eid", "%s is not an EID of 32 hexadecimal digits" % shortened(target))


def _one_device(table: ServerListTable) -> Iterator[Violation]:
    if len(table.devices) != 1:
        yield Violation("server_list", "the number of devices is %d: a local_comm_res describes one" % len(table.devices))


def _only(table: ServerListTable) -> List[DeviceEntry]:
    """Return the only device; an empty list for a table of several, which the rule one_device reports."""
    return table.devices if len(table.devices) == 1 else []


def _no_ranks(table: ServerListTable) -> Iterator[Violation]:
    for device in _only(table):
        if "server_count" in table.fields:
            yield Violation("server_count", "a local_comm_res has no server_count")
        if "rank_id" in device.fields:
            yield Violation(device.where + ".rank_id", "a local_comm_res has no rank_id", device=device.id)


def _keys(table: ServerListTable) -> Iterator[Violation]:
    for device in _only(table):
        server = table.servers[device.server]
        if not text_of(server.fields, "server_id"):
            yield Violation(server.where + ".server_id", "server_id is missing")
        if device.id is None:
            yield Violation(device.where + ".device_id", "device_id %s is not a non-negative integer" % shortened(device.fields.get("device_id")))


def _device_ip(table: ServerListTable) -> Iterator[Violation]:
    for device in _only(table):
        if len(device.addresses) != 1 or device.addresses[0][1] is None:
            text = text_of(device.fields, "device_ip")
            yield Violation(device.where + ".device_ip", "%s is not an IP address of an NPU" % shortened(text), hint=HINTS.get(text or ""), device=device.id)


def _status(table: ServerListTable) -> Iterator[Violation]:
    if table.fields.get("status") != COMPLETED:
        yield Violation("status", "status is %s, not 'completed'" % shortened(table.fields.get("status")))


ENDPOINT_RULES: Tuple[Rule, ...] = (
    Rule("version", None, _version),
    Rule("endpoint_list", None, _endpoint_list),
    Rule("string_values", None, _string_values),
    Rule("required_keys", None, _required),
    Rule("choices", None, _choices),
    Rule("addresses", None, _addresses),
)

ONE_DEVICE_RULES: Tuple[Rule, ...] = (
    Rule("status", None, _status),
    Rule("one_device", None, _one_device),
    Rule("no_ranks", None, _no_ranks),
    Rule("required_keys", None, _keys),
    Rule("device_ip", None, _device_ip),
)
