"""-ip, -gateway, -netdetect, for IPv4 and IPv6."""

from __future__ import annotations


from . import inet, superpod
from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

DEFAULT_NETMASK = "255.255.255.0"
RESERVED_A2 = [("192.168.1.0", 24), ("192.168.2.0", 24)]
RESERVED_A3_POD, RESERVED_A3_ALONE = [("192.0.0.0", 8)], [("192.168.0.0", 21)]
SMALLEST_MTU_IPV6 = 1280
SMP_BOARDS = ("0x20",)  # boards whose halves (0-3, 4-7) must not have the same address


def named(args: list[str], *names: str) -> dict[str, str]:
    """Return ``-s name value name value`` as a dict. The count is checked before the names."""
    if len(args) != 1 + 2 * len(names):
        raise Refused("count")
    found = dict(zip(args[1::2], args[2::2]))
    if any(name not in names for name in found):
        raise Refused("option")
    return found


def option(tool: Tool, args: list[str]) -> tuple[str, list[str], bool]:
    """Return the sub-option with its arguments, and whether IPv6 is meant."""
    inet6 = args[:1] == ["-inet6"]
    args = args[1:] if inet6 else args
    if not args:
        raise Refused("count")
    if args[0] not in ("-g", "-s"):
        raise Refused("option")
    if args[0] == "-g" and len(args) != 1:
        raise Refused("count")
    return args[0], args, inet6


def ip(tool: Tool, args: list[str]) -> None:
    action, args, inet6 = option(tool, args)
    if action == "-g":
        tool.device.call("ip")
        if not tool.device.get("ip6" if inet6 else "ip"):
            raise Refused("no_address")
        if inet6:
            tool.info(f"ipv6_address:{tool.device.get('ip6')}\nprefix_length:{tool.device.get('prefix', '64')}")
        else:
            tool.info(f"ipaddr:{tool.device.get('ip')}\nnetmask:{tool.device.get('netmask', DEFAULT_NETMASK)}")
        return
    if inet6:
        _set_ip6(tool, named(args, "ipv6_address", "prefix_length"))
    else:
        values = named(args, "address", "netmask")
        address, netmask = values.get("address", ""), values.get("netmask", "")
        set_ip(tool, address, netmask)
        _replay(tool, address, netmask)
        tool.conf.write(tool.key("address"), address)
        tool.conf.write(tool.key("netmask"), netmask)
    tool.done()


def set_ip(tool: Tool, address: str, netmask: str) -> None:
    """Set the device's address, as a set and a recovery do. Entries of the file for other networks are removed."""
    device = tool.device
    if device.is_set("ip_get_ret"):
        raise Refused("device")
    if len(address) >= inet.TEXT_BYTES:
        raise Refused("generic")
    _check_conflict(tool, address)
    if inet.ipv4(address) in (0, 0xFFFFFFFF):
        raise Refused("address")
    inet.netmask(netmask)
    tool.conf.require_write("conf_read")
    from .routes import drop_other_networks

    drop_other_networks(tool, address, netmask)
    device.call("ip", change=True)
    if device.is_set("ip_set_ret"):
        raise Refused("device")
    gateway = device.get("gateway")
    lost = {"gateway": None} if gateway and not inet.same_network(address, gateway, netmask) else {}
    device.set(ip=address, netmask=netmask, **lost)


