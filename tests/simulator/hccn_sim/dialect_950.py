"""hccn_tool for 950: ``-g|-s -command -i device [-u udie -p port]``. Only commands of its manual are supported; refusals use the texts of the other dialect."""

from __future__ import annotations

from .errors import Refused
from .link import FIRST_CHANGES, stamp

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from collections.abc import Callable

    from .tool import Tool

HELP = """Usage
        hccn_tool -mode -cmd -npu_info [-options]
mode:
        -g      For -cmd and -npu_info, enter [ hccn_tool -h -g ] for more details.
        -s      For -cmd and -npu_info, enter [ hccn_tool -h -s ] for more details.
        -t      For -cmd and -npu_info, enter [ hccn_tool -h -t ] for more details.
example:
        hccn_tool -g -link -i 0 -u 1 -p 0       query link status"""
MODES = ("-g", "-s", "-t")
PORTS = range(4, 7)
PORT_STATES = {"": "UP", "1": "UP", "0": "DOWN", "partial": "PARTIAL UP"}
COUNTERS = (
    "ub_glb_ipv4_pkt_cnt_rx ub_mem_pkt_cnt_rx drop_ind_cnt_rx err_ind_cnt_rx route_err_cnt_rx "
    "ub_glb_ipv4_pkt_cnt_tx ub_mem_pkt_cnt_tx drop_ind_cnt_tx err_ind_cnt_tx retry_req_sum retry_ack_sum crc_error_sum"
).split()
EDGE = {"link_stat": (5, 6, 6, 13, 25), "speed": (5, 6, 6, 9, 5, 7, 11)}


def run(tool: Tool, argv: list[str]) -> int:
    args = argv[1:]
    if args[:1] == ["-h"]:
        tool.info(HELP if len(args) == 1 else "\n".join(f"hccn_tool {mode} {command}" for mode, command in COMMANDS))
        return 0
    if len(args) < 2:
        raise Refused("cmd_number")
    if args[0] not in MODES:
        raise Refused("cmd_type")
    tool.command = args[1]
    command = COMMANDS.get((args[0], args[1]))
    if command is None:
        raise Refused("cmd_unknown")
    options = _options(args[2:])
    from .tool import choose_device

    choose_device(tool, options.get("-i", "x"), [args[0]])
    tool.device.call(args[1].lstrip("-"), change=args[0] == "-s")
    command(tool, options)
    return 0


def _options(args: list[str]) -> dict[str, str]:
    """Parse ``-i 0 -host``: a name that is followed by another name, or by nothing, is a flag."""
    found: dict[str, str] = {}
    rest = list(args)
    while rest:
        name = rest.pop(0)
        if not name.startswith("-"):
            raise Refused("option")
        found[name] = rest.pop(0) if rest and not rest[0].startswith("-") else ""
    return found


def _port(options: dict[str, str]) -> tuple[int, int]:
    udie, port = options.get("-u", ""), options.get("-p", "")
    if not (udie.isdigit() and port.isdigit()):
        raise Refused("count")
    return int(udie), int(port)


def _table(tool: Tool, kind: str, rows: list[list[str]]) -> None:
    edge = "+" + "+".join("-" * width for width in EDGE[kind]) + "+"
    lines = ["|" + "|".join(f" {cell}".ljust(width) for cell, width in zip(row, EDGE[kind])) + "|" for row in rows]
    tool.info("\n".join([edge, lines[0], edge, *lines[1:], edge]))


def _link(tool: Tool, options: dict[str, str]) -> None:
    _port(options)
    tool.info("link status: " + ("UP" if tool.device.link_up else "DOWN"))


def _link_stat(tool: Tool, options: dict[str, str]) -> None:
    udie, port = _port(options)
    ups = sum(1 for _when, what in FIRST_CHANGES if what == "UP")
    tool.info(f"link up count :    {ups}\nlink down count :  {len(FIRST_CHANGES) - ups}")
    rows = [["NPU", "UDie", "Port", "Link_Status", "Time_Stamp"]]
    rows += [[f" {tool.device.id}", f" {udie}", f" {port}", f" LINK_{what}", stamp(when)] for when, what in FIRST_CHANGES]
    _table(tool, "link_stat", rows)


