"""-dscp_to_tc, -pfc, -prio_tc, -udp."""

from __future__ import annotations


from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

DSCP_RANGE, TC_RANGE, PORT_RANGE = range(64), range(4), range(4097, 65536)
DSCP_PER_TC = 16
MAX_PFC_QUEUES = 4
EIGHT_ZEROS = "0,0,0,0,0,0,0,0"


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5):
        raise Refused("parameters")
    return int(text)


def _dscp(text: str) -> int:
    if _number(text) not in DSCP_RANGE:
        raise Refused("range_dscp")
    return int(text)


def dscp_to_tc(tool: Tool, args: list[str]) -> None:
    if args == ["-g"] or args[:2] == ["-g", "dscp"] and len(args) == 3:
        wanted = [_dscp(args[2])] if len(args) == 3 else list(DSCP_RANGE)
        tool.device.call("dscp")
        tool.info("dscp      tc")
        for dscp in wanted:
            tool.info(f"{dscp:>4}{tool.device.get(f'dscp.{dscp}', str(dscp // DSCP_PER_TC)):>8}")
        return
    if args[:1] != ["-s"]:
        raise Refused("option" if args else "count")
    if len(args) != 5:
        raise Refused("count")
    if (args[1], args[3]) != ("dscp", "tc"):
        raise Refused("option")
    _set_dscp(tool, _dscp(args[2]), _number(args[4]))
    tool.done()


def _set_dscp(tool: Tool, dscp: int, tc: int) -> None:
    if tc not in TC_RANGE:
        raise Refused("range_tc")
    tool.device.call("dscp", change=True)
    tool.device.set(**{f"dscp.{dscp}": str(tc)})
    written = tool.conf.read(tool.key("dscp_tc")) or ""
    entries = dict(entry.split(":") for entry in written.split(",") if ":" in entry)
    entries[str(dscp)] = str(tc)
    tool.conf.write(tool.key("dscp_tc"), "".join(f"{name}:{value}," for name, value in entries.items()))


def _eight(args: list[str], name: str, top: int) -> str:
    if len(args) != 3:
        raise Refused("count")
    if args[1] != name:
        raise Refused("option")
    values = args[2].split(",")
    if len(values) != 8 or any(not value.isdigit() or int(value) > top for value in values):
        raise Refused("parameters")
    return args[2]


def pfc(tool: Tool, args: list[str]) -> None:
    if args == ["-g"]:
        tool.device.call("pfc")
        enabled = tool.device.get("bitmap", EIGHT_ZEROS).replace(",", " ")
        tool.info(f"PFC configuration:\npriority   0 1 2 3 4 5 6 7\nenabled    {enabled}")
        return
    if args[:1] != ["-s"]:
        raise Refused("option" if args else "count")
    bitmap = _eight(args, "bitmap", 1)
    tool.require_root()
    if bitmap.count("1") > MAX_PFC_QUEUES:
        raise Refused("pfc_count")
    tool.device.call("pfc", change=True)
    tool.device.set(bitmap=bitmap)
    tool.conf.write(tool.key("bitmap"), bitmap)
    tool.done()


def prio_tc(tool: Tool, args: list[str]) -> None:
    if args == ["-g"]:
        tool.device.call("prio_tc")
        classes = tool.device.get("prio_tc", EIGHT_ZEROS).replace(",", " ")
        tool.info(f"Priority mapping:\npriority   0 1 2 3 4 5 6 7\nTC         {classes}")
        return
    if args[:1] != ["-s"]:
        raise Refused("option" if args else "count")
    classes = _eight(args, "map", max(TC_RANGE))
    tool.require_root()
    tool.device.call("prio_tc", change=True)
    tool.device.set(prio_tc=classes)
    tool.conf.write(tool.key("prio_tc"), classes)
    tool.done()


def udp(tool: Tool, args: list[str]) -> None:
    device = tool.device
    if args[:1] == ["-g"]:
        device.call("udp")
        port = device.get("roce_port", "-1")
        tool.info("udp_port:auto\nstatus:auto" if port == "-1" else f"udp_port:{port}\nstatus:custom")
        return
    if args[:1] == ["-c"]:
        device.call("udp", change=True)
        device.set(roce_port=None)
        tool.conf.delete(tool.key("roce_port"))
    elif args == ["-s", "auto"]:
        _set_port(tool, "-1")
    elif args[:2] == ["-s", "port"] and len(args) == 3:
        if _number(args[2]) not in PORT_RANGE:
            raise Refused("parameters")
        _set_port(tool, args[2])
    elif args[:2] == ["-s", "multi_qp"] and len(args) == 6:
        device.call("udp", change=True)
        device.set(multi_qp=" ".join(args[2:]))
    else:
        raise Refused("option" if args else "count")
    tool.done()


def _set_port(tool: Tool, port: str) -> None:
    tool.device.call("udp", change=True)
    tool.device.set(roce_port=port)
    tool.conf.write(tool.key("roce_port"), port)
