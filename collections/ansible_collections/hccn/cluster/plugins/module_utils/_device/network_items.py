# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The settings of device_network: for each command of hccn_tool its options, and how they are read from the device and from hccn.conf and set.

ITEMS is in the order of the commands: an address removes gateways and routes outside its network, a gateway requires the address, an IPv6
address requires its MTU, and setting a gateway may remove the line ``IPv6gateway_N`` as well (hccn_tool removes keys by substring).
"""

from __future__ import annotations

import ipaddress
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

from .._core.errors import HccnError
from .._core.numbers import is_count
from . import conf
from .hccn_tool import HccnTool
from .parse_network import UNSET_ADDRESSES, parse_address, parse_gateway, parse_netdetect
from .parse_port import parse_mtu
from .parse_qos import parse_dscp_to_tc, parse_pfc, parse_prio_tc, parse_roce_port, parse_shaping

Values = Dict[str, Any]
"""Options of one device and their values; None for options that are not set."""

Arguments = Tuple[str, ...]
"""Arguments of hccn_tool after the device."""

AUTO_PORT = "-1"
"""Value in hccn.conf that lets the device choose its UDP source port."""


def canonical(address: str) -> str:
    """Return an address as ``ipaddress`` formats it; other texts unchanged."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address


def differs(wanted: Any, actual: Any) -> bool:
    """Return True if the values differ. Only the wanted entries of a mapping are compared."""
    return bool(wanted != wanted_part(wanted, actual))


def wanted_part(wanted: Any, actual: Any) -> Any:
    """Return ``actual``, or of a mapping only the entries that ``wanted`` contains."""
    if not isinstance(wanted, dict):
        return actual
    return {key: (actual or {}).get(key) for key in wanted}


class Item(NamedTuple):
    """A setting. ``options`` are set by one command, ``unset`` is the error code of ``query`` for a setting that is not set, ``keys`` are keys of hccn.conf."""

    options: Tuple[str, ...]
    query: Arguments
    parse: Callable[[str], Sequence[Any]]
    unset: str
    keys: Tuple[str, ...]
    from_conf: Callable[[str], Any]
    set_command: Callable[[Values], Arguments]

    def read(self, tool: HccnTool, device: int) -> Values:
        """Return the values of the device. Raises HccnError."""
        try:
            return dict(zip(self.options, self.parse(tool.query(device, *self.query).stdout)))
        except HccnError as error:
            if not self.unset or error.code != self.unset:
                raise
        return dict.fromkeys(self.options)

    def persistent_values(self, text: str, device: int) -> Values:
        """Return the values of hccn.conf, which the device will have after the next boot."""
        found = [conf.value_of(text, device, key) for key in self.keys]
        return {option: None if value is None else self.from_conf(value) for option, value in zip(self.options, found)}

    def needs_change(self, wanted: Values, current: Values, persistent: Values) -> bool:
        """Return True if the current or the persistent values differ from the wanted ones."""
        return any(differs(wanted[option], actual.get(option)) for option in self.options for actual in (current, persistent))

    def commands(self, wanted: Values, current: Values, persistent: Values) -> List[Arguments]:
        """Return the commands to run: none if nothing differs, and one for each different entry of a mapping."""
        if not self.needs_change(wanted, current, persistent):
            return []
        if self.options != ("dscp_to_tc",):
            return [self.set_command(wanted)]
        entries = [{"dscp": dscp, "tc": tc} for dscp, tc in wanted["dscp_to_tc"].items()
                   if any((actual.get("dscp_to_tc") or {}).get(dscp) != tc for actual in (current, persistent))]
        return [self.set_command(entry) for entry in entries]


def _single(parse: Callable[[str], Any]) -> Callable[[str], Sequence[Any]]:
    """Return a parser of a sequence for a parser of one value."""
    return lambda text: (parse(text),)


def _address(text: str) -> Sequence[Any]:
    found = parse_address(text)
    return canonical(found.address), found.netmask


def _address6(text: str) -> Sequence[Any]:
    found = parse_address(text)
    return canonical(found.address), int(found.netmask)


def _gateway(text: str) -> Sequence[Any]:
    return (canonical(parse_gateway(text)),)


def _netdetect(text: str) -> Sequence[Any]:
    found = parse_netdetect(text)
    return (None if found is None else canonical(found),)


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def conf_value(option: str, value: Any) -> str:
    """Return the text that hccn_tool writes to hccn.conf for the value of an option."""
    return AUTO_PORT if option == "roce_port" and value == "auto" else _text(value)


