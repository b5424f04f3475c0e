"""-cfg: set the devices according to hccn.conf, as at boot, and the status of the last recovery."""

from __future__ import annotations


from . import address, inet
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
XSFP_DEFAULTS = {"xsfp_reset_max_times": "0", "xsfp_reset_wait_times": "7"}


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
    """Restore every item in order with four attempts each. Without an address, the other items of IPv4 are skipped."""
    tool.device.set(cfg_status=START)
    results = [_attempt(tool, item) for item in COMMON]
    results.append(_attempt(tool, _ip))
    if results[-1]:
        results += [_attempt(tool, item) for item in IPV4]
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


def _limits(tool: Tool) -> None:
    for key in ("bw_limit", "roce_port"):
        value = tool.conf.read(tool.key(key))
        if value is not None:
            if not value.lstrip("-").isdigit():
                raise Refused("parameters")
            tool.device.call(key, change=True)
            tool.device.set(**{key: value})


def _xsfp(tool: Tool) -> None:
    """Only on boards of the type A+K: read the values from the device and write the missing ones to the file."""
    if tool.device.get("board", "A+K") != "A+K":
        return
    tool.device.call("xsfp")
    for name, value in XSFP_DEFAULTS.items():
        if not tool.conf.has(tool.key(name)):
            tool.conf.write(tool.key(name), value)


def _tls(tool: Tool) -> None:
    from .tls import set_switch

    value = tool.conf.read(tool.key("tls_enable"))
    if value is None:
        return
    if value not in ("0", "1"):
        raise Refused("enable_value")
    tool.conf.require_write("conf_write")
    set_switch(tool, value, warn=False)


def _ip(tool: Tool) -> None:
    own, netmask = tool.conf.read(tool.key("address")), tool.conf.read(tool.key("netmask"))
    if own is not None and netmask is not None:
        address.set_ip(tool, own, netmask)


def _netdetect(tool: Tool) -> None:
    value = tool.conf.read(tool.key("netdetect"))
    if value is not None:
        address.set_netdetect(tool, value)


def _rules(tool: Tool) -> None:
    tool.device.call("ip_rule")


def _send_arp(tool: Tool) -> None:
    from .routes import recover_send_arp

    recover_send_arp(tool)


def _ip6(tool: Tool) -> None:
    own, prefix = tool.conf.read(tool.key("IPv6address")), tool.conf.read(tool.key("IPv6netmask"))
    if own is not None and prefix is not None:
        tool.device.call("ip", change=True)
        tool.device.set(ip6=inet.ipv6(own), prefix=prefix)


def _gateway6(tool: Tool) -> None:
    for key, name in (("IPv6gateway", "gateway6"), ("IPv6netdetect", "netdetect6")):
        value = tool.conf.read(tool.key(key))
        if value is not None:
            tool.device.call(name, change=True)
            tool.device.set(**{name: inet.ipv6(value)})


COMMON = (_mac, _mtu, _limits, _xsfp, _tls)
IPV4 = (_netdetect, address.recover_gateway, _rules, _send_arp)
IPV6 = (_ip6, _gateway6)
