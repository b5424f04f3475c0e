"""-arp, -route, -ip_rule, -ip_route, -send_arp: keys that may have several lines in hccn.conf."""

from __future__ import annotations


from . import inet, recovery_values as values
from .errors import Refused
from .port import mac_bytes

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

ARP_ENTRY = "? (10.0.0.1) at 00:11:22:33:44:55 [ether]  on eth{id}\n"
ROUTE_HEAD = "Destination     Gateway         Genmask         Flags Metric Ref    Use Iface"
SEND_ARP_LENGTH = 5
ROUTE_ROW = "{:<15} {:<15} {:<15} {:<5} 0      0        0 {}"


def pairs(args: list[str], names: tuple[str, ...]) -> dict[str, str]:
    if len(args) != 2 * len(names):
        raise Refused("count")
    found = dict(zip(args[::2], args[1::2]))
    if set(found) != set(names):
        raise Refused("option")
    return found


def _first(args: list[str], allowed: tuple[str, ...]) -> str:
    if not args:
        raise Refused("count")
    if args[0] not in allowed:
        raise Refused("option")
    return args[0]


def arp(tool: Tool, args: list[str]) -> None:
    action = _first(args, ("-g", "-a", "-d"))
    if action == "-g":
        tool.device.call("arp")
        tool.info("arp table:\n" + ARP_ENTRY.format(id=tool.device.id))
        return
    given = pairs(args[1:], ("dev", "ip", "mac") if action == "-a" else ("dev", "ip"))
    inet.ipv4(given["ip"])
    entry = f"{tool.key('arp')}=-i {given['dev']} -s {given['ip']} "
    if action == "-a":
        mac_bytes(given["mac"])
    tool.device.call("arp", change=True)
    tool.conf.delete_lines(lambda line: entry in line)  # also in comments
    if action == "-a":
        tool.conf.append(entry + given["mac"])
    tool.done()


def _drop(tool: Tool, start: str) -> int:
    return tool.conf.delete_lines(lambda line: line.startswith(start))


def route(tool: Tool, args: list[str]) -> None:
    action = _first(args, ("-g", "-a", "-d", "-c"))
    if action == "-g":
        tool.device.call("route")
        _show_routes(tool)
        return
    tool.device.call("route", change=True)
    if action == "-c":
        tool.conf.delete_lines(lambda line: _is_route(tool, line))
        tool.done()
        return
    values = pairs(args[1:], ("address", "netmask", "gateway") if action == "-a" else ("address", "netmask"))
    if not inet.ipv4(values["address"]) and not inet.netmask(values["netmask"]):
        raise Refused("default_route")
    name = f"{tool.key('route_address_' + values['address'] + '_netmask_' + values['netmask'])}"
    if action == "-a":
        inet.ipv4(values["gateway"])
        if tool.conf.has(name):
            raise Refused("route_exists")
        tool.conf.append(f"{name}=gateway_{values['gateway']}")
    elif not _drop(tool, name + "="):
        raise Refused("route_missing")
    tool.done()


def _is_route(tool: Tool, line: str) -> bool:
    name, _equals, _value = line.partition("=")
    return name.startswith("route_address_") and name.endswith(f"_{tool.device.id}")


def _show_routes(tool: Tool) -> None:
    device, port = tool.device, f"eth{tool.device.id}"
    tool.info("Routing table:\n" + ROUTE_HEAD)
    if device.get("gateway"):
        tool.info(ROUTE_ROW.format("default", device.get("gateway"), "0.0.0.0", "UG", port))
    if device.get("ip"):
        mask = device.get("netmask", "255.255.255.0")
        network = inet.ipv4(device.get("ip")) & inet.ipv4(mask)
        tool.info(ROUTE_ROW.format(".".join(str(network >> shift & 255) for shift in (24, 16, 8, 0)), "*", mask, "U", port))
    tool.info(ROUTE_ROW.format("127.0.0.1", "*", "255.255.255.255", "UH", "lo"))


def ip_rule(tool: Tool, args: list[str]) -> None:
    action = _first(args, ("-g", "-a", "-d"))
    tool.device.call("ip_rule", change=action != "-g")
    if action == "-g":
        tool.info("ip rule:\n" + "\n".join(_lines(tool, "ip_rule")))
        return
    values = pairs(args[1:], ("dir", "ip", "table") if action == "-a" else ("dir", "ip"))
    if values["dir"] not in ("from", "to"):
        raise Refused("parameters")
    inet.ipv4(values["ip"])
    entry = f"{tool.key('ip_rule')}=add {values['dir']} {values['ip']} "
    _drop(tool, entry)
    if action == "-a":
        tool.conf.append(f"{entry}table {values['table']}")
    tool.done()


