# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What device_network sets, one item a command of hccn_tool: its options, how they are read from the device and from hccn.conf, how they are set.

The order of ITEMS is the order of the sets: an address drops gateways and routes outside its network, a gateway needs the address, an
IPv6 address needs its mtu, and setting a gateway may take the line ``IPv6gateway_N`` with it (keys are removed by substring).
"""

from __future__ import annotations

import ipaddress
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

from .._core.errors import HccnError
from .._core.numbers import is_count
from . import conf
from .parse_network import UNSET_ADDRESSES, parse_address, parse_gateway, parse_netdetect
from .parse_port import parse_mtu
from .parse_qos import parse_dscp_to_tc, parse_pfc, parse_prio_tc, parse_roce_port, parse_shaping
from .hccn_tool import HccnTool

Values = Dict[str, Any]
"""Options of one device and their values; None where nothing is set."""

Words = Tuple[str, ...]
"""Arguments of hccn_tool after the device."""

AUTO_PORT = "-1"
"""The value in hccn.conf with which the device chooses its UDP source port."""


def canonical(address: str) -> str:
    """Return an address as ``ipaddress`` formats it; other texts unchanged."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address


def differs(wanted: Any, has: Any) -> bool:
    """Return True if the values differ; of a mapping, only the wanted entries are compared."""
    return bool(wanted != part(wanted, has))


def part(wanted: Any, has: Any) -> Any:
    """Return ``has``; of a mapping, only the entries that ``wanted`` names."""
    if not isinstance(wanted, dict):
        return has
    return {key: (has or {}).get(key) for key in wanted}


class Item(NamedTuple):
    """``options`` are set together; ``unset`` is the error code of ``query`` that says that nothing is set; ``keys`` are those of hccn.conf."""

    options: Tuple[str, ...]
    query: Words
    parse: Callable[[str], Sequence[Any]]
    unset: str
    keys: Tuple[str, ...]
    from_conf: Callable[[str], Any]
    set_words: Callable[[Values], Words]

    def read(self, tool: HccnTool, device: int) -> Values:
        """Return the values of the device. Raises HccnError."""
        try:
            return dict(zip(self.options, self.parse(tool.query(device, *self.query).stdout)))
        except HccnError as error:
            if not self.unset or error.code != self.unset:
                raise
        return dict.fromkeys(self.options)

    def kept(self, text: str, device: int) -> Values:
        """Return the values of hccn.conf, which the device will have after the next boot."""
        found = [conf.value_of(text, device, key) for key in self.keys]
        return {option: None if value is None else self.from_conf(value) for option, value in zip(self.options, found)}

    def lacks(self, wanted: Values, now: Values, kept: Values) -> bool:
        """Return True if the device or hccn.conf differs from the wanted values."""
        return any(differs(wanted[option], has.get(option)) for option in self.options for has in (now, kept))

    def commands(self, wanted: Values, now: Values, kept: Values) -> List[Words]:
        """Return the commands to run, none if nothing differs; for a mapping, one for each entry that differs."""
        if not self.lacks(wanted, now, kept):
            return []
        if self.options != ("dscp_to_tc",):
            return [self.set_words(wanted)]
        entries = [{"dscp": dscp, "tc": tc} for dscp, tc in wanted["dscp_to_tc"].items()
                   if any((has.get("dscp_to_tc") or {}).get(dscp) != tc for has in (now, kept))]
        return [self.set_words(entry) for entry in entries]


def _alone(parse: Callable[[str], Any]) -> Callable[[str], Sequence[Any]]:
    """Turn a parser of one value into a parser of a sequence."""
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


def _words(*pattern: str) -> Callable[[Values], Words]:
    """``"{mtu}"`` stands for the value of that option."""
    return lambda values: tuple(word.format(**{option: _text(value) for option, value in values.items()}) for word in pattern)


def _port_words(values: Values) -> Words:
    port = values["roce_port"]
    return ("-udp", "-s", "auto") if port == "auto" else ("-udp", "-s", "port", "%d" % port)


def _probed(value: str) -> Any:
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
    """``33:2,34:1,`` of hccn.conf."""
    pairs = [entry.partition(":") for entry in value.split(",")]
    return {dscp: int(tc) for dscp, _colon, tc in pairs if is_count(tc)}


ITEMS: Tuple[Item, ...] = (
    Item(("address", "netmask"), ("-ip", "-g"), _address, "address_not_set", ("address", "netmask"), canonical,
         _words("-ip", "-s", "address", "{address}", "netmask", "{netmask}")),
    Item(("gateway",), ("-gateway", "-g"), _gateway, "gateway_not_set", ("gateway",), canonical, _words("-gateway", "-s", "gateway", "{gateway}")),
    Item(("netdetect",), ("-netdetect", "-g"), _netdetect, "", ("netdetect",), _probed, _words("-netdetect", "-s", "address", "{netdetect}")),
    Item(("mtu",), ("-mtu", "-g"), _alone(parse_mtu), "", ("mtu",), _number, _words("-mtu", "-s", "size", "{mtu}")),
    Item(("ipv6_address", "ipv6_prefix"), ("-ip", "-inet6", "-g"), _address6, "address_not_set", ("IPv6address", "IPv6netmask"), _address_or_number,
         _words("-ip", "-inet6", "-s", "ipv6_address", "{ipv6_address}", "prefix_length", "{ipv6_prefix}")),
    Item(("ipv6_gateway",), ("-gateway", "-inet6", "-g"), _gateway, "gateway_not_set", ("IPv6gateway",), canonical,
         _words("-gateway", "-inet6", "-s", "ipv6_gateway", "{ipv6_gateway}")),
    Item(("ipv6_netdetect",), ("-netdetect", "-inet6", "-g"), _netdetect, "", ("IPv6netdetect",), _probed,
         _words("-netdetect", "-inet6", "-s", "ipv6_address", "{ipv6_netdetect}")),
    Item(("roce_port",), ("-udp", "-g"), _alone(parse_roce_port), "", ("roce_port",), _port, _port_words),
    Item(("pfc",), ("-pfc", "-g"), _alone(parse_pfc), "", ("bitmap",), _row, _words("-pfc", "-s", "bitmap", "{pfc}")),
    Item(("dscp_to_tc",), ("-dscp_to_tc", "-g"), _alone(parse_dscp_to_tc), "", ("dscp_tc",), _classes,
         _words("-dscp_to_tc", "-s", "dscp", "{dscp}", "tc", "{tc}")),
    Item(("prio_tc",), ("-prio_tc", "-g"), _alone(parse_prio_tc), "", ("prio_tc",), _row, _words("-prio_tc", "-s", "map", "{prio_tc}")),
    Item(("shaping",), ("-shaping", "-g"), _alone(parse_shaping), "", ("bw_limit",), _number, _words("-shaping", "-s", "bw_limit", "{shaping}")),
)

BOUND = (("address", "gateway"), ("ipv6_address", "ipv6_gateway"))
"""A gateway depends on its address: both are read if one of them is requested."""


def items_of(options: Sequence[str]) -> List[Item]:
    """Return the items for the options of a device, with those that depend on each other, in the order of the sets."""
    named = set(options)
    for pair in BOUND:
        if named & set(pair):
            named |= set(pair)
    return [item for item in ITEMS if named & set(item.options)]