def _command(*pattern: str) -> Callable[[Values], Arguments]:
    """Return a function that fills the values of options into ``pattern``, where ``{mtu}`` is the value of the option mtu."""
    return lambda values: tuple(word.format(**{option: _text(value) for option, value in values.items()}) for word in pattern)


def _port_command(values: Values) -> Arguments:
    port = values["roce_port"]
    return ("-udp", "-s", "auto") if port == "auto" else ("-udp", "-s", "port", "%d" % port)


def _netdetect_value(value: str) -> Any:
    return None if value in UNSET_ADDRESSES else canonical(value)


def _number(value: str) -> Any:
    return int(value) if is_count(value) else value


def _address_or_number(value: str) -> Any:
    return int(value) if is_count(value) else canonical(value)


def _port(value: str) -> Any:
    return "auto" if value == AUTO_PORT else _number(value)


def _row(value: str) -> Any:
    words = value.split(",")
    return [int(word) for word in words] if all(is_count(word) for word in words) else value


def _classes(value: str) -> Dict[str, int]:
    """Parse ``33:2,34:1,`` of hccn.conf."""
    pairs = [entry.partition(":") for entry in value.split(",")]
    return {dscp: int(tc) for dscp, _colon, tc in pairs if is_count(tc)}


ITEMS: Tuple[Item, ...] = (
    Item(("address", "netmask"), ("-ip", "-g"), _address, "address_not_set", ("address", "netmask"), canonical,
         _command("-ip", "-s", "address", "{address}", "netmask", "{netmask}")),
    Item(("gateway",), ("-gateway", "-g"), _gateway, "gateway_not_set", ("gateway",), canonical, _command("-gateway", "-s", "gateway", "{gateway}")),
    Item(("netdetect",), ("-netdetect", "-g"), _netdetect, "", ("netdetect",), _netdetect_value, _command("-netdetect", "-s", "address", "{netdetect}")),
    Item(("mtu",), ("-mtu", "-g"), _single(parse_mtu), "", ("mtu",), _number, _command("-mtu", "-s", "size", "{mtu}")),
    Item(("ipv6_address", "ipv6_prefix"), ("-ip", "-inet6", "-g"), _address6, "address_not_set", ("IPv6address", "IPv6netmask"), _address_or_number,
         _command("-ip", "-inet6", "-s", "ipv6_address", "{ipv6_address}", "prefix_length", "{ipv6_prefix}")),
    Item(("ipv6_gateway",), ("-gateway", "-inet6", "-g"), _gateway, "gateway_not_set", ("IPv6gateway",), canonical,
         _command("-gateway", "-inet6", "-s", "ipv6_gateway", "{ipv6_gateway}")),
    Item(("ipv6_netdetect",), ("-netdetect", "-inet6", "-g"), _netdetect, "", ("IPv6netdetect",), _netdetect_value,
         _command("-netdetect", "-inet6", "-s", "ipv6_address", "{ipv6_netdetect}")),
    Item(("roce_port",), ("-udp", "-g"), _single(parse_roce_port), "", ("roce_port",), _port, _port_command),
    Item(("pfc",), ("-pfc", "-g"), _single(parse_pfc), "", ("bitmap",), _row, _command("-pfc", "-s", "bitmap", "{pfc}")),
    Item(("dscp_to_tc",), ("-dscp_to_tc", "-g"), _single(parse_dscp_to_tc), "", ("dscp_tc",), _classes,
         _command("-dscp_to_tc", "-s", "dscp", "{dscp}", "tc", "{tc}")),
    Item(("prio_tc",), ("-prio_tc", "-g"), _single(parse_prio_tc), "", ("prio_tc",), _row, _command("-prio_tc", "-s", "map", "{prio_tc}")),
    Item(("shaping",), ("-shaping", "-g"), _single(parse_shaping), "", ("bw_limit",), _number, _command("-shaping", "-s", "bw_limit", "{shaping}")),
)

ADDRESS_GATEWAYS = (("address", "gateway"), ("ipv6_address", "ipv6_gateway"))
"""Addresses and their gateways. A gateway depends on its address, so both are read if one of them is requested."""


BYSTANDERS = tuple(item for item in ITEMS if {"ipv6_address", "ipv6_gateway"} & set(item.options))
"""Items whose line of hccn.conf hccn_tool may remove with ``gateway_N``, and the address that this gateway depends on."""


def items_of(options: Sequence[str]) -> List[Item]:
    """Return the items for the options of a device, and for the options that depend on them, in the order of the commands."""
    named = set(options)
    for pair in ADDRESS_GATEWAYS:
        if named & set(pair):
            named |= set(pair)
    return [item for item in ITEMS if named & set(item.options)]
