# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check an hccn.conf for problems. Each rule is a function that yields all problems of its kind.

``hccn_tool -cfg recovery`` applies the file at every boot, and does not report many of these problems (recorded runs of the real front end).
"""

from __future__ import annotations

import difflib
import ipaddress
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from .._core.numbers import is_count, is_integer
from .._core.problems import Problem
from .._core.words import beginning
from . import conf
from .conf import MIN_LINE, NUL_BYTES, REPEATABLE_KEYS, Setting, ends_in_newline, lines_of, settings, without_nul_bytes
from .network_config import MTU, network_of
from .network_items import AUTO_PORT, ITEMS

MAX_LINE = 384
"""Maximum length of a line that hccn_tool reads (hicann/driver cfg.c)."""

_BLANKS = re.compile(r"^([^=#\s]+_\d+)(\s+=\s*|=\s+)")
_JOINED_KEY = re.compile(
    r"(?:address|netmask|gateway|netdetect|tls_enable|send_arp_status|send_arp_period|mtu|xsfp_reset_max_times|xsfp_reset_wait_times)_\d+=")


def _nul_bytes(text: str) -> Iterator[Problem]:
    if "\0" in text:
        yield Problem(NUL_BYTES, "error", "%d NUL bytes from an interrupted write: hccn_tool ignores the rest of a line after a NUL byte"
                      % text.count("\0"), where="line %d" % (text[:text.index("\0")].count("\n") + 1), hint="hccn.cluster.hccn_conf removes them")


def _no_final_newline(text: str) -> Iterator[Problem]:
    if not ends_in_newline(text):
        yield Problem("final_newline", "error", "the last line has no newline: hccn_tool appends the next key to it",
                      where="line %d" % len(lines_of(text)), hint="hccn.cluster.hccn_conf adds it")


def _carriage_returns(text: str) -> Iterator[Problem]:
    for number, line in enumerate(lines_of(text), 1):
        if line.endswith("\r\n"):
            yield Problem("carriage_return", "error", "the line ends in CR LF: hccn_tool -cfg recovery fails on it", where="line %d" % number,
                          hint="rewrite the file with LF line ends, and in place, since containers mount its inode")
            return


def _malformed_lines(text: str) -> Iterator[Problem]:
    for number, whole in enumerate(lines_of(text), 1):
        line = whole.rstrip("\r\n")
        where = "line %d" % number
        if len(line) > MAX_LINE:
            yield Problem("line_length", "error", "the line has %d characters, hccn_tool reads %d" % (len(line), MAX_LINE), where=where)
        if line.startswith("#") or len(line) < MIN_LINE or not line.strip():
            continue
        blank = _BLANKS.match(line)
        if blank is not None:
            yield Problem("blank_around_equals", "error", "blank beside '=': hccn_tool silently ignores the key %s" % blank.group(1),
                          where=where, hint="write key=value without blanks")
        elif not re.match(r"^[^=\s]+_\d+=", line):
            yield Problem("ignored_line", "warning", "not of the form key_<device>=value, so it is ignored: %r" % beginning(line, 60), where=where)


def _joined_key(setting: Setting) -> Iterator[Problem]:
    found = _JOINED_KEY.search(setting.value)
    if found is not None:
        yield Problem("glued_key", "error", "%s is joined to the value of %s on one line" % (found.group(0)[:-1], setting.full_key), device=setting.device,
                      where="line %d" % setting.line, hint="put it on a separate line, and set the correct values of both keys")


def _address(value: str) -> Optional[str]:
    try:
        ipaddress.IPv4Address(value)
    except ValueError:
        return "%r is not an IPv4 address" % value
    return None


def _address6(value: str) -> Optional[str]:
    try:
        ipaddress.IPv6Address(value)
    except ValueError:
        return "%r is not an IPv6 address" % value
    return None


def _netmask(value: str) -> Optional[str]:
    try:
        bits = int(ipaddress.IPv4Address(value))
    except ValueError:
        return "%r is not a dotted netmask" % value
    inverted = bits ^ 0xFFFFFFFF
    return "%r is not a netmask" % value if inverted & (inverted + 1) else None


def _prefix(value: str) -> Optional[str]:
    return None if is_count(value) and int(value) <= 128 else "%r is not a prefix length of 0 to 128" % value


def _flag(value: str) -> Optional[str]:
    return None if value in ("0", "1") else "%r is neither 0 nor 1" % value


def _mtu(value: str) -> Optional[str]:
    return None if is_count(value) and MTU[0] <= int(value) <= MTU[1] else "%r is not a number of %d to %d" % ((value,) + MTU)


VALUE_RULES: Dict[str, Callable[[str], Optional[str]]] = {
    "address": _address, "netmask": _netmask, "gateway": _address, "netdetect": _address, "IPv6address": _address6, "IPv6netmask": _prefix,
    "IPv6gateway": _address6, "IPv6netdetect": _address6, "tls_enable": _flag, "send_arp_status": _flag, "mtu": _mtu,
}


KEYS = (
    *VALUE_RULES, *REPEATABLE_KEYS, "bond_address", "bond_netmask", "send_arp_period", "tls_ca_recovered", "mac_addr", "bw_limit", "encoding",
    "static_speed", "auto_adapt", "dscp_tc", "bitmap", "tc_cfg", "prio_tc", "tsa", "tcbw", "roce_port", "udp_port_mode", "multi_qp_count",
    "multi_qp_udp_ports", "nslb_dp_listen_port", "udhcpc_enable", "udhcpc_ipv6_enable", "xsfp_reset_max_times", "xsfp_reset_wait_times", "lldp_portid_type",
)
"""Keys that hccn_tool is known to read (hicann/driver cfg.c, tool_recovery.c). There are more, so an unknown key alone is not a problem."""
_ROUTES = ("route_address_", "IPv6route_address_")
_MIN_SIMILARITY = 0.85


def _misspelt(setting: Setting) -> Iterator[Problem]:
    """Yield unknown keys that are similar to a known key."""
    similar = [] if setting.key in KEYS or setting.key.startswith(_ROUTES) else difflib.get_close_matches(setting.key, KEYS, 1, _MIN_SIMILARITY)
    if similar:
        yield Problem("misspelt_key", "warning", "%s: %s is not a known key of hccn_tool" % (setting.full_key, setting.key), device=setting.device,
                      where="line %d" % setting.line, hint="did you mean %s?" % similar[0])


def _value(setting: Setting) -> Iterator[Problem]:
    rule = VALUE_RULES.get(setting.key)
    error = rule(setting.value) if rule else None
    if error is not None:
        yield Problem("invalid_value", "error", "%s: %s" % (setting.full_key, error), device=setting.device, where="line %d" % setting.line,
                      hint="hccn_tool -cfg recovery would fail on it")


def _duplicate_keys(found: Sequence[Setting]) -> Iterator[Problem]:
    first: Dict[Tuple[int, str], Setting] = {}
    for setting in found:
        if setting.key in REPEATABLE_KEYS:
            continue
        before = first.setdefault((setting.device, setting.key), setting)
        if before is not setting:
            yield Problem("duplicate_key", "warning", "%s is already set on line %d, and hccn_tool only reads the first line" % (setting.full_key, before.line),
                          device=setting.device, where="line %d" % setting.line, hint="remove one of them")


def _incomplete_addresses(found: Sequence[Setting]) -> Iterator[Problem]:
    keys = {(setting.device, setting.key): setting for setting in reversed(found)}
    for (device, key), setting in sorted(keys.items(), key=lambda item: item[1].line):
        partner = {"address": "netmask", "netmask": "address", "IPv6address": "IPv6netmask"}.get(key)
        if partner and (device, partner) not in keys:
            yield Problem("incomplete_address", "error", "%s_%d is missing beside %s: the address is not set at boot" % (partner, device, setting.full_key),
                          device=device, where="line %d" % setting.line)
        if key == "gateway":
            yield from _gateway(keys.get((device, "address")), keys.get((device, "netmask")), setting)


def _gateway(address: Optional[Setting], netmask: Optional[Setting], gateway: Setting) -> Iterator[Problem]:
    if address is None or netmask is None:
        return
    try:
        network = ipaddress.IPv4Network("%s/%s" % (address.value, netmask.value), strict=False)
        inside = ipaddress.IPv4Address(gateway.value) in network
    except ValueError:
        return
    if not inside:
        yield Problem("gateway_outside_network", "error", "%s=%s lies outside %s" % (gateway.full_key, gateway.value, network),
                      device=gateway.device, where="line %d" % gateway.line, hint="hccn_tool refuses to set this gateway, and silently drops it at boot")


def _duplicate_addresses(found: Sequence[Setting]) -> Iterator[Problem]:
    holders: Dict[str, Setting] = {}
    for setting in found:
        if setting.key not in ("address", "IPv6address"):
            continue
        before = holders.setdefault(setting.value, setting)
        if before.device != setting.device:
            yield Problem("duplicate_address", "error", "%s has the address %s of device %d" % (setting.full_key, setting.value, before.device),
                          device=setting.device, where="line %d" % setting.line, hint="give each NPU a different address; hccn_tool does not check this")


def _absent_devices(found: Sequence[Setting], present: Sequence[int]) -> Iterator[Problem]:
    first: Dict[int, int] = {}
    for setting in found:
        first.setdefault(setting.device, setting.line)
    for device in sorted(set(first) - set(present)):
        yield Problem("absent_device", "warning", "settings for device %d, which this host does not have" % device, device=device,
                      where="line %d" % first[device])


def check(text: str, present: Optional[Sequence[int]] = None) -> List[Problem]:
    """Return all problems of a file, by rule and then by line. ``present``: the devices of the host, None if unknown.

    Apart from the NUL bytes themselves, the problems are those of the text without NUL bytes, since an edit removes them.
    """
    nuls, text = list(_nul_bytes(text)), without_nul_bytes(text)
    found = settings(text)
    problems = nuls + list(_no_final_newline(text)) + list(_carriage_returns(text)) + list(_malformed_lines(text))
    for setting in found:
        joined = list(_joined_key(setting))
        problems += joined or [*_value(setting), *_misspelt(setting)]
    problems += list(_duplicate_keys(found)) + list(_incomplete_addresses(found)) + list(_duplicate_addresses(found))
    if present is not None:
        problems += list(_absent_devices(found, present))
    return problems


def _values(entry: Mapping[str, Any]) -> Dict[str, str]:
    """Return the values that an entry of ``config`` of device_network sets in hccn.conf, by key without device number."""
    found: Dict[str, str] = {}
    for item in ITEMS:
        for option, key in zip(item.options, item.keys):
            value = entry.get(option)
            if isinstance(value, (str, int)) and not isinstance(value, bool):
                found[key] = AUTO_PORT if key == "roce_port" and value == "auto" else str(value)
    return found


def _loses_gateway(text: str, device: int, values: Mapping[str, str]) -> bool:
    """Return True if a new address removes the gateway of the file, since the gateway is outside the new network."""
    old = {key: conf.value_of(text, device, key) for key in ("address", "netmask", "gateway")}
    if old["gateway"] is None or "gateway" in values or not {"address", "netmask"} <= set(values):
        return False
    if (old["address"], old["netmask"]) == (values["address"], values["netmask"]):
        return False  # the address may not be set at all
    try:
        return ipaddress.ip_address(old["gateway"]) not in network_of(values["address"], values["netmask"])
    except ValueError:
        return True


def predicted_text(text: str, config: Sequence[Mapping[str, Any]]) -> str:
    """Return the text after device_network has set ``config``, as far as conf_check reads it."""
    edits: Dict[Tuple[int, str], List[str]] = {}
    for entry in config:
        device = entry.get("id")
        if is_integer(device):
            values = _values(entry)
            edits.update({(device, key): [value] for key, value in values.items()})
            if _loses_gateway(text, device, values):
                edits[(device, "gateway")] = []
    return conf.edit(text, edits)


def _identity(problem: Problem) -> Tuple[str, Optional[int], str]:
    """Return the identity of a problem. Its line is not part of it, since lines move when others are removed."""
    return problem.rule, problem.device, problem.message


def pending(problems: Sequence[Problem], text: str, config: Sequence[Mapping[str, Any]]) -> List[Problem]:
    """Return those of the ``problems`` of ``text`` that device_network with ``config`` will solve."""
    if not problems or not config:
        return []
    remaining = {_identity(problem) for problem in check(predicted_text(text, config))}
    return [problem for problem in problems if _identity(problem) not in remaining]
