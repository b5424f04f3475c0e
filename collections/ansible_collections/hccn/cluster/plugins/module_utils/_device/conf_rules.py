# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The rules of the keys of hccn.conf: one table for everything that sets, checks or plans them."""

from __future__ import annotations

from typing import Callable, Dict, Mapping, NamedTuple, Optional, Tuple

from . import conf
from . import conf_values as values
from .c_numbers import unsigned
from .conf_values import Fault, Judge

BOTH = ("A2", "A3")
SOURCE = "recorded"
"""The rule was seen in runs of the real front end. The other rules are known from hicann/driver (tool_recovery.c) only."""
DRIVER = "driver"


def _nothing(_value: str) -> Fault:
    return None


class Rule(NamedTuple):
    """The rule of a key. ``fault`` judges a value that has at most ``longest`` characters, ``ignored`` tells why recovery passes over a value in silence.

    ``item`` is the part of the recovery that reads the key, as the log of hccn_tool names it. ``effect`` is what that part does with the value.
    """

    item: str
    longest: int
    fault: Judge
    effect: str = "sends it to the device"
    source: str = SOURCE
    products: Tuple[str, ...] = BOTH
    ignored: Callable[[str], Optional[str]] = _nothing

    def error(self, value: str) -> Fault:
        """Return why recovery fails on a value, None if it does not."""
        if self.ignored(value) is not None:
            return None
        if len(conf.encoded(value)) > self.longest:
            return "%r has more than the %d characters that hccn_tool reads" % (value[:60], self.longest)
        return self.fault(value)

    def refusal(self, value: str) -> Fault:
        """Return why recovery does not apply a value, be it with an error or in silence."""
        return self.ignored(value) or self.error(value)


def _long_limit(value: str) -> Fault:
    return "%r has more than 6 characters, so recovery ignores it" % value if len(value) > 6 else None


def _no_class(value: str) -> Fault:
    skipped = not value or any(len(entry) == 1 for entry in value.split(","))
    return "%r has an entry of one character, which recovery ignores" % value if skipped and values.dscp_tc(value) is None else None


_REWRITES = "sends it to the device, and moves the line to the end of the file"
_PAIR = "sends address and netmask to the device; without the other of the two, ignores it"
_DHCP = "asks for DHCP, and then ignores gateway, arp, send_arp and routes of the file"
_SPEED = "sends it to the device; static_speed removes auto_adapt"

RULES: Mapping[str, Rule] = {
    "udhcpc_enable": Rule("udhcpc", 3, values.anything, _DHCP),
    "udhcpc_ipv6_enable": Rule("udhcpc ipv6", 3, values.anything, _DHCP, DRIVER),
    "mac_addr": Rule("mac address", 17, values.mac),
    "mtu": Rule("mtu", 4, values.mtu),
    "dscp_tc": Rule("dscp", 320, values.dscp_tc, ignored=_no_class),
    "static_speed": Rule("static_speed", 6, values.one_of("100000", "200000"), _SPEED),
    "auto_adapt": Rule("auto_adapt", 3, values.anything, _SPEED),
    "bw_limit": Rule("shaping", 6, values.digits(*values.SHAPING), ignored=_long_limit),
    "roce_port": Rule("roce_port", 5, values.roce_port),
    "bitmap": Rule("pfc", 15, values.bitmap),
    "tc_cfg": Rule("tc", 350, values.tc_cfg),
    "prio_tc": Rule("prio_tc", 15, values.row(values.TRAFFIC_CLASSES - 1)),
    "dcqcn_cnp_dscp": Rule("dcqcn_cnp_dscp", 29, values.cnp_dscp),
    "xsfp_reset_max_times": Rule("xsfp_reset", 2, values.number(0, 30, empty=True), _REWRITES, products=("A2",)),
    "xsfp_reset_wait_times": Rule("xsfp_reset", 2, values.number(0, 40, empty=True), _REWRITES, products=("A2",)),
    "tls_enable": Rule("tls_enable", 29, values.flag),
    "lldp_portid_type": Rule("lldp_portid_type", 9, values.one_of("mac", "ifname"), _REWRITES, DRIVER),
    "cw_bad_cnt_thd_high_limit": Rule("cw_bad_cnt_thd_high_limit", 2, values.digits(3, 14), source=DRIVER),
    "pfc_storm_watchdog_mode": Rule("pfc_storm_watchdog", 3, values.digits(0, 2, canonical=True), _REWRITES, DRIVER),
    "pfc_storm_watchdog_close_time": Rule("pfc_storm_watchdog", 3, values.digits(0, 100, canonical=True), _REWRITES, DRIVER),
    "pfc_storm_watchdog_detect_period": Rule("pfc_storm_watchdog", 3, values.digits(10, 100, canonical=True), _REWRITES, DRIVER),
    "pfc_storm_watchdog_warn_thrd": Rule("pfc_storm_watchdog", 3, values.digits(40, 80, canonical=True), _REWRITES, DRIVER),
    "pfc_storm_watchdog_err_thrd": Rule("pfc_storm_watchdog", 3, values.digits(60, 100, canonical=True), _REWRITES, DRIVER),
    "down_fault_time": Rule("down_fault_time", 9, values.number(0, 3, empty=True), source=DRIVER),
    "scdr_reset_delay_time": Rule("scdr_reset_delay_time", 9, values.number(0, 60, empty=True)),
    "cdr_reset_switch": Rule("cdr_reset_switch", 7, values.one_of("enable", "disable"), source=DRIVER),
    "tsa": Rule("tc_qos", 127, values.tsa),
    "tcbw": Rule("tc_qos", 127, values.tcbw),
    "mem_reserve": Rule("mem_reserve", 9, values.mem_reserve, source=DRIVER),
    "downgrade_lane_switch": Rule("downgrade_lane", 2, values.digits(0, 1), source=DRIVER),
    "downgrade_lane_filter_time": Rule("downgrade_lane", 2, values.digits(3, 8), source=DRIVER),
    "optical_snr_query_switch": Rule("optical_snr_query_switch", 8, values.one_of("enable", "disable"), source=DRIVER),
    "udp_port_mode": Rule("udp_port_mode", 19, values.anything, "sends it with the ports of the keys multi_qp_* or nslb_dp_listen_port"),
    "address": Rule("ipv4", 19, values.host4, _PAIR + "; without an address, also ignores what depends on it"),
    "netmask": Rule("ipv4", 19, values.netmask, _PAIR),
    "netdetect": Rule("netdetect", 19, values.netdetect),
    "gateway": Rule("ipv4 gateway", 19, values.address4, "sends every address to the device; ignores it with udhcpc_enable"),
    "ip_rule": Rule("ip rule", 350, values.ip_rule),
    "arp": Rule("arp", 350, values.arp, "sends the first line only; ignores it with udhcpc_enable"),
    "ip_route": Rule("ip route", 350, values.ip_route, "sends it; a text without a gateway fails the address, one outside the network is removed"),
    "send_arp_period": Rule("gratuitous arp", 5, values.number(*values.SEND_ARP_PERIOD), _REWRITES + "; fails without an address"),
    "send_arp_status": Rule("gratuitous arp", 1, values.one_of("0", "1"), _REWRITES + "; fails without an address"),
    "IPv6address": Rule("ip ipv6", 47, values.address6, "sends address and prefix to the device; without the other of the two, ignores it"),
    "IPv6netmask": Rule("ip ipv6", 47, values.prefix6, "sends address and prefix to the device; reads a text without a number as 0"),
    "IPv6netdetect": Rule("netdetect ipv6", 47, values.address6),
    "IPv6gateway": Rule("ipv6 gateway", 47, values.address6),
    "IPv6neigh": Rule("neigh", 350, values.neighbour6),
    "bond_address": Rule("ipv4", 19, values.host4, "sends it before the address, which replaces it"),
    "bond_netmask": Rule("ipv4", 19, values.netmask, "sends it before the address, which replaces it"),
}

