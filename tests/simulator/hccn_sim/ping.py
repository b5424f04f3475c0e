"""-ping between devices."""

from __future__ import annotations


from . import inet
from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

PACKETS = 3
TIMES = "1.418000", "0.034000", "0.040000"
TIMES_AFTER_LOSS = "", "0.097000", "0.066000"
BUSY_ANSWER = "12299"
MAX_PACKET = 65507


def ping(tool: Tool, args: list[str]) -> None:
    inet6 = args[:1] == ["-inet6"]
    args = args[1:] if inet6 else args
    if len(args) not in (3, 5):
        raise Refused("count")
    if args[0] != "-g" or args[1] != ("ipv6_address" if inet6 else "address") or args[3:4] not in ([], ["pkt"]):
        raise Refused("option")
    address = args[2]
    inet.ipv6(address) if inet6 else inet.ipv4(address)
    if len(args) == 5 and not (args[4].isdigit() and int(args[4]) <= MAX_PACKET):
        raise Refused("parameters")
    tool.device.call("ping")
    answer = tool.device.get("ping")
    if answer == BUSY_ANSWER:
        raise Refused("busy")
    tool.info(f"device {tool.device.id} {'PING6' if inet6 else 'PING'} {address}")
    received = _answers(tool, address, answer)
    tool.info(f"{PACKETS} packets transmitted, {received} received, {100 * (PACKETS - received) / PACKETS:.2f}% packet loss")
    if received < PACKETS:
        raise Refused("device")


def _answers(tool: Tool, address: str, forced: str) -> int:
    from .fabric import loses_packets, reaches

    if forced == "loss1" or (forced == "" and loses_packets(tool.node, address)):
        times = TIMES_AFTER_LOSS
    elif forced == "unreach" or (forced in ("", "ok") and not reaches(tool, address)):
        for sequence in range(PACKETS):
            tool.info(f"Destination Host Unreachable seq={sequence}")
        return 0
    else:
        times = TIMES
    for sequence, milliseconds in enumerate(times):
        tool.info(f"recv seq={sequence},time={milliseconds}ms" if milliseconds else f"recv time out seq={sequence}")
    return sum(1 for milliseconds in times if milliseconds)
