"""The network between the devices of a cluster: which device has an address, and whether another device reaches it."""

from __future__ import annotations


from . import inet

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .device import Device
    from .node import Node
    from .tool import Tool

PROBE_PORT, PROBE_SECONDS = 9, 1.0


def reaches(tool: Tool, address: str) -> bool:
    """fixed: every address answers. loopback: an address of a device answers if both links are up. interfaces: the kernel decides. The sibling die never
    answers."""
    device, node = tool.device, tool.node
    if device.is_sibling(address):
        return False
    if node.fabric == "fixed":
        return True
    if not device.link_up:
        return False
    if node.fabric == "interfaces":
        return _answers(device.get("ip"), address)
    return _has_route(tool, device, address) and (address in node.config["switch_addresses"] or is_up(node, address))


def is_up(node: Node, address: str) -> bool:
    """Return True if a device of the cluster has this address and its link is up."""
    for other in node.neighbours():
        for device in other.devices():
            if address and address in (other.state.get(device, "ip"), other.state.get(device, "ip6")):
                return other.state.get(device, "link", "1") != "0"
    return False


def loses_packets(node: Node, address: str) -> bool:
    """Return True if a device of the cluster with this address has ``ping=loss1``: packets to it are lost as well."""
    if node.fabric != "loopback":
        return False
    return any(address == other.state.get(device, "ip") and other.state.get(device, "ping") == "loss1"
               for other in node.neighbours() for device in other.devices())


def _has_route(tool: Tool, device: Device, address: str) -> bool:
    """Return True if the address is in the device's network, or if the device has a gateway."""
    own, netmask = device.get("ip"), device.get("netmask", "255.255.255.0")
    if ":" in address:
        return bool(device.get("ip6"))
    if not own:
        return False
    return inet.same_network(own, address, netmask) or bool(device.get("gateway"))


def _answers(own: str, address: str) -> bool:
    """Return True if the address answers. A refused connection is an answer as well."""
    import socket

    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            if own:
                probe.bind((own, 0))
            probe.connect((address, PROBE_PORT))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return True


def socket_address(node: Node, address: str) -> str:
    """Return the address of this machine that stands for a device's address: in the fabric loopback, 10.1.2.3 is 127.1.2.3, or 127.5.2.3 with a shift of 4."""
    if node.fabric == "loopback" and "." in address:
        _first, second, rest = address.split(".", 2)
        return f"127.{(int(second) + node.config['loopback_shift']) % 256}.{rest}"
    return address
