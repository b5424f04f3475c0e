"""-link, -net_health, -link_stat, -speed, -duplex, -fec, -status: the state of the port."""

from __future__ import annotations

import time

from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

HEALTH = (
    "Success",
    "Socket fail",
    "Receive timeout",
    "Unreachable",
    "Time exceeded",
    "Fault",
    "Init",
    "Thread error",
    "Detect ip set",
    "Unknown",
)
SUCCESS, UNREACHABLE, INIT = 0, 3, 6
LOSES_IPV6 = "[WARNING] This link down command will result in the loss of the IPv6 address, continue?"
UP_WITHOUT_RECOVERY = "Link up executed, but recovery failed, please check '/var/log/hccn_tool/hccn_config.log' for details."
FIXED_NOW = 1761687406  # in the fabric "fixed" the device's clock does not advance
FIRST_CHANGES = (1759659231, "UP"), (1759659230, "DOWN"), (1759659215, "UP")
FLAP_SECONDS = 60


def get_only(args: list[str]) -> None:
    """Commands that support only ``-g``."""
    if len(args) > 1 or not args:
        raise Refused("count")
    if args[0] != "-g":
        raise Refused("option")


def link(tool: Tool, args: list[str]) -> None:
    if not args:
        raise Refused("count")
    if args == ["-g"]:
        tool.device.call("link")
        tool.info("link status: " + ("UP" if tool.device.link_up else "DOWN"))
    elif args == ["-g", "down_fault_time"]:
        tool.device.call("link")
        tool.info(f"down_fault_time: {tool.device.get('down_fault_time', '0')}")
    elif args[0] == "-s":
        _set(tool, args[1:])
        tool.done()
    else:
        raise Refused("option")


def _set(tool: Tool, args: list[str]) -> None:
    if not args:
        raise Refused("count")
    if args[0] == "down_fault_time":
        _set_fault_time(tool, args)
        return
    if args[0] not in ("up", "down"):
        raise Refused("option")
    if len(args) != 1:
        raise Refused("count")
    tool.require_root()
    if args[0] == "down":
        tool.confirm(LOSES_IPV6)
    tool.device.call("link", change=True)
    tool.device.set(link="1" if args[0] == "up" else "0")
    if args[0] == "up":
        from .recovery import recover

        if not recover(tool):
            tool.info(UP_WITHOUT_RECOVERY)
            raise Refused("generic")


def _set_fault_time(tool: Tool, args: list[str]) -> None:
    if len(args) != 2:
        raise Refused("count")
    if args[1] not in ("0", "1", "2", "3"):
        raise Refused("parameters")
    tool.device.call("link", change=True)
    tool.device.set(down_fault_time=args[1])
    tool.conf.write(tool.key("down_fault_time"), args[1])


def net_health(tool: Tool, args: list[str]) -> None:
    """-net_health uses another device call than the rest: a busy device answers it."""
    get_only(args)
    value = health(tool)
    if not 0 <= value < len(HEALTH):
        raise Refused("device")
    tool.info("net health status: " + HEALTH[value])


def health(tool: Tool) -> int:
    device = tool.device
    if device.get("net_health"):
        return int(device.get("net_health"))
    target = device.get("netdetect")
    if target in ("", "0.0.0.0"):
        return INIT
    from .fabric import reaches

    return SUCCESS if reaches(tool, target) else UNREACHABLE


def link_stat(tool: Tool, args: list[str]) -> None:
    if args == ["-c"]:
        tool.device.call("link_stat", change=True)
        tool.device.set(link_his_cleared="1", flaps=None)
        tool.done()
        return
    get_only(args)
    device = tool.device
    device.call("link_stat")
    now = FIXED_NOW if tool.node.fabric == "fixed" else int(tool.clock.now())
    changes = _changes(tool, now)
    ups = sum(1 for _when, state in changes if state == "UP")
    front = f"[devid {device.id}]"
    tool.info(f"{front}current time        : {stamp(now)}")
    tool.info(f"{front}link up count       : {ups}")
    tool.info(f"{front}link down count     : {len(changes) - ups}")
    tool.info(f"{front}link change records :" + ("" if changes else " NA"))
    for when, state in changes:
        tool.info(f"{front}    {stamp(when)}    LINK {state}")


def _changes(tool: Tool, now: int) -> list[tuple[int, str]]:
    """Return the changes, newest first: the initial ones unless cleared, and ``flaps`` times down and up."""
    flaps = []
    for flap in range(tool.device.number("flaps")):
        flaps += [(now - flap * FLAP_SECONDS - 1, "UP"), (now - flap * FLAP_SECONDS - 2, "DOWN")]
    return flaps + ([] if tool.device.is_set("link_his_cleared") else list(FIRST_CHANGES))


def stamp(when: int) -> str:
    return time.asctime(time.gmtime(when))


def speed(tool: Tool, args: list[str]) -> None:
    if args[:1] not in ([], ["-g"]):
        raise Refused("option")
    get_only(args)
    tool.device.call("speed")
    # traffic over a link of this machine does not reach the speed of a port of 200GE, so no speed is printed unless one is set
    known = tool.device.get("speed", "200000" if tool.node.fabric == "fixed" else "")
    tool.info(f"Speed: {known} Mb/s" if known and tool.device.link_up else "Speed: Unknown!")


def duplex(tool: Tool, args: list[str]) -> None:
    get_only(args)
    tool.device.call("duplex")
    tool.info("Duplex: " + ("Full" if tool.device.get("duplex", "1") == "1" else "Half"))


def fec(tool: Tool, args: list[str]) -> None:
    if not args:
        raise Refused("count")
    tool.info("This device does not support switching fec mode.")


def status(tool: Tool, args: list[str]) -> None:
    get_only(args)
    device = tool.device
    device.call("status")
    detected = "yes" if device.link_up else "no"
    tool.info(f"Netdev status:Settings for eth{device.id}:\n\tSupported ports: [ FIBRE ]\n\tSpeed: {device.get('speed', '200000')}Mb/s")
    tool.info(f"\tDuplex: Full\n\tLink detected: {detected}\n")
