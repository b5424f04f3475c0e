"""-mac, -mtu, -shaping."""

from __future__ import annotations


from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

MTU_RANGE = range(68, 9703)
BANDWIDTH_RANGE = range(10000, 200001)
SMALLEST_MTU_IPV6 = 1280
LOSES_IPV6 = (
    "[WARNING] The minimum limit of mtu in IPv6 protocol is 1280 bytes. If the mtu is configured to be less than 1280, "
    "it will result in the loss of IPv6 addresses and the inability to use the IPv6 protocol.\n"
    "Are you sure you want to continue?"
)
RESERVED_MACS = ("09:00:2b:00:00:04", "09:00:2b:00:00:05", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff")
RESERVED_MAC_START = "03:00:00:"


def _set_value(args: list[str], name: str) -> str:
    """Parse ``-s <name> <value>``."""
    if len(args) != 3:
        raise Refused("count")
    if args[1] != name:
        raise Refused("option")
    return args[2]


def _action(args: list[str]) -> str:
    if not args:
        raise Refused("count")
    if args[0] not in ("-g", "-s"):
        raise Refused("option")
    if args[0] == "-g" and len(args) != 1:
        raise Refused("count")
    return args[0]


def mac(tool: Tool, args: list[str]) -> None:
    if _action(args) == "-g":
        tool.device.call("mac")
        tool.info("mac addr: " + tool.device.get("mac", f"bc:1e:85:00:00:{tool.device.id:02x}"))
        return
    address = _set_value(args, "mac")
    mac_bytes(address)
    tool.require_root()
    set_mac(tool, address)
    tool.conf.write(tool.key("mac_addr"), address)
    tool.done()


def mac_bytes(text: str) -> list[int]:
    parts = text.split(":")
    if len(parts) != 6 or any(len(part) != 2 or any(digit not in "0123456789abcdefABCDEF" for digit in part) for part in parts):
        raise Refused("mac")
    return [int(part, 16) for part in parts]


def set_mac(tool: Tool, address: str) -> None:
    mac_bytes(address)
    lower = address.lower()
    if lower[1] == "1" or lower in RESERVED_MACS or lower.startswith(RESERVED_MAC_START):
        raise Refused("mac")
    tool.device.call("mac", change=True)
    tool.device.set(mac=lower)


def mtu(tool: Tool, args: list[str]) -> None:
    if _action(args) == "-g":
        tool.device.call("mtu")
        tool.info("mtu:" + tool.device.get("mtu", "1500"))
        return
    value = _set_value(args, "size")
    size = checked_mtu(value)
    if size < SMALLEST_MTU_IPV6:
        tool.confirm(LOSES_IPV6)
    tool.device.call("mtu", change=True)
    tool.device.set(mtu=value)
    if size < SMALLEST_MTU_IPV6:
        tool.device.set(ip6=None, prefix=None)
        tool.conf.delete(tool.key("IPv6address"))
        tool.conf.delete(tool.key("IPv6netmask"))
    tool.conf.write(tool.key("mtu"), value)
    tool.done()


def checked_mtu(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Refused("parameters")
    if int(text) not in MTU_RANGE:
        raise Refused("range_mtu")
    return int(text)


def shaping(tool: Tool, args: list[str]) -> None:
    device = tool.device
    if _action(args) == "-g":
        device.call("shaping")
        limit, top = device.get("bw_limit", "200000"), device.get("speed", "200000")
        tool.info(f"bw_limit[{limit} Mbps], bw_max[{top} Mbps], bw_cur[{limit} Mbps]")
        return
    value = _set_value(args, "bw_limit")
    if not value.isdigit():
        raise Refused("parameters")
    if int(value) not in BANDWIDTH_RANGE:
        raise Refused("range_bw")
    device.call("shaping", change=True)
    device.set(bw_limit=value)
    tool.conf.write(tool.key("bw_limit"), value)
    tool.done()