def ip_route(tool: Tool, args: list[str]) -> None:
    action = _first(args, ("-g", "-a", "-d"))
    tool.device.call("ip_route", change=action != "-g")
    if action == "-g":
        tool.info("ip route:\n" + "\n".join(_lines(tool, "ip_route")))
        return
    values = pairs(args[1:], ("ip", "ip_mask", "via", "dev", "table") if action == "-a" else ("ip", "ip_mask", "table"))
    inet.ipv4(values["ip"])
    entry = f"{tool.key('ip_route')}=add {values['ip']}/{values['ip_mask']} "
    _drop(tool, entry)
    if action == "-a":
        inet.ipv4(values["via"])
        tool.conf.append(f"{entry}via {values['via']} dev {values['dev']} table {values['table']}")
    tool.done()


def _lines(tool: Tool, name: str) -> list[str]:
    start = tool.key(name) + "="
    return [line[len(start) :] for line in tool.conf.lines() if line.startswith(start)]


def drop_other_networks(tool: Tool, address: str, netmask: str) -> None:
    """A new address removes the routes whose next hop is outside its network. A line that cannot be read as a route is refused."""
    start = tool.key("ip_route") + "="
    gone = []
    for line in tool.conf.lines():
        found = values.route(line) if line.startswith("route") else None
        if line.startswith("route") and found is None:
            raise Refused("parameters")
        hop = found[2] if found and f"_{tool.device.id}=" in line else None
        if start in line:
            hop = values.hop_of_ip_route(line[len(start) :])
            if hop is None:
                raise Refused("parameters")
        if hop and not inet.same_network(address, hop, netmask):
            gone.append(line)
    if gone:
        tool.conf.delete_lines(lambda line: line in gone)


def send_arp(tool: Tool, args: list[str]) -> None:
    action = _first(args, ("-g", "-s"))
    device = tool.device
    if action == "-g":
        device.call("send_arp")
        tool.info("The setting of the gratuitous arp:")
        tool.info("current enable status: " + ("enable" if device.is_set("send_arp") else "disable"))
        tool.info(f"gratuitous arp period: {device.get('send_arp_period', '1')}")
        return
    if len(args) != 3:
        raise Refused("count")
    limits = {"enable": ("send_arp", "send_arp_status", range(2)), "period": ("send_arp_period", "send_arp_period", range(1, 3601))}
    if args[1] not in limits:
        raise Refused("option")
    name, key, allowed = limits[args[1]]
    tool.require_root()
    device.call("send_arp", change=True)
    if not device.get("ip"):
        raise Refused("no_address")
    if not args[2].isdigit() or int(args[2]) not in allowed:
        raise Refused("parameters")
    device.set(**{name: args[2]})
    tool.conf.write(tool.key(key), args[2])
    tool.done()


def recover_send_arp(tool: Tool) -> None:
    """Set it on the device again, and move it to the end of the file."""
    if tool.conf.has(tool.key("udhcpc_enable")):
        return
    rules = (("send_arp_period", "send_arp_period", values.number(1, 3600)), ("send_arp_status", "send_arp", lambda value: value in ("0", "1")))
    for key, name, taken in rules:
        value = tool.conf.read(tool.key(key))
        if value is not None:
            if len(value) > SEND_ARP_LENGTH or not taken(value):
                raise Refused("parameters")
            tool.device.call("send_arp", change=True)
            if not tool.device.get("ip"):
                raise Refused("no_address")
            tool.device.set(**{name: value})
            tool.conf.write(tool.key(key), value)


def recover_rules(tool: Tool) -> None:
    start = tool.key("ip_rule") + "="
    for line in tool.conf.lines():
        if start in line and not (line.startswith(start) and values.ip_rule(line[len(start) :])):
            raise Refused("parameters")
    tool.device.call("ip_rule")


def recover_arp(tool: Tool) -> None:
    """Only the first line is sent, and none if its value is empty."""
    value = tool.conf.read(tool.key("arp"))
    if value and not tool.conf.has(tool.key("udhcpc_enable")):
        if not values.arp(value):
            raise Refused("parameters")
        tool.device.call("arp", change=True)


def recover_ip_routes(tool: Tool) -> None:
    start = tool.key("ip_route") + "="
    if not all(values.ip_route(line.partition("=")[2]) for line in tool.conf.lines() if start in line):
        raise Refused("parameters")
