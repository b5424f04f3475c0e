"""-lldp and -local_lldp: the data that the switch and the device send."""

from __future__ import annotations


from .errors import Refused
from .link import get_only

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

NEIGHBOUR = """Chassis ID TLV
\tMAC: {mac}
Port ID TLV
\tIfname: {port}
Time to Live TLV
\t120
System Name TLV
\t{system}
System Description TLV
\t{description}
System Capabilities TLV
\tSystem capabilities:  Bridge, Router
\tEnabled capabilities: Bridge, Router
Management Address TLV
\tIPv4: {management}
Maximum Frame Size TLV
\t9216
End of LLDPDU TLV"""


def lldp(tool: Tool, args: list[str]) -> None:
    get_only(args)
    device = tool.device
    device.call("lldp")
    if not device.link_up or device.is_set("lldp_none"):
        raise Refused("device")
    tool.info(
        NEIGHBOUR.format(
            mac=device.get("lldp_mac", "00:e0:fc:00:00:01"),
            port=device.get("lldp_port", f"400GE1/{1 + device.id // 2}/5:{1 + device.id % 2}"),
            system=device.get("lldp_system", "leaf-1"),
            description=device.get("lldp_description", "Stand-in switch of the simulator"),
            management=device.get("lldp_management", "192.0.2.1"),
        )
    )


def local_lldp(tool: Tool, args: list[str]) -> None:
    device = tool.device
    if args[:1] == ["-s"]:
        if len(args) != 3:
            raise Refused("count")
        if args[1] != "subtype":
            raise Refused("option")
        if args[2] not in ("mac", "ifname"):
            raise Refused("parameters")
        tool.require_root()
        device.call("local_lldp", change=True)
        device.set(lldp_subtype=args[2])
        tool.conf.write(tool.key("lldp_portid_type"), args[2])
        tool.done()
        return
    get_only(args)
    device.call("local_lldp")
    mac = device.get("mac", f"bc:1e:85:00:00:{device.id + 1:02x}")
    port = f"Ifname: eth{device.id}" if device.get("lldp_subtype") == "ifname" else f"MAC: {mac}"
    tool.info(f"Chassis ID TLV\n\tMAC: {mac}\nPort ID TLV\n\t{port}\nEnd of LLDPDU TLV")
