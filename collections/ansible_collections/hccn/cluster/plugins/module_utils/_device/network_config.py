# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Validate the option ``config`` of device_network before anything is run, and report all faults at once."""

from __future__ import annotations

import ipaddress
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from .._core.errors import InputError
from .._core.numbers import is_count
from . import conf, conf_rules
from .conf_values import DSCPS, IPV6_PREFIX, MTU, MTU_IPV6, PFC_QUEUES, PRIORITIES, ROCE_PORT, SHAPING, TRAFFIC_CLASSES
from .host import unknown_devices
from .network_items import ITEMS, Values, canonical, conf_value

MTU_ASKED = MTU_IPV6
"""Below this MTU hccn_tool asks for confirmation, since IPv6 addresses would be lost (hicann/driver port.c)."""

OPTIONS = ("address", "netmask", "gateway", "netdetect", "mtu", "ipv6_address", "ipv6_prefix", "ipv6_gateway", "ipv6_netdetect", "roce_port", "pfc",
           "dscp_to_tc", "prio_tc", "shaping")

_TYPES: Mapping[str, Dict[str, Any]] = {
    "id": {"type": "int", "required": True}, "mtu": {"type": "int"}, "ipv6_prefix": {"type": "int"}, "shaping": {"type": "int"},
    "pfc": {"type": "list", "elements": "int"}, "prio_tc": {"type": "list", "elements": "int"}, "dscp_to_tc": {"type": "raw"},
}


def argument_spec() -> Dict[str, Any]:
    """Return the argument spec of an entry of ``config``."""
    return {option: dict(_TYPES.get(option, {"type": "str"})) for option in ("id",) + OPTIONS}


Fault = Tuple[str, str]
"""An option and the message about its fault."""


def _outside(value: int, limits: Tuple[int, int]) -> Optional[str]:
    return None if limits[0] <= value <= limits[1] else "%d is outside %d to %d" % (value, limits[0], limits[1])


def _ipv4(value: str) -> Optional[str]:
    try:
        address = ipaddress.IPv4Address(value)
    except ValueError:
        return "%r is not an IPv4 address" % value
    return "%s is not the address of a host" % value if address.is_multicast or address.is_unspecified or value == "255.255.255.255" else None


def _ipv6(value: str) -> Optional[str]:
    try:
        address = ipaddress.IPv6Address(value)
    except ValueError:
        return "%r is not an IPv6 address" % value
    return "%s is not the address of a host" % value if address.is_multicast or address.is_unspecified else None


def _netmask(value: str) -> Optional[str]:
    try:
        bits = int(ipaddress.IPv4Address(value))
    except ValueError:
        return "%r is not a dotted netmask" % value
    free = bits ^ 0xFFFFFFFF
    if free & (free + 1):
        return "%s is not contiguous" % value
    return None if bits else "0.0.0.0 would make every address local"


def _mtu(value: int) -> Optional[str]:
    outside = _outside(value, MTU)
    if outside is None and value < MTU_ASKED:
        return "%d is below %d: the device would lose its IPv6 addresses, and hccn_tool asks for confirmation; run it by hand" % (value, MTU_ASKED)
    return outside


def _roce_port(value: Any) -> Optional[str]:
    text = str(value)
    if text == "auto":
        return None
    return _outside(int(text), ROCE_PORT) if is_count(text) else "%r is neither a port number nor auto" % value


def _row(value: Sequence[int], top: int) -> Optional[str]:
    if len(value) != PRIORITIES or any(not 0 <= number <= top for number in value):
        return "give %d numbers of 0 to %d, one for each priority" % (PRIORITIES, top)
    return None


def _pfc(value: Sequence[int]) -> Optional[str]:
    fault = _row(value, 1)
    if fault is None and sum(value) > PFC_QUEUES:
        return "%d priorities are enabled, at most %d are allowed" % (sum(value), PFC_QUEUES)
    return fault


def _pairs(value: Any) -> Optional[List[Tuple[str, str]]]:
    """Return ``{33: 2}`` or ``[{dscp: 33, tc: 2}]`` as pairs of texts, None for anything else."""
    if isinstance(value, dict):
        return [(str(dscp), str(tc)) for dscp, tc in value.items()]
    if isinstance(value, list) and all(isinstance(entry, dict) and sorted(entry) == ["dscp", "tc"] for entry in value):
        return [(str(entry["dscp"]), str(entry["tc"])) for entry in value]
    return None


def _dscp_to_tc(value: Any) -> Optional[str]:
    pairs = _pairs(value)
    if not pairs:
        return "give a dictionary such as {33: 2}, or a list of dictionaries with dscp and tc"
    for dscp, tc in pairs:
        if not is_count(dscp) or int(dscp) >= DSCPS:
            return "dscp %s is outside 0 to %d" % (dscp, DSCPS - 1)
        if not is_count(tc) or int(tc) >= TRAFFIC_CLASSES:
            return "tc %s of dscp %s is outside 0 to %d" % (tc, dscp, TRAFFIC_CLASSES - 1)
    numbers = [int(dscp) for dscp, _tc in pairs]
    duplicates = sorted({number for number in numbers if numbers.count(number) > 1})
    return "dscp %s is listed twice" % ", ".join(map(str, duplicates)) if duplicates else None


RULES: Mapping[str, Callable[[Any], Optional[str]]] = {
    "address": _ipv4, "netmask": _netmask, "gateway": _ipv4, "netdetect": _ipv4, "mtu": _mtu, "ipv6_address": _ipv6,
    "ipv6_prefix": lambda value: _outside(value, IPV6_PREFIX), "ipv6_gateway": _ipv6, "ipv6_netdetect": _ipv6, "roce_port": _roce_port, "pfc": _pfc,
    "dscp_to_tc": _dscp_to_tc, "prio_tc": lambda value: _row(value, TRAFFIC_CLASSES - 1), "shaping": lambda value: _outside(value, SHAPING),
}

