# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What the sets of device_network will do to a device and to its lines in hccn.conf, before any of them is run.

Besides what it sets, an address takes away a gateway outside its network, and hccn_tool sets the gateway of the file again; a gateway that
replaces another one takes the line ``IPv6gateway_N`` away (recorded runs of the real front end).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Any, List, Sequence

from .._core.errors import HccnError
from .network_config import FAMILIES, network_of
from .network_items import Item, Values, Words


@dataclass
class Forecast:
    """The values of the device (``now``) and of hccn.conf (``kept``) after the change, and the sets that make it."""

    now: Values
    kept: Values
    commands: List[Words] = field(default_factory=list)
    items: List[Item] = field(default_factory=list)


def outside(gateway: Any, values: Values, family: Sequence[str]) -> bool:
    """Return True if there is a gateway outside the network of the address in ``values``."""
    address, mask = family[:2]
    try:
        return gateway is not None and ipaddress.ip_address(gateway) not in network_of(values[address], values[mask])
    except ValueError:
        return True  # hccn.conf may hold anything


def _require_address(item: Item, wanted: Values, now: Values) -> None:
    """Raise HccnError for a gateway that hccn_tool would refuse only after it has set other options of the device."""
    for family in FAMILIES:
        address, _mask, gateway = family
        if item.options != (gateway,):
            continue
        if now[address] is None:
            raise HccnError("gateway_without_address", "%s: the device has no address" % gateway, "set %s with it" % address)
        if outside(wanted[gateway], now, family):
            raise HccnError("gateway_outside_network", "%s: %s lies outside the network of the device's address %s" % (
                gateway, wanted[gateway], now[address]), "the gateway must lie in the network of the address")


def _side_effects(item: Item, wanted: Values, seen: Forecast) -> None:
    now, kept = seen.now, seen.kept
    if item.options == ("address", "netmask"):
        for has in (now, kept):
            if outside(has["gateway"], wanted, FAMILIES[0]):
                has["gateway"] = None
        now["gateway"] = kept["gateway"] or now["gateway"]
    if item.options == ("gateway",) and "ipv6_gateway" in kept:
        replaced = now["gateway"] not in (None, wanted["gateway"])
        if replaced or kept["gateway"] not in (None, now["gateway"]):
            kept["ipv6_gateway"] = None


def _take_over(item: Item, wanted: Values, has: Values) -> None:
    for option in item.options:
        value = wanted[option]
        has[option] = dict(has[option] or {}, **value) if isinstance(value, dict) else value


def forecast(items: Sequence[Item], wanted: Values, now: Values, kept: Values) -> Forecast:
    """Return the forecast for ``items``, those that the user named, in the order of the sets. Raises HccnError for a gateway that the device cannot take."""
    seen = Forecast(dict(now), dict(kept))
    for item in items:
        commands = item.commands(wanted, seen.now, seen.kept)
        if not commands:
            continue
        _require_address(item, wanted, seen.now)
        _side_effects(item, wanted, seen)
        for has in (seen.now, seen.kept):
            _take_over(item, wanted, has)
        seen.commands += commands
        seen.items.append(item)
    return seen
