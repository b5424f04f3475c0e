# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find what ``hccn_tool -cfg recovery`` passes over in hccn.conf without a word. Each rule is a function that yields all warnings of its kind."""

from __future__ import annotations

import difflib
import ipaddress
import re
from typing import Dict, Iterator, Optional, Sequence, Tuple

from .._core.problems import Problem
from .._core.words import beginning
from . import conf, conf_rules, conf_values
from .c_numbers import ipv4, signed
from .conf import MAX_LINE, MIN_LINE, REPEATABLE_KEYS, Setting, lines_of
from .conf_replay import DIES, XSFP_DEFAULTS, RecoveryHost
from .reserved import network_containing, reserved_networks

_BLANK_BEFORE_EQUALS = re.compile(r"^([^=#\s]+_\d+)\s+=")
_PADDED = re.compile(r"^[^=\s]+_0+(\d+)=")
_IGNORED_BY_DHCP = ("gateway", "arp", "send_arp_status", "send_arp_period")
_MIN_SIMILARITY = 0.85
_JOINED_KEY = re.compile(
    r"(?:address|netmask|gateway|netdetect|tls_enable|send_arp_status|send_arp_period|mtu|xsfp_reset_max_times|xsfp_reset_wait_times)_\d+=")


def _warning(rule: str, message: str, setting: Setting, hint: Optional[str] = None) -> Problem:
    return Problem(rule, "warning", message, device=setting.device, where="line %d" % setting.line, hint=hint)


def joined_key(value: str) -> Optional[str]:
    """Return the key that a value contains because two lines were joined."""
    found = _JOINED_KEY.search(value)
    return found.group(0)[:-1] if found else None


def _joined(setting: Setting) -> Iterator[Problem]:
    key = joined_key(setting.value)
    if key is not None:
        yield _warning("glued_key", "%s is joined to the value of %s on one line" % (key, setting.full_key), setting,
                       "put it on a separate line, and set the correct values of both keys")


def nul_bytes(text: str) -> Optional[Problem]:
    if "\0" not in text:
        return None
    return Problem(conf.NUL_BYTES, "warning", "%d NUL bytes from an interrupted write: hccn_tool ignores the rest of such a line, and its next write joins "
                   "the line to the following one" % text.count("\0"), where="line %d" % (text[:text.index("\0")].count("\n") + 1),
                   hint="hccn.cluster.hccn_conf removes them")


def final_newline(text: str) -> Optional[Problem]:
    if conf.ends_in_newline(text) or text.endswith("\0"):
        return None
    return Problem("final_newline", "warning", "the last line has no newline: hccn_tool appends the next key to it",
                   where="line %d" % len(lines_of(text)), hint="hccn.cluster.hccn_conf adds it")


def carriage_return(text: str) -> Optional[Problem]:
    for number, line in enumerate(lines_of(text), 1):
        if line.endswith("\r\n"):
            return Problem("carriage_return", "warning", "the line ends in CR LF, and the CR belongs to the value", where="line %d" % number,
                           hint="rewrite the file with LF line ends, and in place, since containers mount its inode")
    return None


def malformed_lines(text: str) -> Iterator[Problem]:
    for number, whole in enumerate(lines_of(text), 1):
        where = "line %d" % number
        if len(conf.pieces_of(whole)) > 1:
            yield Problem("line_length", "warning", "the line has more than %d bytes: hccn_tool reads the rest as a line of its own" % MAX_LINE, where=where)
        line = whole.partition("\0")[0].rstrip("\r\n")
        if line.startswith("#") or len(line) < MIN_LINE or not line.strip() or conf.parse_line(line) is not None:
            continue
        blank, padded = _BLANK_BEFORE_EQUALS.match(line), _PADDED.match(line)
        if blank is not None:
            yield Problem("blank_around_equals", "warning", "blank before '=': hccn_tool silently ignores the key %s" % blank.group(1),
                          where=where, hint="write key=value without blanks")
        else:
            yield Problem("ignored_line", "warning", "not of the form key_<device>=value, so it is ignored: %r" % beginning(line, 60), where=where,
                          hint="write the id as %s" % padded.group(1) if padded else None)


def _misspelt(setting: Setting) -> Iterator[Problem]:
    """Yield unknown keys that are similar to a known key, or differ from it in case only."""
    if conf_rules.known(setting.key):
        return
    by_case = {key.lower(): key for key in conf_rules.KEYS}
    same = by_case.get(setting.key.lower())
    similar = [same] if same else difflib.get_close_matches(setting.key, conf_rules.KEYS, 1, _MIN_SIMILARITY)
    if similar:
        yield _warning("misspelt_key", "%s: %s is not a known key of hccn_tool" % (setting.full_key, setting.key), setting, "did you mean %s?" % similar[0])


def _ignored_value(setting: Setting) -> Iterator[Problem]:
    rule = conf_rules.RULES.get(setting.key)
    fault = rule.ignored(setting.value) if rule else None
    if fault is None and setting.key == "IPv6netmask" and signed(setting.value)[1] == setting.value:
        fault = "%r is no number, so recovery takes the prefix length 0" % setting.value
    if fault is not None:
        yield _warning("ignored_value", "%s: %s" % (setting.full_key, fault), setting)