def _speed(tool: Tool, options: dict[str, str]) -> None:
    udie, port = _port(options)
    speed = int(tool.device.get("speed", "400000")) // 1000
    rows = [["NPU", "UDie", "Port", "Speed", "Cap", "Width", "Status"]]
    rows.append([str(tool.device.id), str(udie), str(port), f"{speed} G", "X4", "X4", "normal"])
    _table(tool, "speed", rows)


def _stat(tool: Tool, options: dict[str, str]) -> None:
    _udie, port = _port(options)
    tool.info(f"packet statistics:\nport_id: {port}\nis_uboe_port: 0")
    for key in COUNTERS:
        tool.info(f"{key}: {tool.device.get('stat.' + key, '0')}")


def _port_info(tool: Tool, options: dict[str, str]) -> None:
    _udie, port = _port(options)
    link = "link" if tool.device.link_up else "no link"
    tool.info(f"port_id: {port:#x}")
    tool.info("======================= UB PORT LINK INFO =======================")
    tool.info(f"target_speed: LANE_400G_X4\nlane_num: X4\nfec: FEC RS\nport_usage: used\nport_enable: on\nport_link: {link}")
    tool.info("======================== UB DLPHY INFO ==========================")
    tool.info(f"fec: FEC Mode 1 RS (128, 120,T=4)\ncur_tx_lane_num: X4\ncur_rx_lane_num: X4\ndl_link: {link}\nfec_err: 0x0\nretry_cnt: 0x0")


def _grid(tool: Tool, head: list[str], rows: list[list[str]], widths: list[int]) -> None:
    edge = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in [head, *rows]]
    tool.info("\n".join([edge, lines[0], edge, *lines[1:], edge]))


def _dev_info(tool: Tool, options: dict[str, str]) -> None:
    """Show ports, interfaces and UDMA. A port with reduced lanes is still up here."""
    down = {port for port in PORTS if tool.device.get(f"port.{port}", "" if tool.device.link_up else "0") == "0"}
    rows = [["0", str(port), "400", "UB", "DOWN" if port in down else "UP", "Electrical"] for port in PORTS]
    _grid(tool, ["UDie ID", "Port ID", "Speed Ability(Gbps)", "Port Type", "Link Status", "Media Type"], rows, [7, 7, 19, 9, 11, 10])
    interface = ["end0v0", f"192.168.2.{199 - tool.device.id}", "255.255.255.0", "NA", "NA"]
    _grid(tool, ["Interface Name", "IP Address", "Netmask", "Bond Mode", "Slaves"], [interface], [15, 42, 42, 9, 15])
    _grid(tool, ["Name", "EID Index", "EID"], [["udma1", "0", f"0000:0000:0000:0000:0010:0000:dfdf:{tool.device.id:04x}"]], [15, 9, 39])


def _ub_connect(tool: Tool, options: dict[str, str]) -> None:
    states = {port: PORT_STATES[tool.device.get(f"port.{port}", "" if tool.device.link_up else "0")] for port in PORTS}
    kinds = set(states.values())
    tool.info("link status : " + (kinds.pop() if kinds in ({"UP"}, {"DOWN"}) else "PARTIAL LINK"))
    for port, state in states.items():
        tool.info(f"port {port} : {state}")


def _set_tls(tool: Tool, options: dict[str, str]) -> None:
    """Set TLS on the device only: the effect on hccn.conf is unknown."""
    if options.get("-enable") not in ("0", "1"):
        raise Refused("enable_value")
    if "-host" not in options:
        tool.device.set(tls=options["-enable"])
    tool.done()


COMMANDS: dict[tuple[str, str], Callable[[Tool, dict[str, str]], None]] = {
    ("-g", "-link"): _link,
    ("-g", "-link_stat"): _link_stat,
    ("-g", "-speed"): _speed,
    ("-g", "-stat"): _stat,
    ("-g", "-port_info"): _port_info,
    ("-g", "-dev_info"): _dev_info,
    ("-g", "-ub_connect"): _ub_connect,
    ("-s", "-tls"): _set_tls,
}
