"""In the fabric "interfaces", device 3 is the network link npu3 of this machine if it exists: its address, its routes and its carrier."""

from __future__ import annotations

import os

from . import inet

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .device import Device
    from .node import Node

FOLLOWED = ("ip", "netmask", "gateway")
DEFAULT_NETMASK = "255.255.255.0"
FIRST_TABLE = 1000  # first of the routing tables, one per device: several links are in the same network, so rules select the link by address
IFF_UP = 1
IP = next((path for path in ("/usr/sbin/ip", "/sbin/ip") if os.path.exists(path)), "ip")


def name(device: int) -> str:
    return f"npu{device}"


def _folder(device: int) -> str:
    return f"/sys/class/net/{name(device)}"


def lines(node: Node, device: int) -> list[str]:
    """Return lines for ip -batch that configure an unconfigured link according to the device's state."""
    address, netmask, gateway = (node.state.get(device, key) for key in FOLLOWED)
    if not address:
        return []
    prefix = bin(inet.netmask(netmask or DEFAULT_NETMASK)).count("1")
    network = inet.ipv4(address) & inet.netmask(netmask or DEFAULT_NETMASK)
    table, dotted = FIRST_TABLE + device, ".".join(str(network >> shift & 255) for shift in (24, 16, 8, 0))
    found = [f"addr add {address}/{prefix} dev {name(device)}", f"rule add pref {table} from {address} lookup {table}",
             f"route replace {dotted}/{prefix} dev {name(device)} src {address} table {table}"]
    if gateway:
        found.append(f"route replace default via {gateway} dev {name(device)} src {address} table {table}")
    return found


def follow(node: Node, device: int) -> None:
    """Configure the link according to the device's state after a change. A link that is down is not touched.

    It runs under the lock of the state: of two concurrent calls, the later one reads the final state.
    """
    if node.fabric != "interfaces" or not _is_up(device):
        return
    table = FIRST_TABLE + device
    with node.state.locked():
        node.state.keys(device)  # read again
        _batch([f"addr flush dev {name(device)}", f"rule del pref {table}", f"route flush table {table}"], force=True)
        _batch(lines(node, device))


def _is_up(device: int) -> bool:
    try:
        with open(f"{_folder(device)}/flags", encoding="utf-8") as stream:
            return bool(int(stream.read(), 16) & IFF_UP)
    except OSError:
        return False


def has_carrier(device: Device) -> bool:
    """Return True if the link has a carrier, or if there is no link."""
    if device.node.fabric != "interfaces":
        return True
    try:
        with open(f"{_folder(device.id)}/operstate", encoding="utf-8") as stream:
            return stream.read().strip() not in ("down", "lowerlayerdown")
    except OSError:
        return True


def _batch(commands: list[str], force: bool = False) -> None:
    """Run ip -batch. With ``force``, removing something that does not exist is no error."""
    import subprocess

    argv = [IP, *(["-force"] if force else []), "-batch", "-"]
    subprocess.run(argv, input="\n".join(commands) + "\n", text=True, check=not force, capture_output=True, timeout=10)
