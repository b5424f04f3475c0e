"""-vnic, -process, -version, -udhcpc."""

from __future__ import annotations


from . import superpod
from .errors import Refused
from .link import get_only

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool


def vnic(tool: Tool, args: list[str]) -> None:
    """-vnic uses another device call than the rest: busy is a plain failure here."""
    get_only(args)
    device = tool.device
    try:
        device.call("vnic")
    except Refused:
        raise Refused("device") from None
    tool.info("vnic link status: " + ("UP" if device.get("vnic_link", "1") == "1" else "DOWN"))
    usual = superpod.vnic_address(superpod.server_index(tool.node), device.id) if device.is_a3 else f"192.168.1.{superpod.VNIC_LAST_BYTE - device.id}"
    tool.info(f"vnic ipaddr: {device.get('vnic_ip', usual)}\nvnic netmask: 255.255.255.0")


def process(tool: Tool, args: list[str]) -> None:
    get_only(args)
    tool.device.call("process")
    tool.info("device hccp process: " + ("exist" if tool.device.get("hccp", "1") == "1" else "not exist"))


def version(tool: Tool, args: list[str]) -> None:
    get_only(args)
    tool.device.call("version")
    tool.info(f"Network Driver Version:    {tool.device.get('driver_version', '1.0.4.0')}")
    tool.info(f"Network Firmware Version:  {tool.device.get('firmware_version', '7.1.0.11.220')}")


def udhcpc(tool: Tool, args: list[str]) -> None:
    """No fabric has a DHCP server."""
    if len(args) != 1:
        raise Refused("count")
    if args[0] not in ("-a", "-r"):
        raise Refused("option")
    tool.info(f"device:{tool.device.id}:")
    raise Refused("device")
