# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Predict the effects of the commands of device_network on a device and on its lines in hccn.conf.

Setting an address also removes a gateway outside its network, and hccn_tool sets the gateway of the file again. Setting a gateway that
replaces another one also removes the line ``IPv6gateway_N`` (recorded runs of the real front end).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Any, List, Sequence

from .._core.errors import HccnError
from .network_config import FAMILIES, network_of
from .network_items import Arguments, Item, Values


@dataclass
class Forecast:
    """The values of the device (``current``) and of hccn.conf (``persistent``) after the change, and the commands that make it."""

    current: Values
    persistent: Values
    commands: List[Arguments] = field(default_factory=list)
    items: List[Item] = field(default_factory=list)


def outside(gateway: Any, values: Values, family: Sequence[str]) -> bool:
    """Return True if ``gateway`` is set and outside the network of the address in ``values``."""
    address, mask = family[:2]
    try:
        return gateway is not None and ipaddress.ip_address(gateway) not in network_of(values[address], values[mask])
    except ValueError:
        return True  # hccn.conf may contain any text


def _require_address(item: Item, wanted: Values, current: Values) -> None:
    """Raise HccnError for a gateway that hccn_tool would refuse, before other options of the device are set."""
    for family in FAMILIES:
        address, _mask, gateway = family
        if item.options != (gateway,):
            continue
        if current[address] is None:
            raise HccnError("gateway_without_address", "%s: the device has no address" % gateway, "set %s with it" % address)
        if outside(wanted[gateway], current, family):
            raise HccnError("gateway_outside_network", "%s: %s lies outside the network of the device's address %s" % (
                gateway, wanted[gateway], current[address]), "the gateway must lie in the network of the address")


def _side_effects(item: Item, wanted: Values, predicted: Forecast) -> None:
    current, persistent = predicted.current, predicted.persistent
    if item.options == ("address", "netmask"):
        for values in (current, persistent):
            if outside(values["gateway"], wanted, FAMILIES[0]):
                values["gateway"] = None
        current["gateway"] = persistent["gateway"] or current["gateway"]
    if item.options == ("gateway",) and "ipv6_gateway" in persistent:
        replaced = current["gateway"] not in (None, wanted["gateway"])
        if replaced or persistent["gateway"] not in (None, current["gateway"]):
            persistent["ipv6_gateway"] = None


def _update(item: Item, wanted: Values, values: Values) -> None:
    for option in item.options:
        value = wanted[option]
        values[option] = dict(values[option] or {}, **value) if isinstance(value, dict) else value


def forecast(items: Sequence[Item], wanted: Values, current: Values, persistent: Values) -> Forecast:
    """Return the forecast for the requested ``items``, in the order of the commands. Raises HccnError for a gateway that the device would refuse."""
    predicted = Forecast(dict(current), dict(persistent))
    for item in items:
        commands = item.commands(wanted, predicted.current, predicted.persistent)
        if not commands:
            continue
        _require_address(item, wanted, predicted.current)
        _side_effects(item, wanted, predicted)
        for values in (predicted.current, predicted.persistent):
            _update(item, wanted, values)
        predicted.commands += commands
        predicted.items.append(item)
    return predicted
