"""Super pods of A3: the position and names of a die, and -hccs_ping over the bus between the dies."""

from __future__ import annotations

from . import inet
from .errors import Refused
from .node import Node

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

ALONE = 1023  # server index of a machine outside a super pod
SERVERS = 48  # servers that addresses of the inner network can distinguish
ALONE_BYTE = 168  # replaces the server index if there is none or if it is too large
VNIC_FIRST_BYTE, VNIC_THIRD_BYTE, VNIC_LAST_BYTE = 192, 2, 199
DIES = 2  # of an NPU

RANGES = {"pkt": range(1792, 3001), "cnt": range(1, 1001), "interval": range(11), "timeout": range(1, 20001)}
MAX_ARGUMENTS = 11
PACKETS = 3
MICROSECONDS, QUICKER = 24.13, 0.07


def server_index(node: Node) -> int:
    index = node.state.get("*", "server_id") or node.config["server_index"]
    return ALONE if index in (None, "") else int(index)


def sdid(server: int, device: int) -> int:
    """Return the SDID: 10 bits server index, 4 bits chip, 2 bits die, 16 bits device."""
    return server << 22 | device // DIES << 18 | device % DIES << 16 | device


def vnic_address(server: int, device: int) -> str:
    return f"{VNIC_FIRST_BYTE}.{server if server < SERVERS else ALONE_BYTE}.{VNIC_THIRD_BYTE + device % DIES}.{VNIC_LAST_BYTE - device}"


def position(number: int) -> tuple[int, int]:
    """Return server index and device of an SDID. An address is refused if its parts do not match. Only 8 bits of the index count."""
    server, chip, die, device = number >> 22 & 0xFF, number >> 18 & 0xF, number >> 16 & 0x3, number & 0xFFFF
    if server >= SERVERS or chip * DIES + die != device:
        raise Refused("address")
    return server, device


def position_of_address(text: str) -> tuple[int, int]:
    number = inet.ipv4(text)
    first, server, third, last = number >> 24, number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF
    device = VNIC_LAST_BYTE - last
    if first != VNIC_FIRST_BYTE or device < 0 or third - VNIC_THIRD_BYTE != device % DIES:
        raise Refused("address")
    return position(sdid(server, device))


def answers(tool: Tool, target: tuple[int, int]) -> bool:
    """Return True if the target answers. fixed: always. Otherwise, both dies must be in nodes of the same super pod, with their ports of the inner network
    up."""
    node, (server, device) = tool.node, target
    if node.fabric == "fixed":
        return True
    if tool.device.get("vnic_link", "1") != "1":
        return False
    for other in node.neighbours():
        same_pod = other.product == "A3" and other.config["super_pod_id"] == node.config["super_pod_id"]
        if same_pod and server_index(other) == server and device in other.devices():
            return other.state.get(device, "vnic_link", "1") == "1"
    return False


def hccs_ping(tool: Tool, args: list[str]) -> None:
    """A3 and root only. Lost packets do not fail the command, and its output ends with the success line of a set."""
    device = tool.device
    if not device.is_a3:
        raise Refused("product")
    if not 2 <= len(args) <= MAX_ARGUMENTS:
        raise Refused("count")
    tool.require_root()
    if args[0] != "-g":
        raise Refused("option")
    target, options = _arguments(args[1:])
    device.call("hccs_ping")
    if device.is_set("hccs_occupied"):
        raise Refused("occupied")
    _report(tool, target, options.get("cnt", PACKETS))
    tool.done()


def _arguments(args: list[str]) -> tuple[tuple[int, int], dict[str, int]]:
    found: list[tuple[int, int]] = []
    numbers: dict[str, int] = {}
    for name, value in zip(args[::2], args[1::2]):
        if name in ("address", "sdid"):
            if found:
                raise Refused("address")
            found.append(position_of_address(value) if name == "address" else position(_number(value)))
        elif name in RANGES and _number(value) in RANGES[name]:
            numbers[name] = int(value)
        else:
            raise Refused("parameters")
    if len(args) % 2 or not found:
        raise Refused("parameters")
    return found[0], numbers


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Refused("parameters")
    return int(text)


def _report(tool: Tool, target: tuple[int, int], count: int) -> None:
    forced = tool.device.get("hccs_ping")
    arrive = {"ok": True, "loss1": True, "unreach": False}[forced] if forced else answers(tool, target)
    tool.info(f"device {tool.device.id} PING {vnic_address(*target)}\n")
    times = []
    for packet in range(count):
        arrives = arrive and not (forced == "loss1" and packet == 0)
        taken = max(1.0, MICROSECONDS - QUICKER * packet) if arrives else 0.0
        times += [taken] if arrives else []
        tool.info("This pkt ping success!" if arrives else "This pkt check recv msg fail!")
        tool.info(f"recv seq {packet}, time = {taken:.3f}us, L1 plane check result = 0x0\n")
    tool.info(f"{count} packets transmitted, {len(times)} received, {100 * (count - len(times)) / count:.2f}% packets loss")
    average = sum(times) / len(times) if times else 0.0
    slowest = sorted(times)[int(0.95 * len(times))] if times else 0.0
    tool.info(f"max time {max(times, default=0.0):.3f}us\nmin time {min(times, default=0.0):.3f}us")
    tool.info(f"average time {average:.3f}us\nTP95 time {slowest:.3f}us")
