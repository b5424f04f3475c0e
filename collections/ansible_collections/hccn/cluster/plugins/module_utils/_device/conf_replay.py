# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Predict where ``hccn_tool -cfg recovery`` fails on a file, by the rules of its keys and the order of its parts.

The driver runs the recovery of every device at boot. A part that fails is tried four times. Parts rewrite the file while it runs, which may join lines.
"""

from __future__ import annotations

from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import conf, conf_rules, conf_values
from .c_numbers import ipv4, signed
from .conf_text import ConfText, Piece, Unwritten
from .reserved import RESERVED_A2, network_containing, reserved_networks

ATTEMPTS = 4
DIES = 2
XSFP_DEFAULTS = (("xsfp_reset_max_times", "0"), ("xsfp_reset_wait_times", "7"))


class RecoveryFailure(NamedTuple):
    """A part of the recovery of a device that fails, and the line that it fails on; without a line the whole file is the cause."""

    device: int
    item: str
    message: str
    key: str = ""
    value: str = ""
    line: int = 0
    rule: str = ""


class _Failed(Exception):
    def __init__(self, message: str, key: str = "", value: str = "", piece: Optional[Piece] = None, rule: str = "") -> None:
        super().__init__(message)
        self.found = (message, key, value, piece.number if piece else 0, rule or (piece.glued if piece else ""))


class RecoveryHost(NamedTuple):
    """What is known about the host: the product, and whether it is in a super pod. An unknown product is treated as A2."""

    product: Optional[str] = None
    super_pod: Optional[bool] = None


UNKNOWN = RecoveryHost()


class _Recovery:
    """The recovery of one device. ``addresses`` are those that recovery already set on other devices."""

    def __init__(self, text: ConfText, device: int, host: RecoveryHost, addresses: Dict[int, str]) -> None:
        self.text, self.device, self.host, self.addresses = text, device, host, addresses

    def has(self, key: str) -> bool:
        return self.text.find(self.device, key) is not None

    def read(self, key: str) -> Optional[str]:
        """Return the value of a key if recovery takes it, None if the key is missing or passed over. Raises _Failed."""
        found = self.text.find(self.device, key)
        if found is None:
            return None
        value, piece = found
        rule = conf_rules.RULES[key]
        error = rule.error(value)
        if error is not None:
            raise _Failed(error, key, value, piece)
        return None if rule.ignored(value) is not None else value

    def rewrite(self, key: str, value: str) -> None:
        try:
            self.text.rewrite(self.device, key, value)
        except Unwritten:
            raise _Failed("the file is too large for hccn_tool to write %s_%d" % (key, self.device), rule="too_large") from None

    def lines_with(self, text: str) -> Iterator[Piece]:
        return (piece for piece in self.text.pieces if text in piece.seen)

    @property
    def dhcp(self) -> bool:
        return self.has("udhcpc_enable")


def _keys(*keys: str) -> Callable[[_Recovery], None]:
    """Return the part that reads these keys one after the other."""
    def run(recovery: _Recovery) -> None:
        for key in keys:
            recovery.read(key)
    return run


def _rewritten(*keys: str) -> Callable[[_Recovery], None]:
    """Return the part that reads keys, and writes those that it found."""
    def run(recovery: _Recovery) -> None:
        for key in keys:
            value = recovery.read(key)
            if value is not None:
                recovery.rewrite(key, value)
    return run


def _speed(recovery: _Recovery) -> None:
    value = recovery.read("static_speed")
    if value is not None:
        recovery.text.remove(lambda piece: "auto_adapt_%d=" % recovery.device in piece.seen)
        recovery.rewrite("static_speed", value)


def _parameters(needed: Sequence[str], judges: Dict[str, conf_values.Judge]) -> Callable[[_Recovery], None]:
    """Return the part that reads a group of keys: nothing if one of ``needed`` is missing, or if it is alone."""
    def run(recovery: _Recovery) -> None:
        found = {key: recovery.text.find(recovery.device, key) for key in judges}
        if any(found[key] is None for key in needed) or sum(one is not None for one in found.values()) < 2:
            return
        for key, one in found.items():
            error = judges[key](one[0]) if one is not None else None
            if one is not None and error is not None:
                raise _Failed(error, key, *one)
    return run


def _xsfp(recovery: _Recovery) -> None:
    for key, default in XSFP_DEFAULTS:
        value = recovery.read(key)
        recovery.rewrite(key, default if value is None else "%d" % signed(value)[0])


def _storm(recovery: _Recovery) -> None:
    names = ("mode", "close_time", "detect_period", "warn_thrd", "err_thrd")
    found = {name: recovery.read("pfc_storm_watchdog_" + name) for name in names}
    for low, high, strict in (("close_time", "detect_period", False), ("warn_thrd", "err_thrd", True)):
        first, second = found[low], found[high]
        if first is not None and second is not None and (int(first) > int(second) or strict and first == second):
            key = "pfc_storm_watchdog_" + low
            raise _Failed("%s is too high for %s %s" % (first, high, second), key, first, (recovery.text.find(recovery.device, key) or ("", None))[1])
    for name, value in found.items():
        if value is not None:
            recovery.rewrite("pfc_storm_watchdog_" + name, value)


def _ports(recovery: _Recovery) -> None:
    mode = recovery.read("udp_port_mode")
    if mode is not None:
        others = [recovery.text.value(recovery.device, key) for key in ("multi_qp_count", "multi_qp_udp_ports", "nslb_dp_listen_port")]
        error = conf_values.udp_port_mode(mode, *others)
        if error is not None:
            raise _Failed(error, "udp_port_mode", *(recovery.text.find(recovery.device, "udp_port_mode") or ("", None)))


def _pair(recovery: _Recovery, first: str, second: str) -> Optional[Tuple[str, str]]:
    """Return the values of two keys that only count together."""
    if not recovery.has(first) or not recovery.has(second):
        return None
    one, other = recovery.read(first), recovery.read(second)
    return None if one is None or other is None else (one, other)


def _address(recovery: _Recovery) -> None:
    try:
        _pair(recovery, "bond_address", "bond_netmask")
    except _Failed:
        pass  # both are then passed over
    pair = _pair(recovery, "address", "netmask")
    if pair is None:
        return
    own, mask = pair
    _require_free(recovery, own)
    network = (ipv4(own) or 0) & (ipv4(mask) or 0)
    unreachable = []
    for piece in recovery.text.pieces:
        line = piece.seen
        if line.startswith("route"):
            route = conf_values.route_of(line)
            if route is None:
                raise _Failed("%r begins with route, but is no route" % line.rstrip("\n")[:60], piece=piece, rule="invalid_value")
            if "_%d=" % recovery.device in line and (conf_values.packed(route[2]) or 0) & (ipv4(mask) or 0) != network:
                unreachable.append(piece)
    mark = "ip_route_%d=" % recovery.device
    for piece in recovery.lines_with(mark):
        gateway = conf_values.gateway_of_ip_route(piece.seen[len(mark):])
        if gateway is None:
            raise _Failed("%r cannot be read as a route" % piece.seen.rstrip("\n")[:60], "ip_route", piece.seen[len(mark):].rstrip("\n"), piece)
        if gateway & (ipv4(mask) or 0) != network:
            unreachable.append(piece)
    try:
        recovery.text.remove(lambda piece: piece in unreachable)
    except Unwritten:
        raise _Failed("the file is too large for hccn_tool to remove a route", rule="too_large") from None
    recovery.addresses[recovery.device] = own


def _require_free(recovery: _Recovery, own: str) -> None:
    """Refuse an address that the NPU uses internally, or that the other die of an A3 NPU has."""
    piece = (recovery.text.find(recovery.device, "address") or ("", None))[1]
    networks, _possible = reserved_networks(recovery.host.product, recovery.host.super_pod)
    reserved = network_containing(own, networks or RESERVED_A2)
    if reserved is not None:
        raise _Failed("%s is in %s, which the NPUs use internally" % (own, reserved), "address", own, piece, "reserved_network")
    sibling = recovery.device ^ 1
    if recovery.host.product == "A3" and recovery.addresses.get(sibling) == own:
        raise _Failed("address_%d has the address %s of device %d" % (recovery.device, own, sibling), "address", own, piece, "duplicate_address")


def _gateway(recovery: _Recovery) -> None:
    if not recovery.dhcp:
        recovery.read("gateway")


def _ip_rules(recovery: _Recovery) -> None:
    mark = "ip_rule_%d=" % recovery.device
    for piece in recovery.lines_with(mark):
        value = piece.seen.partition("=")[2].rstrip("\n")
        error = conf_values.ip_rule(value) or (None if piece.seen.startswith(mark) else "a line contains %s, but does not begin with it" % mark)
        if error is not None:
            raise _Failed(error, "ip_rule", value, piece)


def _arp(recovery: _Recovery) -> None:
    value = None if recovery.dhcp else recovery.text.value(recovery.device, "arp")
    for piece in recovery.lines_with(value) if value else ():
        words = [word for word in piece.seen.rstrip("\n").split("=") if word]
        error = conf_values.arp(words[1] if len(words) > 1 else "")
        if error is not None:
            raise _Failed(error, "arp", value or "", piece)


def _routes(recovery: _Recovery) -> None:
    if recovery.dhcp or recovery.has("udhcpc_ipv6_enable"):
        return
    for piece in recovery.text.pieces:
        line = piece.seen.rstrip("\n")
        if line.startswith("route") and "_%d=" % recovery.device in line:
            error = conf_values.route(line)
            if error is not None:
                raise _Failed(error, piece=piece, rule="invalid_value")


def _ip_routes(recovery: _Recovery) -> None:
    for piece in recovery.lines_with("ip_route_%d=" % recovery.device):
        value = piece.seen.partition("=")[2].rstrip("\n")
        error = conf_values.ip_route(value)
        if error is not None:
            raise _Failed(error, "ip_route", value, piece)


def _gratuitous_arp(recovery: _Recovery) -> None:
    if recovery.dhcp or recovery.has("udhcpc_ipv6_enable"):
        return
    for key in ("send_arp_period", "send_arp_status"):
        value = recovery.read(key)
        if value is None:
            continue
        if recovery.device not in recovery.addresses:
            raise _Failed("gratuitous ARP needs an address, and the file sets none", key, value, (recovery.text.find(recovery.device, key) or ("", None))[1])
        recovery.rewrite(key, value)


def _address6(recovery: _Recovery) -> None:
    if _pair(recovery, "IPv6address", "IPv6netmask") is None:
        return
    mtu = recovery.text.find(recovery.device, "mtu")
    if mtu is not None and conf_rules.RULES["mtu"].error(mtu[0]) is None and int(mtu[0]) < conf_values.MTU_IPV6:
        raise _Failed("an MTU below %d allows no IPv6 address" % conf_values.MTU_IPV6, "mtu", *mtu)
    for piece in recovery.text.pieces:
        line = piece.seen
        if line.startswith("IPv6route") and not all(word in line for word in (conf_rules.IPV6_ROUTE, "/", "next_address_")):
            raise _Failed("%r begins with IPv6route, but is no route" % line.rstrip("\n")[:60], piece=piece, rule="invalid_value")


def _gateway6(recovery: _Recovery) -> None:
    if not recovery.has("udhcpc_ipv6_enable"):
        recovery.read("IPv6gateway")


Part = Tuple[str, Callable[[_Recovery], None]]

COMMON: Tuple[Part, ...] = (
    ("udhcpc", _keys("udhcpc_enable")), ("udhcpc ipv6", _keys("udhcpc_ipv6_enable")), ("mac address", _keys("mac_addr")), ("mtu", _keys("mtu")),
    ("dscp", _keys("dscp_tc")), ("static_speed", _speed), ("auto_adapt", _keys("auto_adapt")), ("shaping", _keys("bw_limit")),
    ("roce_port", _keys("roce_port")), ("pfc", _keys("bitmap")), ("tc", _keys("tc_cfg")), ("prio_tc", _keys("prio_tc")),
    ("dcqcn_cnp_dscp", _keys("dcqcn_cnp_dscp")), ("dcqcn_alg", _parameters(("dcqcn_alg_mode",), conf_rules.DCQCN)),
    ("dcqcn_enable", _parameters(tuple(conf_rules.DCQCN_ENABLE), conf_rules.DCQCN_ENABLE)), ("xsfp_reset", _xsfp),
    ("tls_enable", _keys("tls_enable")), ("lldp_portid_type", _rewritten("lldp_portid_type")),
    ("cw_bad_cnt_thd_high_limit", _keys("cw_bad_cnt_thd_high_limit")), ("pfc_storm_watchdog", _storm), ("down_fault_time", _keys("down_fault_time")),
    ("scdr_reset_delay_time", _keys("scdr_reset_delay_time")), ("cdr_reset_switch", _keys("cdr_reset_switch")), ("tc_qos", _keys("tsa", "tcbw")),
    ("udp_port_mode", _ports), ("mem_reserve", _keys("mem_reserve")), ("downgrade_lane", _keys("downgrade_lane_switch", "downgrade_lane_filter_time")),
    ("optical_snr_query_switch", _keys("optical_snr_query_switch")),
)
IPV4: Tuple[Part, ...] = (
    ("ipv4", _address), ("netdetect", _keys("netdetect")), ("ipv4 gateway", _gateway), ("ip rule", _ip_rules), ("arp", _arp), ("route", _routes),
    ("ip route", _ip_routes), ("gratuitous arp", _gratuitous_arp),
)
IPV6: Tuple[Part, ...] = (
    ("ip ipv6", _address6), ("netdetect ipv6", _keys("IPv6netdetect")), ("ipv6 gateway", _gateway6), ("neigh", _keys("IPv6neigh")),
)


def _attempt(recovery: _Recovery, part: Part) -> Optional[RecoveryFailure]:
    item, run = part
    error: Optional[_Failed] = None
    for _attempt_number in range(ATTEMPTS):
        try:
            run(recovery)
            return None
        except _Failed as failed:
            error = error or failed
    if error is None:
        return None
    message, key, value, line, rule = error.found
    return RecoveryFailure(recovery.device, item, message, key, value, line, rule)


def _parts(product: Optional[str]) -> Iterator[Part]:
    return (part for part in COMMON if part[0] != "xsfp_reset" or product in (None, "A2"))


def replay(text: str, devices: Sequence[int], host: RecoveryHost = UNKNOWN) -> Tuple[List[RecoveryFailure], str]:
    """Return the parts that fail in the recovery of these devices, in this order, and the text that it leaves.

    Each recovery starts from the text that the one before it left.
    """
    read, addresses = ConfText(text), {}  # type: Tuple[ConfText, Dict[int, str]]
    found: List[Optional[RecoveryFailure]] = []
    for device in devices:
        recovery = _Recovery(read, device, host, addresses)
        found += [_attempt(recovery, part) for part in _parts(host.product)]
        for group in (IPV4, IPV6):
            first = _attempt(recovery, group[0])
            found += [first] if first is not None else [_attempt(recovery, part) for part in group[1:]]
    return [one for one in found if one is not None], "".join(piece.text for piece in read.pieces)


def devices_of(text: str) -> List[int]:
    return sorted({setting.device for setting in conf.settings(text)})