def _check_conflict(tool: Tool, address: str) -> None:
    try:
        number = inet.ipv4(address)
    except Refused:
        return  # the conflict check accepts it, the next one does not
    device, get = tool.device, tool.node.state.get
    if device.is_a3:
        reserved = RESERVED_A3_ALONE if superpod.server_index(tool.node) == superpod.ALONE else RESERVED_A3_POD
        rivals = [device.id ^ 1]
    else:
        reserved = RESERVED_A2
        half = range(device.id // 4 * 4, device.id // 4 * 4 + 4)
        rivals = [other for other in half if other != device.id] if device.get("board_id") in SMP_BOARDS else []
    taken = any(get(other, "ip") and inet.ipv4(get(other, "ip")) == number for other in rivals)
    if taken or any(inet.within(address, network, prefix) for network, prefix in reserved):
        raise Refused("conflict")


def _replay(tool: Tool, address: str, netmask: str) -> None:
    """Set gateway, routes and gratuitous ARP of the file on the device again, after a new address."""
    gateway = tool.conf.read(tool.key("gateway"))
    if gateway is not None and not _is_inside(gateway, address, netmask):
        tool.conf.delete(tool.key("gateway"))
    recover_gateway(tool)
    from .routes import recover_send_arp

    recover_send_arp(tool)


def _is_inside(gateway: str, address: str, netmask: str) -> bool:
    try:
        return inet.same_network(address, gateway, netmask)
    except Refused:
        return False  # the file may contain any text


def recover_gateway(tool: Tool) -> None:
    gateway = tool.conf.read(tool.key("gateway"))
    if gateway is not None and not tool.conf.has(tool.key("udhcpc_enable")):
        inet.ipv4(gateway)
        tool.device.call("gateway", change=True)
        tool.device.set(gateway=gateway)


def _set_ip6(tool: Tool, values: dict[str, str]) -> None:
    address, prefix = inet.ipv6(values.get("ipv6_address", "")), values.get("prefix_length", "")
    if not (prefix.isdigit() and int(prefix) <= 128):
        raise Refused("parameters")
    if tool.device.number("mtu", 1500) < SMALLEST_MTU_IPV6:
        raise Refused("mtu_ipv6")
    tool.device.call("ip", change=True)
    tool.device.set(ip6=address, prefix=prefix)
    gateway = tool.conf.read(tool.key("IPv6gateway"))
    if gateway is not None and not inet.same_network6(address, gateway, int(prefix)):
        tool.conf.delete(tool.key("IPv6gateway"))
    elif gateway is not None:
        tool.device.set(gateway6=inet.ipv6(gateway))
    tool.conf.write(tool.key("IPv6address"), values["ipv6_address"])
    tool.conf.write(tool.key("IPv6netmask"), prefix)


def gateway(tool: Tool, args: list[str]) -> None:
    action, args, inet6 = option(tool, args)
    device = tool.device
    if action == "-g":
        device.call("gateway")
        if not device.get("gateway6" if inet6 else "gateway"):
            raise Refused("no_gateway")
        tool.info(f"gateway:{device.get('gateway6')}" if inet6 else f"default gateway:{device.get('gateway')}, Iface:eth{device.id}")
        return
    tool.require_root()
    if inet6:
        _set_gateway6(tool, named(args, "ipv6_gateway")["ipv6_gateway"])
    else:
        _set_gateway(tool, named(args, "gateway")["gateway"])
    tool.done()


def _set_gateway(tool: Tool, address: str) -> None:
    device, conf, key = tool.device, tool.conf, tool.key("gateway")
    device.call("gateway", change=True)
    if not device.get("ip"):
        raise Refused("gateway_no_ip")
    if not inet.same_network(device.get("ip"), address, device.get("netmask", DEFAULT_NETMASK)):
        raise Refused("segment")
    dhcp = conf.has(tool.key("udhcpc_enable"))
    before, written = device.get("gateway"), conf.read(key)
    if written is not None:
        inet.ipv4(written)
    if written is not None and written != before:
        conf.delete(key)  # the file differs from the device: restore the file's state first
    if before and written != before and not dhcp:
        conf.write(key, before)
    device.set(gateway=address)
    if before and before != address:
        conf.delete(key)
    if not dhcp:
        conf.write(key, address)


def _set_gateway6(tool: Tool, address: str) -> None:
    device = tool.device
    inet.ipv6(address)
    device.call("gateway", change=True)
    if not device.get("ip6"):
        raise Refused("gateway_no_ip")
    if not inet.same_network6(device.get("ip6"), address, device.number("prefix", 64)):
        raise Refused("segment")
    device.set(gateway6=inet.ipv6(address))
    tool.conf.write(tool.key("IPv6gateway"), address)


def netdetect(tool: Tool, args: list[str]) -> None:
    action, args, inet6 = option(tool, args)
    if action == "-g":
        tool.device.call("netdetect")
        tool.info("netdetect addr: " + (tool.device.get("netdetect6", "::") if inet6 else tool.device.get("netdetect", "0.0.0.0")))
        return
    if inet6:
        address = named(args, "ipv6_address")["ipv6_address"]
        inet.ipv6(address)
        tool.device.call("netdetect", change=True)
        tool.device.set(netdetect6=inet.ipv6(address))
        tool.conf.write(tool.key("IPv6netdetect"), address)
    else:
        address = named(args, "address")["address"]
        set_netdetect(tool, address)
        tool.conf.write(tool.key("netdetect"), address)
    tool.done()


def set_netdetect(tool: Tool, address: str) -> None:
    if inet.ipv4(address) == 0xFFFFFFFF:
        raise Refused("broadcast")
    tool.device.call("netdetect", change=True)
    tool.device.set(netdetect=address)