def _ignored_setting(setting: Setting, keys: Dict[Tuple[int, str], Setting], product: Optional[str]) -> Iterator[Problem]:
    reason = None
    if setting.key in ("encoding", "tls_ca_recovered"):
        reason = "recovery does not use it"
    elif setting.key in _IGNORED_BY_DHCP and (setting.device, "udhcpc_enable") in keys:
        reason = "recovery ignores it, since udhcpc_enable_%d is set" % setting.device
    elif setting.key in dict(XSFP_DEFAULTS) and product == "A3":
        reason = "recovery of an A3 host ignores it"
    elif setting.key in conf_rules.DCQCN and (setting.device, "dcqcn_alg_mode") not in keys:
        reason = "recovery ignores it without dcqcn_alg_mode_%d" % setting.device
    elif setting.key == "dcqcn_alg_mode" and not any((setting.device, key) in keys for key in list(conf_rules.DCQCN)[1:]):
        reason = "recovery ignores it without one of the parameters of the congestion control"
    elif setting.key in conf_rules.DCQCN_ENABLE and not all((setting.device, key) in keys for key in conf_rules.DCQCN_ENABLE):
        reason = "recovery only reads %s together" % " and ".join(conf_rules.DCQCN_ENABLE)
    if reason is not None:
        yield _warning("ignored_key", "%s: %s" % (setting.full_key, reason), setting)


def _duplicate_keys(found: Sequence[Setting]) -> Iterator[Problem]:
    first: Dict[Tuple[int, str], Setting] = {}
    for setting in found:
        if setting.key in REPEATABLE_KEYS and setting.key != "arp":
            continue
        before = first.setdefault((setting.device, setting.key), setting)
        if before is setting:
            continue
        if setting.key == "arp":
            yield _warning("ignored_key", "%s: recovery only sends the first entry, on line %d" % (setting.full_key, before.line), setting)
        else:
            yield _warning("duplicate_key", "%s is already set on line %d, and hccn_tool only reads the first line" % (setting.full_key, before.line),
                           setting, "remove one of them")


def _incomplete_addresses(keys: Dict[Tuple[int, str], Setting]) -> Iterator[Problem]:
    for (device, key), setting in sorted(keys.items(), key=lambda item: item[1].line):
        partner = {"address": "netmask", "netmask": "address", "IPv6address": "IPv6netmask", "IPv6netmask": "IPv6address"}.get(key)
        if partner and (device, partner) not in keys:
            yield _warning("incomplete_address", "%s_%d is missing beside %s: the address is not set at boot" % (partner, device, setting.full_key), setting)


def _outside_network(found: Sequence[Setting], keys: Dict[Tuple[int, str], Setting]) -> Iterator[Problem]:
    """Yield gateways that ``hccn_tool -gateway -s`` refuses, while recovery sends them, and routes that recovery removes."""
    for setting in found:
        address, mask = keys.get((setting.device, "address")), keys.get((setting.device, "netmask"))
        if address is None or mask is None or conf_values.netmask(mask.value) or conf_values.host4(address.value):
            continue
        bits = ipv4(mask.value) or 0
        own = (ipv4(address.value) or 0) & bits
        network = ipaddress.IPv4Network("%s/%s" % (address.value, mask.value), strict=False)
        gateway = ipv4(setting.value) if keys.get((setting.device, setting.key)) is setting else None
        if setting.key == "gateway" and gateway is not None and gateway & bits != own:
            yield _warning("gateway_outside_network", "%s=%s lies outside %s" % (setting.full_key, setting.value, network), setting,
                           "hccn_tool -gateway -s refuses this gateway, but recovery sends it to the device at boot")
        route = conf_values.route_of("%s=%s" % (setting.full_key, setting.value)) if setting.key.startswith(conf_rules.ROUTE) else None
        by_route = conf_values.packed(route[2]) if route else conf_values.gateway_of_ip_route(setting.value) if setting.key == "ip_route" else None
        if by_route is not None and by_route & bits != own:
            yield _warning("removed_route", "%s=%s: the gateway lies outside %s" % (setting.full_key, setting.value, network), setting,
                           "recovery removes this line")


def _addresses(keys: Dict[Tuple[int, str], Setting], host: RecoveryHost) -> Iterator[Problem]:
    holders: Dict[str, Setting] = {}
    _certain, possible = reserved_networks(host.product, host.super_pod)
    for (device, key), setting in sorted(keys.items(), key=lambda item: item[1].line):
        if key not in ("address", "IPv6address"):
            continue
        before = holders.setdefault(setting.value, setting)
        dies = host.product == "A3" and before.device // DIES == device // DIES
        if before.device != device and not (dies and key == "address"):
            yield _warning("duplicate_address", "%s has the address %s of device %d" % (setting.full_key, setting.value, before.device), setting,
                           "give each NPU a different address; hccn_tool does not check this")
        reserved = network_containing(setting.value, possible) if key == "address" and conf_values.host4(setting.value) is None else None
        if reserved is not None:
            yield _warning("reserved_network", "%s=%s is in %s, which the NPUs of an A3 host use internally inside a super pod" % (
                setting.full_key, setting.value, reserved), setting, "recovery fails on it there; whether this host is in a super pod is unknown")


def _absent_devices(found: Sequence[Setting], present: Sequence[int]) -> Iterator[Problem]:
    first: Dict[int, Setting] = {}
    for setting in found:
        first.setdefault(setting.device, setting)
    for device in sorted(set(first) - set(present)):
        yield _warning("absent_device", "settings for device %d, which this host does not have" % device, first[device])


def of_settings(found: Sequence[Setting], host: RecoveryHost, present: Optional[Sequence[int]]) -> Iterator[Problem]:
    """Yield the warnings about settings, by rule and then by line."""
    keys: Dict[Tuple[int, str], Setting] = {}
    for setting in found:
        keys.setdefault((setting.device, setting.key), setting)
    for setting in found:
        yield from _joined(setting)
        yield from _misspelt(setting)
        yield from _ignored_value(setting)
        yield from _ignored_setting(setting, keys, host.product)
    yield from _duplicate_keys(found)
    yield from _incomplete_addresses(keys)
    yield from _outside_network(found, keys)
    yield from _addresses(keys, host)
    if present is not None:
        yield from _absent_devices(found, present)