KEYS = {option: key for item in ITEMS for option, key in zip(item.options, item.keys)}


def _lost_at_boot(option: str, value: Any) -> Optional[str]:
    """Return why recovery would not apply the line that hccn_tool writes for an option."""
    return conf_rules.refusal(KEYS[option], conf_value(option, value)) if option != "dscp_to_tc" else None  # written as one line for all entries


FAMILIES = (("address", "netmask", "gateway"), ("ipv6_address", "ipv6_prefix", "ipv6_gateway"))


def network_of(address: Any, mask: Any) -> Any:
    """Return the network of an address; ``mask`` is a dotted netmask or a prefix length."""
    return ipaddress.ip_network("%s/%s" % (address, mask), strict=False)


def _family_faults(values: Values, family: Tuple[str, str, str]) -> Iterator[Fault]:
    """Yield the faults of an address family: a missing address or mask, an address that is not a host's, a gateway outside the network."""
    address, mask, gateway = family
    for given, missing in ((address, mask), (mask, address)):
        if given in values and missing not in values:
            yield given, "give %s with it" % missing
    if address not in values or mask not in values:
        return
    network = network_of(values[address], values[mask])
    own = ipaddress.ip_address(values[address])
    if own.version == 4 and network.num_addresses > 2 and own in (network.network_address, network.broadcast_address):
        yield address, "%s is not the address of a host in %s" % (own, network)
    if gateway in values and ipaddress.ip_address(values[gateway]) not in network:
        yield gateway, "%s lies outside %s, the network of the address" % (values[gateway], network)


def faults(values: Values) -> List[Fault]:
    """Return all faults of the options of a device."""
    checked = [(option, RULES[option](values[option]) or _lost_at_boot(option, values[option])) for option in OPTIONS if option in values]
    found = [(option, fault) for option, fault in checked if fault]
    faulty = {option for option, _wrong in found}
    for family in FAMILIES:
        if not faulty & set(family):
            found += _family_faults(values, family)
    return found


def settable(entry: Values) -> Tuple[Values, List[Fault]]:
    """Return the entry of ``config`` that restores previous values, without options that were not set, and the faults of values that cannot be set."""
    given = {option: value for option, value in entry.items() if value is not None}
    found = faults(given)
    faulty = {option for option, _wrong in found}
    unusable = {option for item in ITEMS if faulty & set(item.options) for option in item.options}
    return {option: value for option, value in given.items() if option not in unusable}, found


def normalized(values: Values) -> Values:
    """Return valid options in the form in which they are compared with the device: addresses as ``ipaddress`` formats them, a port as a number."""
    result = dict(values)
    for option in ("address", "netmask", "gateway", "netdetect", "ipv6_address", "ipv6_gateway", "ipv6_netdetect"):
        if option in result:
            result[option] = canonical(result[option])
    if "roce_port" in result:
        result["roce_port"] = "auto" if str(result["roce_port"]) == "auto" else int(result["roce_port"])
    if "dscp_to_tc" in result:
        pairs = sorted((int(dscp), int(tc)) for dscp, tc in _pairs(result["dscp_to_tc"]) or ())
        result["dscp_to_tc"] = {str(dscp): tc for dscp, tc in pairs}
    return result


def _given(entry: Mapping[str, Any]) -> Values:
    return {option: entry[option] for option in OPTIONS if entry.get(option) is not None}


def _id_faults(config: Sequence[Mapping[str, Any]], present: Sequence[int]) -> Iterator[str]:
    seen: Dict[int, int] = {}
    for index, entry in enumerate(config):
        device = entry["id"]
        if device in present and device in seen:
            yield "config[%d].id: device %d is already in config[%d]" % (index, device, seen[device])
        seen.setdefault(device, index)
    yield from unknown_devices("config[%s].id", [entry["id"] for entry in config], present)


def _address_faults(config: Sequence[Mapping[str, Any]], present: Sequence[int], text: str, path: str) -> Iterator[str]:
    """Yield addresses that two devices of the host would have, including those in hccn.conf. hccn_tool accepts duplicates."""
    for option, key in (("address", "address"), ("ipv6_address", "IPv6address")):
        named = {entry["id"] for entry in config if entry.get(option)}
        holders = {canonical(setting.value): "device %d has it in %s" % (setting.device, path) for setting in conf.settings(text)
                   if setting.key == key and setting.device in present and setting.device not in named}
        for index, entry in enumerate(config):
            if not entry.get(option):
                continue
            address = canonical(entry[option])
            if address in holders:
                yield "config[%d].%s: %s is taken, %s" % (index, option, address, holders[address])
            holders[address] = "config[%d] has it too" % index


def wanted(config: Sequence[Mapping[str, Any]], present: Sequence[int], text: Optional[str], path: str) -> Dict[int, Values]:
    """Return the options of each device, in the order given. ``present``: the devices of the host, ``text``: hccn.conf.

    Raises InputError that lists all faults.
    """
    if not config:
        raise InputError("config is empty: give an entry with an id for each device")
    messages = list(_id_faults(config, present))
    for index, entry in enumerate(config):
        messages += ["config[%d].%s: %s" % (index, option, fault) for option, fault in faults(_given(entry))]
    messages += _address_faults(config, present, text or "", path)
    if messages:
        raise InputError("; ".join(messages))
    return {entry["id"]: normalized(_given(entry)) for entry in config}
