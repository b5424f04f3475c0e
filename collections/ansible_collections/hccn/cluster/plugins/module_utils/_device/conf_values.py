# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Judge values of hccn.conf as ``hccn_tool -cfg recovery`` does. Each function returns why recovery fails on a value, None if it takes it.

Sources: recorded runs of the real front end; hicann/driver, src/custom/network/hccn (tool_recovery.c and the files of the single commands).
"""

from __future__ import annotations

import re
from typing import Callable, List, Optional, Sequence, Tuple

from .c_numbers import decimal, ipv4, ipv6, signed, unsigned, whole_signed, whole_unsigned

Fault = Optional[str]
Judge = Callable[[str], Fault]
Limits = Tuple[int, int]

MTU = (68, 9702)
MTU_IPV6 = 1280
"""Below this MTU a device takes no IPv6 address."""
SHAPING = (10000, 200000)
ROCE_PORT = (4097, 65535)
PRIORITIES = 8
TRAFFIC_CLASSES = 4
DSCPS = 64
PFC_QUEUES = 4
"""Maximum number of priorities with flow control. hccn_tool refuses more ("exceeds the maximum value(4)")."""
IPV6_PREFIX = (0, 128)
SEND_ARP_PERIOD = (1, 3600)
BUFFER_BYTES = 1797120
"""Maximum size of the buffers of the traffic classes."""
MIN_BUFFER_BYTES = 6272
WATERLINE = 0xFFFF * 128
SPEEDS = (100000, 200000)

_MULTICAST_MACS = {int(text.replace(":", ""), 16) for text in (
    "09:00:2b:00:00:04", "09:00:2b:00:00:05", "03:00:00:00:00:08", "03:00:00:00:00:10", "03:00:00:00:00:40", "03:00:00:40:00:00",
    *("03:00:00:00:%02x:00" % (1 << bit) for bit in range(7)))}
_BRIDGE_MACS = 0x0180C2
_UNSIGNED = r"[ \t\n\v\f\r]*[+-]?[0-9]+"
_DOTTED = r"\.".join(["(%s)" % _UNSIGNED] * 4)
_ROUTE = re.compile(r"route_address_%s_netmask_%s_%s=gateway_%s" % (_DOTTED, _DOTTED, _UNSIGNED, _DOTTED))
_IP_ROUTE = re.compile(r"add\s*%s/(%s)\s*via\s*%s" % (_DOTTED, _UNSIGNED, _DOTTED))
_TABLE = re.compile(r"\btable\s*(%s)" % _UNSIGNED)
MAX_TABLE = 255


def anything(_value: str) -> Fault:
    return None


def address4(value: str) -> Fault:
    return "%r is not an IPv4 address" % value if ipv4(value) is None else None


def host4(value: str) -> Fault:
    if ipv4(value) in (0, 0xFFFFFFFF):
        return "%s is not the address of a host" % value
    return address4(value)


def netdetect(value: str) -> Fault:
    return "%s is not the address of a host" % value if ipv4(value) == 0xFFFFFFFF else address4(value)


def netmask(value: str) -> Fault:
    bits = ipv4(value)
    if bits is None:
        return "%r is not a dotted netmask" % value
    free = bits ^ 0xFFFFFFFF
    return "%r is not a netmask" % value if free & (free + 1) else None


def address6(value: str) -> Fault:
    return "%r is not an IPv6 address" % value if ipv6(value) is None else None


def prefix6(value: str) -> Fault:
    """Judge a prefix length. Recovery only reads a number at its beginning, and 0 if there is none."""
    return None if IPV6_PREFIX[0] <= signed(value)[0] <= IPV6_PREFIX[1] else "%r is not a prefix length of 0 to 128" % value


def _between(number: Optional[int], limits: Limits, value: str) -> Fault:
    return None if number is not None and limits[0] <= number <= limits[1] else "%r is not a number of %d to %d" % ((value,) + limits)


def number(low: int, high: int, empty: bool = False) -> Judge:
    """Return the rule of a number that the tool reads with ``strtol``."""
    return lambda value: _between(whole_signed(value) if value or empty else None, (low, high), value)


def digits(low: int, high: int, canonical: bool = False) -> Judge:
    """Return the rule of a number of digits only; ``canonical``: without leading zeros."""
    return lambda value: _between(None if canonical and value != "0" and value.startswith("0") else decimal(value), (low, high), value)


def mtu(value: str) -> Fault:
    return _between(whole_unsigned(value), MTU, value)


def flag(value: str) -> Fault:
    """Judge ``tls_enable``, a number with ``strtoul`` of which the tool uses 32 bits."""
    read = whole_unsigned(value) if value else None
    return None if read is not None and read % (1 << 32) in (0, 1) else "%r is neither 0 nor 1" % value


def one_of(*words: str) -> Judge:
    return lambda value: None if value in words else "%r is none of %s" % (value, ", ".join(words))


def mac(value: str) -> Fault:
    if not re.fullmatch("[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", value):
        return "%r is not a MAC address" % value
    bits = int(value.replace(":", ""), 16)
    special = value[1] == "1" or bits in _MULTICAST_MACS or bits in (0, (1 << 48) - 1) or bits >> 24 == _BRIDGE_MACS
    return "%s is not the MAC address of a port" % value if special else None


def row(top: int) -> Judge:
    """Return the rule of eight single digits with commas."""
    pattern = ",".join(["[0-%d]" % top] * PRIORITIES)
    return lambda value: None if re.fullmatch(pattern, value) else "%r is not %d numbers of 0 to %d with commas" % (value, PRIORITIES, top)


def bitmap(value: str) -> Fault:
    fault = row(1)(value)
    if fault is None and value.count("1") > PFC_QUEUES:
        return "%d priorities are enabled, at most %d are allowed" % (value.count("1"), PFC_QUEUES)
    return fault


def _byte(text: str) -> Tuple[Optional[int], str]:
    """Return the number that ``%hhu`` reads, and the rest."""
    read, rest = unsigned(text)
    return (None if rest == text else read % 256), rest


def dscp_tc(value: str) -> Fault:
    """Judge ``33:2,34:1,``. Recovery skips entries of fewer than 2 characters."""
    entries = [entry for entry in value.split(",") if len(entry) > 1]
    for entry in entries:
        dscp, rest = _byte(entry)
        traffic_class = _byte(rest[1:])[0] if rest.startswith(":") else None
        if len(entry) > 4 or dscp is None or traffic_class is None:
            return "%r is not of the form dscp:tc, with at most 4 characters" % entry
        if dscp >= DSCPS or traffic_class >= TRAFFIC_CLASSES:
            return "%r is not a dscp of 0 to %d and a tc of 0 to %d" % (entry, DSCPS - 1, TRAFFIC_CLASSES - 1)
    return "%d entries, at most %d are read" % (len(entries), DSCPS) if len(entries) > DSCPS else None


def roce_port(value: str) -> Fault:
    """Judge the UDP source port. Every text that begins with -1 lets the device choose it."""
    if value.startswith("-1") or value in ("0000", "00000"):
        return None
    return _between(decimal(value) if len(value) >= 4 else None, ROCE_PORT, value)


def tc_cfg(value: str) -> Fault:
    words = value.split(" ")
    if len(words) < 4 or words[0] != "size" or words[2] != "waterline":
        return "%r is not of the form size <numbers> waterline <numbers>" % value
    sizes, waterlines = ([decimal(text) for text in word.split(",")] for word in (words[1], words[3]))
    if len(sizes) > PRIORITIES or len(waterlines) > PRIORITIES or None in sizes or None in waterlines:
        return "%r has numbers that cannot be read" % value
    if any(size and not MIN_BUFFER_BYTES <= size <= BUFFER_BYTES for size in sizes) or sum(size or 0 for size in sizes) > BUFFER_BYTES:
        return "%r: a size is neither 0 nor %d to %d bytes, or all of them are larger" % (value, MIN_BUFFER_BYTES, BUFFER_BYTES)
    too_high = [line for size, line in zip(sizes, waterlines) if (line or 0) > min(WATERLINE, size or 0)]
    return "%r: a waterline is above its size" % value if too_high else None


def cnp_dscp(value: str) -> Fault:
    read = whole_unsigned(value)
    return None if read is not None and read % 256 < DSCPS else "%r is not a number of 0 to %d" % (value, DSCPS - 1)


def _shares(value: str) -> Optional[List[str]]:
    """Return the texts behind ``0:`` to ``3:``, None if the value has another form."""
    entries = [entry.split(":") for entry in value.split(",")]
    if any(len(entry) != 2 or not re.fullmatch("[0-3]", entry[0]) for entry in entries):
        return None
    return [text for _class, text in entries] if len({entry[0] for entry in entries}) == len(entries) else None


def tsa(value: str) -> Fault:
    shares = _shares(value)
    return None if shares and all(text in ("ets", "strict") for text in shares) else "%r is not of the form 0:ets,1:strict" % value


def tcbw(value: str) -> Fault:
    shares = _shares(value)
    numbers = [decimal(text) for text in shares or ()]
    return None if numbers and all(one is not None and one <= 100 for one in numbers) else "%r is not of the form 0:40,1:60" % value


def udp_port_mode(mode: str, count: Optional[str], ports: Optional[str], listen: Optional[str]) -> Fault:
    """Judge the value of ``udp_port_mode`` together with the three keys that it needs."""
    if mode == "code:nslb_dp":
        return _between(None if listen is None else decimal(listen), (10000, 57999), "nslb_dp_listen_port: %s" % listen)
    if mode != "multi_qp":
        return "%r is neither multi_qp nor code:nslb_dp" % mode
    wanted = decimal(count or "")
    if wanted is None or len(count or "") > 2 or not 2 <= wanted <= 32:
        return "multi_qp_count %r is not a number of 2 to 32" % count
    text = ports or ""
    words = text.split("-" if "-" in text else ",")
    numbers = [decimal(word) for word in words]
    if len(text) < 9 or any(one is None or not ROCE_PORT[0] <= one <= ROCE_PORT[1] for one in numbers) or len(set(numbers)) != len(numbers):
        return "multi_qp_udp_ports %r is not a list or range of ports of %d to %d" % ((ports,) + ROCE_PORT)
    return None if "-" in text and len(words) == 2 or len(words) == wanted else "multi_qp_udp_ports has %d ports instead of %s" % (len(words), count)


def mem_reserve(value: str) -> Fault:
    sizes = ["0"] + [str(1 << power) for power in range(1, 10)]
    return None if value.startswith("pdccl:") and value[6:] in sizes else "%r is not pdccl: and 0 or a power of 2 up to 512" % value


def route_of(line: str) -> Optional[Tuple[List[int], List[int], List[int]]]:
    """Return the numbers of destination, netmask and gateway of a line ``route_address_A_netmask_M_N=gateway_G``."""
    found = _ROUTE.match(line)
    if found is None:
        return None
    numbers = [unsigned(text)[0] % (1 << 32) for text in found.groups()]
    return numbers[:4], numbers[4:8], numbers[8:]


def packed(octets: Sequence[int]) -> Optional[int]:
    """Return the number of an IPv4 address, None if an octet is above 255."""
    return int.from_bytes(bytes(octets), "big") if max(octets) < 256 else None


def route(line: str) -> Fault:
    parts = route_of(line)
    if parts is None or any(packed(octets) is None for octets in parts):
        return "%r is not of the form route_address_<address>_netmask_<netmask>_N=gateway_<address>" % line
    return None


def gateway_of_ip_route(text: str) -> Optional[int]:
    """Return the gateway of ``add A/P via G dev ethN table T``, None if the text has another form."""
    found = _IP_ROUTE.match(text)
    return None if found is None else packed([unsigned(octet)[0] % 256 for octet in found.groups()[5:]])


def _table(text: str) -> Fault:
    found = _TABLE.search(text)
    return _between(unsigned(found.group(1))[0] if found else None, (0, MAX_TABLE), "table %s" % (found.group(1) if found else ""))


def ip_route(value: str) -> Fault:
    return "%r is not of the form add A/P via G dev ethN table T" % value if gateway_of_ip_route(value) is None else _table(value)


def ip_rule(value: str) -> Fault:
    words = value.split()
    if len(words) < 3 or words[0] != "add" or words[1] not in ("from", "to"):
        return "%r is not of the form add from|to A table T" % value
    return _table(value)


def arp(value: str) -> Fault:
    return None if re.match(r"-i\s*eth%s" % _UNSIGNED, value) else "%r is not of the form -i ethN -s <address> <MAC>" % value


def neighbour6(value: str) -> Fault:
    words = value.split()
    form = len(words) >= 5 and re.match(r"-i\s*eth%s" % _UNSIGNED, value) and words[2] == "-s" and address6(words[3]) is None
    return None if form else "%r is not of the form -i ethN -s <IPv6 address> <MAC>" % value
