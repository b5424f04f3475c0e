"""The values of hccn.conf that a recovery takes, from the recorded runs of the real front end."""

from __future__ import annotations

import re

from . import inet
from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from collections.abc import Callable

NUMBER = r"[ \t\n\v\f\r]*[+-]?[0-9]+"
DOTTED = r"\.".join([NUMBER] * 4)
MAX_PFC_QUEUES = 4
BUFFER_BYTES, SMALLEST_SIZE, WATERLINE = 1797120, 6272, 0xFFFF * 128
PORTS = range(4097, 65536)
MAX_TABLE = 255


def number(low: int, high: int, empty: bool = False) -> Callable[[str], bool]:
    """A number as strtol reads it: blanks and a sign in front, nothing behind."""
    return lambda value: value == "" and empty or bool(re.fullmatch(NUMBER, value)) and low <= int(value) <= high


def digits(low: int, high: int) -> Callable[[str], bool]:
    return lambda value: value.isascii() and value.isdigit() and low <= int(value) <= high


def eight(top: int) -> Callable[[str], bool]:
    return lambda value: bool(re.fullmatch(",".join([f"[0-{top}]"] * 8), value))


def bitmap(value: str) -> bool:
    return eight(1)(value) and value.count("1") <= MAX_PFC_QUEUES


def flag(value: str) -> bool:
    return bool(re.fullmatch(NUMBER, value)) and int(value) % 2**32 in (0, 1)


def dscp_tc(value: str) -> bool:
    """Entries of one character are passed over."""
    entries = [entry for entry in value.split(",") if len(entry) > 1]
    found = [re.match(f"({NUMBER}):({NUMBER})", entry) for entry in entries if len(entry) <= 4]
    pairs = [(int(one.group(1)) % 256, int(one.group(2)) % 256) for one in found if one]
    return len(pairs) == len(entries) and all(dscp < 64 and tc < 4 for dscp, tc in pairs)


def bw_limit(value: str) -> bool:
    """A longer text is passed over."""
    return len(value) > 6 or digits(10000, 200000)(value)


def roce_port(value: str) -> bool:
    return value.startswith("-1") or value in ("0000", "00000") or len(value) >= 4 and digits(PORTS.start, PORTS.stop - 1)(value)


def cnp_dscp(value: str) -> bool:
    return value == "" or bool(re.fullmatch(NUMBER, value)) and int(value) % 256 < 64


def tc_cfg(value: str) -> bool:
    words = value.split(" ")
    if len(words) < 4 or (words[0], words[2]) != ("size", "waterline") or not all(re.fullmatch(r"\d+(,\d+){0,7}", word) for word in (words[1], words[3])):
        return False
    sizes, lines = ([int(text) for text in word.split(",")] for word in (words[1], words[3]))
    fits = all(size == 0 or SMALLEST_SIZE <= size <= BUFFER_BYTES for size in sizes) and sum(sizes) <= BUFFER_BYTES
    return fits and all(line <= min(size, WATERLINE) for size, line in zip(sizes, lines))


def shares(share: str) -> Callable[[str], bool]:
    """``class:share`` for some of the four classes, each at most once."""
    def taken(value: str) -> bool:
        classes = [entry[:1] for entry in value.split(",")]
        return all(re.fullmatch(f"[0-3]:({share})", entry) for entry in value.split(",")) and len(set(classes)) == len(classes)
    return taken


def multi_qp(count: str | None, ports: str | None) -> bool:
    words = re.split("[-,]", ports or "")
    numbers = [int(word) for word in words if word.isascii() and word.isdigit() and int(word) in PORTS]
    if not re.fullmatch(r"\d{1,2}", count or "") or not 2 <= int(count or "") <= 32 or len(set(numbers)) != len(words) or len(ports or "") < 9:
        return False
    if "-" in (ports or "") and "," in (ports or ""):
        return False
    return "-" in (ports or "") and len(words) == 2 or len(words) == int(count or "")


def arp(value: str) -> bool:
    return bool(re.match(rf"-i\s*eth{NUMBER}", value))


def neighbour(value: str) -> bool:
    words = value.split()
    return len(words) >= 5 and arp(value) and words[2] == "-s" and _is_ipv6(words[3])


def _is_ipv6(text: str) -> bool:
    try:
        return bool(inet.ipv6(text))
    except Refused:
        return False


def _table(value: str) -> bool:
    found = re.search(rf"\btable\s*({NUMBER})", value)
    return found is not None and 0 <= int(found.group(1)) <= MAX_TABLE


def ip_rule(value: str) -> bool:
    return bool(re.match(r"\s*add\s+(from|to)\s+\S", value)) and _table(value)


def hop_of_ip_route(value: str) -> str | None:
    """Return the next hop of ``add A/P via G dev ethN table T``. Only the low byte of each number counts."""
    found = re.match(rf"add\s*{DOTTED}/{NUMBER}\s*via\s*({DOTTED})", value)
    return found and ".".join(str(int(part) % 256) for part in found.group(1).split("."))


def ip_route(value: str) -> bool:
    return hop_of_ip_route(value) is not None and _table(value)


def route(line: str) -> list[str] | None:
    """Return address, netmask and next hop of ``route_address_A_netmask_M_N=gateway_G``."""
    found = re.match(rf"route_address_({DOTTED})_netmask_({DOTTED})_{NUMBER}=gateway_({DOTTED})", line)
    return found and [".".join(str(int(part) % 2**32) for part in text.split(".")) for text in found.groups()]


# key: size of the tool's buffer, rule of the value; in the order of the recovery
SENT: dict[str, tuple[int, Callable[[str], bool]]] = {
    "dscp_tc": (321, dscp_tc),
    "static_speed": (7, lambda value: value in ("100000", "200000")),
    "bw_limit": (384, bw_limit),
    "roce_port": (6, roce_port),
    "bitmap": (16, bitmap),
    "tc_cfg": (351, tc_cfg),
    "prio_tc": (16, eight(3)),
    "dcqcn_cnp_dscp": (30, cnp_dscp),
}
LATER: dict[str, tuple[int, Callable[[str], bool]]] = {
    "scdr_reset_delay_time": (10, number(0, 60, empty=True)),
    "tsa": (128, shares("ets|strict")),
    "tcbw": (128, shares(r"0*(100|\d\d?)")),
}