DCQCN: Dict[str, Judge] = {
    "dcqcn_alg_mode": values.digits(0, 1), "dcqcn_f": values.digits(0, 255), "dcqcn_g_shift": values.digits(0, 15), "dcqcn_al": values.digits(0, 255),
    "dcqcn_tkp": values.digits(0, 15), "dcqcn_max_speed": values.one_of("100000", "200000"), "dcqcn_ai": values.digits(0, 65535),
    "dcqcn_tmp": values.digits(0, 15), "dcqcn_alp": values.digits(0, 65535), "dcqcn_cnp_time": values.digits(0, 255),
    "dcqcn_alp_shift": values.digits(0, 15), "dcqcn_max_des_shift": values.digits(0, 9),
}
"""Parameters of the congestion control: the first alone is ignored, and so are all others without it (hicann/driver)."""

DCQCN_ENABLE: Dict[str, Judge] = {"dcqcn_en_enable": values.digits(0, 1), "dcqcn_en_alg_mode": values.digits(0, 1)}

OTHER_KEYS = ("IPv6route_address", "tls_ca_recovered", "encoding", "multi_qp_count", "multi_qp_udp_ports", "nslb_dp_listen_port", *DCQCN, *DCQCN_ENABLE)
"""Keys that hccn_tool knows without a rule for a single value: they are ignored, or belong to another key."""

ROUTE = "route_address_"
IPV6_ROUTE = "IPv6route_address_"

KEYS = (*RULES, *OTHER_KEYS)
"""Keys that hccn_tool is known to read. There are more, so an unknown key alone is not a problem."""


def known(key: str) -> bool:
    return key in RULES or key in OTHER_KEYS or key.startswith((ROUTE, IPV6_ROUTE))


def enabled(value: Optional[str]) -> Optional[bool]:
    """Return what recovery reads from ``tls_enable``, None without a value that it takes."""
    return None if value is None or RULES["tls_enable"].error(value) is not None else bool(unsigned(value)[0] % (1 << 32))


def refusal(key: str, value: str) -> Fault:
    """Return why recovery would not apply ``key=value``, None if it would, as far as the line alone tells."""
    rule = RULES.get(key)
    if rule is not None:
        return rule.refusal(value)
    if key.startswith(ROUTE):
        return values.route("%s_0=%s" % (key, value))
    judge = {**DCQCN, **DCQCN_ENABLE}.get(key)
    return judge(value) if judge else None
