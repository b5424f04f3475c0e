"""-cfg: set the devices according to hccn.conf, as at boot, and the status of the last recovery."""

from __future__ import annotations

import re

from . import address, inet, recovery_values as values, routes
from .device import Device
from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from collections.abc import Callable

    from .tool import Tool

FAILED = "Recovery failed. Check '/var/log/hccn_tool/hccn_config.log' for details."
STATUS = ("NONE", "START", "FAIL", "SUCCESS", "FAULT")
START, FAIL, SUCCESS = "1", "2", "3"
ATTEMPTS = 4
MTU_BYTES = 5  # four digits and a terminator
DHCP_BYTES = 4
TLS_BYTES = 30
XSFP_BYTES = 3
XSFP = {"xsfp_reset_max_times": ("0", 30), "xsfp_reset_wait_times": ("7", 40)}  # default and maximum
AX_BOARDS = ("0x50",)
BW_LIMIT_LENGTH = 6  # a longer text is passed over


def cfg(tool: Tool, args: list[str]) -> None:
    if not args or len(args) > 1:
        raise Refused("count")
    if args[0] == "recovery":
        _recover_all(tool) if tool.attribute == "-a" else _recover_one(tool)
        tool.done()
    elif args[0] == "status" and tool.attribute == "-i":
        _status(tool)
    else:
        raise Refused("option")


def _status(tool: Tool) -> None:
    try:
        tool.device.call("cfg")
    except Refused:
        tool.info(FAILED)
        raise
    tool.info("config status:" + STATUS[tool.device.number("cfg_status")])


def _require_conf(tool: Tool) -> None:
    try:
        tool.conf.has("")
    except Refused:
        tool.info(FAILED)
        raise


def _recover_one(tool: Tool) -> None:
    _require_conf(tool)
    if not recover(tool):
        tool.info(FAILED)
        raise Refused("generic")


def _recover_all(tool: Tool) -> None:
    _require_conf(tool)
    failed = False
    for device in tool.node.devices():
        tool.device = Device(tool.node, device)
        if recover(tool):
            tool.info(f"dev:{device} recovery success")
        else:
            tool.error(f"dev:{device} recovery fail")
            failed = True
    if failed:
        tool.info(FAILED)
        raise Refused("device")


def recover(tool: Tool) -> bool:
    """Restore every item in order with four attempts each. If an address fails, the other items of its protocol are skipped."""
    tool.device.set(cfg_status=START)
    results = [_attempt(tool, item) for item in COMMON]
    results.append(_attempt(tool, _ip))
    if results[-1]:
        results += [_attempt(tool, item) for item in IPV4]
    results.append(_attempt(tool, _ip6))
    if results[-1]:
        results += [_attempt(tool, item) for item in IPV6]
    tool.device.set(cfg_status=SUCCESS if all(results) else FAIL)
    return all(results)


def _attempt(tool: Tool, item: Callable[[Tool], None]) -> bool:
    for attempt in range(ATTEMPTS):
        try:
            item(tool)
            return True
        except Refused:
            if attempt < ATTEMPTS - 1:
                tool.clock.sleep(tool.node.seconds("retry_seconds"))
    return False


def _dhcp(tool: Tool) -> None:
    """No fabric has a DHCP server, so only the length of the values matters."""
    for key in ("udhcpc_enable", "udhcpc_ipv6_enable"):
        tool.conf.read(tool.key(key), DHCP_BYTES)


def _mac(tool: Tool) -> None:
    from .port import set_mac

    value = tool.conf.read(tool.key("mac_addr"))
    if value is not None:
        set_mac(tool, value)


def _mtu(tool: Tool) -> None:
    from .port import checked_mtu

    value = tool.conf.read(tool.key("mtu"), MTU_BYTES)
    if value is not None:
        checked_mtu(value)
        tool.device.call("mtu", change=True)
        tool.device.set(mtu=value)


