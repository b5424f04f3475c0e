# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Predict the effects of the commands of device_network on a device and on its lines in hccn.conf.

Setting an address also removes a gateway outside its network, and hccn_tool sets the gateway of the file again. Whatever removes ``gateway_N`` also
removes ``IPv6gateway_N``, since hccn_tool looks for the text ``gateway_N=`` (recorded runs of the real front end).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Any, List, Optional, Sequence

from .._core.errors import HccnError
from . import conf, conf_rules
from .device_session import Session
from .network_config import FAMILIES, network_of
from .network_items import Arguments, Item, Values
from .reserved import is_in_super_pod, network_containing, reserved_networks

_CORRECT = "correct the line first, with hccn.cluster.hccn_conf"


@dataclass
class Forecast:
    """The values of the device (``current``) and of hccn.conf (``persistent``) after the change, and the commands that make it."""

    current: Values
    persistent: Values
    commands: List[Arguments] = field(default_factory=list)
    items: List[Item] = field(default_factory=list)

    def sets(self, option: str) -> bool:
        return any(option in item.options for item in self.items)


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


def _require_readable_gateway(item: Item, persistent: Values) -> None:
    """Raise HccnError if hccn.conf has a gateway that is no address: ``-gateway -s`` reads it first, and then refuses every gateway."""
    held = persistent.get("gateway")
    if item.options == ("gateway",) and held is not None and conf_rules.RULES["gateway"].error(held) is not None:
        raise HccnError("conf_problem", "hccn.conf has the gateway %r, and hccn_tool then refuses every other" % held, _CORRECT)


def require_replay(text: str, device: int) -> None:
    """Raise HccnError if hccn.conf has a value for gratuitous ARP that ``-ip -s`` would fail on, after it has set the device but not the file."""
    for key in ("send_arp_period", "send_arp_status"):
        value = conf.value_of(text, device, key)
        if value is not None and conf_rules.RULES[key].error(value) is not None:
            raise HccnError("conf_problem", "%s_%d=%s: hccn_tool -ip -s would set the device, fail on this line, and leave the address of the file" % (
                key, device, value), _CORRECT)


class ReservedAddresses:
    """Refuses addresses that ``hccn_tool -ip -s`` refuses on this host whatever else is set. Asks npu-smi at most once, and only if that decides."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._super_pod: Optional[bool] = None
        self._asked = False

    def require_free(self, address: str) -> None:
        """Raise HccnError ``address_conflict``."""
        product = self._session.host.product
        certain, possible = reserved_networks(product, self._super_pod)
        if network_containing(address, possible) is not None and not self._asked:
            self._asked, self._super_pod = True, self._in_super_pod()
            certain, possible = reserved_networks(product, self._super_pod)
        found = network_containing(address, certain)
        if found is not None:
            raise HccnError("address_conflict", "%s is in %s, which the NPUs of this host use internally" % (address, found),
                            "take another: hccn_tool refuses it")

    def _in_super_pod(self) -> Optional[bool]:
        try:
            return is_in_super_pod(self._session.smi.super_pod(self._session.host.chips[0]).server_index)
        except (HccnError, IndexError):
            return None


def loses_ipv6_gateway(wanted: Values, current: Values, persistent: Values) -> bool:
    """Return True if setting ``wanted`` removes the line ``gateway_N`` of hccn.conf, and with it ``IPv6gateway_N``."""
    held = persistent.get("gateway")
    if held is not None and "address" in wanted and outside(held, wanted, FAMILIES[0]):
        return True
    return "gateway" in wanted and "gateway" in current and _replaces_gateway(wanted, current, persistent)


def _replaces_gateway(wanted: Values, current: Values, persistent: Values) -> bool:
    return current["gateway"] not in (None, wanted["gateway"]) or persistent["gateway"] not in (None, current["gateway"])


def _side_effects(item: Item, wanted: Values, predicted: Forecast) -> None:
    current, persistent = predicted.current, predicted.persistent
    if item.options == ("address", "netmask"):
        for values in (current, persistent):
            if outside(values["gateway"], wanted, FAMILIES[0]):
                values["gateway"] = None
                if values is persistent and "ipv6_gateway" in persistent:
                    persistent["ipv6_gateway"] = None
        current["gateway"] = persistent["gateway"] or current["gateway"]
    if item.options == ("ipv6_address", "ipv6_prefix"):
        if outside(persistent["ipv6_gateway"], wanted, FAMILIES[1]):
            persistent["ipv6_gateway"] = None
        current["ipv6_gateway"] = persistent["ipv6_gateway"] or current["ipv6_gateway"]
    if item.options == ("gateway",) and "ipv6_gateway" in persistent:
        if _replaces_gateway(wanted, current, persistent):
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
        _require_readable_gateway(item, predicted.persistent)
        _side_effects(item, wanted, predicted)
        for values in (predicted.current, predicted.persistent):
            _update(item, wanted, values)
        predicted.commands += commands
        predicted.items.append(item)
    return predicted
