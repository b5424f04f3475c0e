"""Faults of any command: slow, hanging, killed, temporarily busy, garbage or endless output, or a set that is only claimed."""

from __future__ import annotations

import os

from .errors import Refused
from .schedule import command_ended

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

FLOOD_LINE = "." * 1023
CHANGING = ("-s", "-a", "-d", "-c")


def strike(tool: Tool, args: list[str]) -> None:
    """Apply faults once per call, as soon as the device is known. ``args``: the arguments after the command."""
    device, node = tool.device, tool.node
    seconds = float(device.get("latency") or node.seconds("latency_seconds"))
    if seconds:
        tool.clock.sleep(seconds)
    if device.is_set("hang"):
        tool.clock.sleep(node.seconds("hang_seconds"))
        raise Refused("timeout")
    if device.is_set("killed"):
        die(tool, args, device.number("killed"))
    if device.is_set("conf_refused"):
        tool.conf.writable_by_user = False
    if device.is_set("killed_late"):
        tool.conf.before_edit = lambda: die(tool, args, device.number("killed_late"))
    if device.number("busy_for") and node.state.add(device.id, {"busy_for": -1})["busy_for"] > 0:
        raise Refused("busy")
    if device.is_set("flood"):
        tool.info("\n".join([FLOOD_LINE] * (device.number("flood") * 1024)))
        raise Refused("silent", 0)
    if device.is_set("garbage"):
        tool.info(f"\x1b[0m#@! {device.id:#06x} ---- ????\n= : =\n")
        raise Refused("silent", 0)
    if device.is_set("set_ignored") and changes(tool.command, args):
        tool.done()
        raise Refused("silent", 0)


def changes(command: str, args: list[str]) -> bool:
    rest = args[1:] if args[:1] == ["-inet6"] else args
    return rest[:1] == ["recovery"] if command == "-cfg" else bool(rest) and rest[0] in CHANGING


def die(tool: Tool, args: list[str], signal: int) -> None:
    """Exit as a killed tool: buffered stdout is lost."""
    command_ended(tool.node, "hccn_tool", [tool.attribute, str(tool.device.id), tool.command, *args])
    os.kill(os.getpid(), signal)