def _sent(key: str, size: int, taken: Callable[[str], bool]) -> Callable[[Tool], None]:
    """Return the item that sends the value of a key to the device."""

    def item(tool: Tool) -> None:
        value = tool.conf.read(tool.key(key), size)
        if value is None:
            return
        if not taken(value):
            if key == "roce_port" and value.isdigit():
                tool.info(f"udp_port:{value} is out of range, expect 4097- 65535")
            raise Refused("parameters")
        if key != "bw_limit" or len(value) <= BW_LIMIT_LENGTH:
            tool.device.call(key, change=True)
            tool.device.set(**{key: value})

    return item


def _udp_ports(tool: Tool) -> None:
    mode, count, ports, listen = (tool.conf.read(tool.key(key)) for key in ("udp_port_mode", "multi_qp_count", "multi_qp_udp_ports", "nslb_dp_listen_port"))
    if mode is None:
        return
    if not (mode == "multi_qp" and values.multi_qp(count, ports) or mode == "code:nslb_dp" and values.digits(10000, 57999)(listen or "")):
        raise Refused("parameters")
    tool.device.call("udp", change=True)


def _xsfp(tool: Tool) -> None:
    """Only on boards of the type A+K: send the values, and write them to the end of the file."""
    device = tool.device
    if device.is_a3 or device.get("board", "A+K") != "A+K" or device.get("board_id") in AX_BOARDS:
        return
    device.call("xsfp")
    for name, (default, top) in XSFP.items():
        value = tool.conf.read(tool.key(name), XSFP_BYTES)
        if value is not None and not values.number(0, top, empty=True)(value):
            raise Refused("parameters")
        tool.conf.write(tool.key(name), default if value is None else str(int(value or 0)))


def _tls(tool: Tool) -> None:
    from .tls import set_switch

    value = tool.conf.read(tool.key("tls_enable"))
    if value is None:
        return
    if len(value) >= TLS_BYTES or not values.flag(value):
        raise Refused("enable_value")
    tool.conf.require_write("conf_write")
    set_switch(tool, str(int(value) % 2**32), warn=False)


def _ip(tool: Tool) -> None:
    own, netmask = tool.conf.read(tool.key("address")), tool.conf.read(tool.key("netmask"))
    if own is not None and netmask is not None:
        address.set_ip(tool, own, netmask)


def _netdetect(tool: Tool) -> None:
    value = tool.conf.read(tool.key("netdetect"))
    if value is not None:
        address.set_netdetect(tool, value)


def _ip6(tool: Tool) -> None:
    own, prefix = tool.conf.read(tool.key("IPv6address")), tool.conf.read(tool.key("IPv6netmask"))
    if own is None or prefix is None:
        return
    address6, length = inet.ipv6(own), re.match(values.NUMBER, prefix)
    bits = int(length.group()) if length else 0
    if not 0 <= bits <= 128 or tool.device.number("mtu", 1500) < address.SMALLEST_MTU_IPV6:
        raise Refused("parameters")
    if any(line.startswith("IPv6route") and not re.search("IPv6route_address_.*/.*next_address_", line) for line in tool.conf.lines()):
        raise Refused("parameters")
    tool.device.call("ip", change=True)
    tool.device.set(ip6=address6, prefix=str(bits))


def _address6(key: str, name: str) -> Callable[[Tool], None]:
    def item(tool: Tool) -> None:
        value = tool.conf.read(tool.key(key))
        if value is not None:
            address6 = inet.ipv6(value)
            tool.device.call(name, change=True)
            tool.device.set(**{name: address6})

    return item


def _neighbour(tool: Tool) -> None:
    value = tool.conf.read(tool.key("IPv6neigh"))
    if value is not None and not values.neighbour(value):
        raise Refused("parameters")


COMMON = (_dhcp, _mac, _mtu, *(_sent(key, *rule) for key, rule in values.SENT.items()), _xsfp, _tls,
          *(_sent(key, *rule) for key, rule in values.LATER.items()), _udp_ports)
IPV4 = (_netdetect, address.recover_gateway, routes.recover_rules, routes.recover_arp, routes.recover_ip_routes, routes.recover_send_arp)
IPV6 = (_address6("IPv6netdetect", "netdetect6"), _address6("IPv6gateway", "gateway6"), _neighbour)
