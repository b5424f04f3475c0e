"""hccn_tool: its command line, the order of its checks, and its two streams."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from .device import Device
from .errors import MORE_HELP, OUT, WITH_MORE_HELP, Refused
from .node import Node, find
from .schedule import command_ended

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from typing import TextIO

MAX_ARGUMENTS = 64
MAX_ARGUMENT_LENGTH = 900
HEALTH_SECONDS = 300  # how long the tool polls a device that is not ready

# major command: module of this package and function in it
COMMANDS = {
    "-ip": ("address", "ip"),
    "-gateway": ("address", "gateway"),
    "-netdetect": ("address", "netdetect"),
    "-lldp": ("neighbour", "lldp"),
    "-local_lldp": ("neighbour", "local_lldp"),
    "-mac": ("port", "mac"),
    "-cfg": ("recovery", "cfg"),
    "-link": ("link", "link"),
    "-dscp_to_tc": ("qos", "dscp_to_tc"),
    "-shaping": ("port", "shaping"),
    "-mtu": ("port", "mtu"),
    "-net_health": ("link", "net_health"),
    "-arp": ("routes", "arp"),
    "-route": ("routes", "route"),
    "-ip_rule": ("routes", "ip_rule"),
    "-ip_route": ("routes", "ip_route"),
    "-send_arp": ("routes", "send_arp"),
    "-stat": ("counters", "stat"),
    "-pfc_stat": ("counters", "pfc_stat"),
    "-hw_stats": ("counters", "hw_stats"),
    "-qp_info": ("counters", "qp_info"),
    "-bandwidth": ("counters", "bandwidth"),
    "-link_stat": ("link", "link_stat"),
    "-optical": ("optical", "optical"),
    "-tls": ("tls", "tls"),
    "-pfc": ("qos", "pfc"),
    "-prio_tc": ("qos", "prio_tc"),
    "-udp": ("qos", "udp"),
    "-speed": ("link", "speed"),
    "-duplex": ("link", "duplex"),
    "-fec": ("link", "fec"),
    "-status": ("link", "status"),
    "-vnic": ("host", "vnic"),
    "-process": ("host", "process"),
    "-version": ("host", "version"),
    "-udhcpc": ("host", "udhcpc"),
    "-ping": ("ping", "ping"),
    "-hccs_ping": ("superpod", "hccs_ping"),
    "-roce_test": ("roce_test", "roce_test"),
}
# commands of the real tool that are not simulated
FOREIGN = (
    "-auto_downgrade -bad_thd -context -cur_tc_buf -dcqcn -diagnostic -down_data -dump -esd -eth_test -fec_err -generic -hilink_info "
    "-mem_reserve -neigh -optical_snr -pci -pfc_storm -reg -scdr -scdr_reset -serdes -stat_extra -tc_cfg -tc_qos -tc_stat -tlsca "
    "-traceroute -xsfp_reset"
).split()


class Output:
    """stdout is buffered until the end (a killed tool prints nothing), stderr is not."""

    def __init__(self, out: TextIO, err: TextIO, unbuffered: bool = False) -> None:
        self._out, self._err, self._unbuffered = out, err, unbuffered
        self._held: list[str] = []

    def info(self, text: str) -> None:
        self._held.append(text + "\n")
        if self._unbuffered:
            self.flush()

    def error(self, text: str) -> None:
        self._err.write(text + "\n")
        self._err.flush()

    def flush(self) -> None:
        self._out.write("".join(self._held))
        self._out.flush()
        self._held = []


class Tool:
    """One call: the argument of every command function."""

    def __init__(self, node: Node, output: Output, stdin: TextIO) -> None:
        self.node, self.output, self.stdin = node, output, stdin
        self.conf, self.clock = node.conf, node.clock
        self.device = Device(node, 0)
        self.command, self.attribute = "", "-i"

    def info(self, text: str) -> None:
        self.output.info(text)

    def error(self, text: str) -> None:
        self.output.error(text)

    def done(self) -> None:
        self.info("Cmd executed successfully!")

    def key(self, name: str) -> str:
        """Return the key of a setting of this device in hccn.conf."""
        return f"{name}_{self.device.id}"

    def confirm(self, question: str) -> None:
        """Ask on stdin. Any line but y or Y aborts."""
        self.info(question + "(y/n)")
        if self.stdin.readline() not in ("y\n", "Y\n"):
            raise Refused("aborted")

    def require_root(self) -> None:
        if self.node.uid != 0:
            raise Refused("permission")


def main(
    argv: list[str],
    node: Node | None = None,
    stdin: TextIO | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
    environment: dict[str, str] | None = None,
) -> int:
    """Run one call (``argv`` with the name by which it was called) and return its exit code."""
    environment = dict(os.environ) if environment is None else environment
    out = out or sys.stdout
    unbuffered = environment.get("_STDBUF_O") in ("L", "0") or out.isatty()
    tool = Tool(node or find(argv[0], environment), Output(out, err or sys.stderr, unbuffered), stdin or sys.stdin)
    try:
        if tool.node.product == "950":
            from .dialect_950 import run

            code = run(tool, argv)
        else:
            code = _run(tool, argv)
    except Refused as refusal:
        code = refuse(tool, refusal)
    tool.output.flush()
    command_ended(tool.node, "hccn_tool", argv[1:])
    return code


def refuse(tool: Tool, refusal: Refused) -> int:
    if refusal.text:
        (tool.info if refusal.stream == OUT else tool.error)(refusal.text)
    if refusal.name in WITH_MORE_HELP:
        tool.error(MORE_HELP)
    if refusal.usage:
        from .usage import usage

        tool.info(usage(tool.attribute, tool.command))
    return refusal.exit_code


def _run(tool: Tool, argv: list[str]) -> int:
    if tool.node.uid != 0 and not _has_name(tool.node.uid):
        raise Refused("user_name")
    if argv[1:] in (["-h"], ["--help"]):
        from .usage import overview

        tool.info(overview(list(COMMANDS)))
        return 0
    if not 1 < len(argv) < MAX_ARGUMENTS:
        raise Refused("cmd_number")
    if any(len(argument) > MAX_ARGUMENT_LENGTH for argument in argv):
        raise Refused("argument_length")
    tool.attribute = argv[1]
    if tool.attribute not in ("-i", "-a"):
        raise Refused("cmd_type")
    at = 3 if tool.attribute == "-i" else 2
    tool.command = argv[at] if len(argv) > at else ""
    if tool.command not in COMMANDS and tool.command not in FOREIGN or tool.attribute == "-a" and tool.command != "-cfg":
        raise Refused("cmd_unknown")
    if tool.node.state.get("*", "conf_unwritable") == "1":
        tool.conf.writable_by_user = False
    if tool.attribute == "-i" and not (tool.command == "-tls" and argv[-1] == "host"):
        choose_device(tool, argv[2], argv[at + 1 :])
    if tool.command in FOREIGN:
        raise Refused("product")
    module, function = COMMANDS[tool.command]
    return getattr(import_module(f"{__package__}.{module}"), function)(tool, argv[at + 1 :]) or 0


def _has_name(uid: int) -> bool:
    import pwd

    try:
        return bool(pwd.getpwuid(uid))
    except KeyError:
        return False


def choose_device(tool: Tool, text: str, args: list[str]) -> None:
    """Parse at most two digits; a text without digits is device 0. Then apply the faults of any command."""
    if len(text) > 2 or any(character not in "0123456789" for character in text) or int(text or 0) not in tool.node.devices():
        raise Refused("device_id")
    tool.device = Device(tool.node, int(text or 0))
    from .faults import strike

    strike(tool, args)
    for _second in range(HEALTH_SECONDS):
        if tool.device.get("health_ret") in ("", "0"):
            return
        tool.clock.sleep(1)
    raise Refused("health")
