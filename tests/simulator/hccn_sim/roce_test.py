"""-roce_test: start a test on the device, poll its state, and print the device's report at its end."""

from __future__ import annotations


from . import inet
from .errors import Refused
from .perf_device import DONE, RUNNING, PerfDevice

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from typing import Any
    from .tool import Tool

KINDS = tuple(f"ib_{operation}_{measure}" for operation in ("send", "write", "read") for measure in ("bw", "lat"))
MAX_POLLS = 1600
LITTLE_MEMORY = 3500
TOO_LITTLE_MEMORY = "There isn't enough memory to perform the requested, only -n and -s parameters are allowed here."
RANGES = {
    "-s": range(1, 874736001),
    "-n": range(5, 20001),
    "-D": range(1, 501),
    "-f": range(0, 251),
    "-l": range(1, 1025),
    "-ib": range(1, 2),
    "-p": range(0, 65536),
    "-q": range(1, 101),
    "-Q": range(1, 1025),
    "-t": range(1, 15001),
    "-u": range(0, 256),
    "-x": range(0, 6),
    "-tclass": range(0, 256),
    "-S": range(0, 8),
}
TEXTS = ("-d", "-m", "-bind_source_ip", "address")  # -d and -m are passed to the device unchanged
FLAGS = ("-a", "-b", "-report_gbits", "-V", "-tcp")
DEFAULTS = {"-s": "65536", "-n": "1000", "-p": "18515", "-q": "1", "-m": "4096", "-x": "3", "-d": "hns_0"}
LATENCY_SIZE = "2"
STARTED = 1


def roce_test(tool: Tool, args: list[str]) -> int:
    if args[:1] == ["reset"]:
        return _reset(tool, args)
    inet6 = args[:1] == ["-inet6"]
    args = args[1:] if inet6 else args
    if not args or args[0] not in KINDS:
        raise Refused("option")
    options = _parse(args[1:])
    address = options.get("address", "")
    if address:
        inet.ipv6(address) if inet6 else inet.ipv4(address)
    if "-tcp" not in options:
        tool.info('Please add "-tcp"')
        raise Refused("generic", 0)
    if tool.device.number("free_mem", LITTLE_MEMORY + 1) <= LITTLE_MEMORY and not set(options) <= {"-n", "-s", "address", "-tcp"}:
        tool.error(TOO_LITTLE_MEMORY)
        raise Refused("parameters")
    return _run(tool, args[0], options)


def _parse(args: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    rest = list(args)
    while rest:
        name = rest.pop(0)
        if name in FLAGS:
            options[name] = ""
            continue
        if name not in RANGES and name not in TEXTS:
            raise Refused("option")
        if not rest:
            raise Refused("parameters")
        options[name] = rest.pop(0)
        if name in RANGES and not (options[name].isdigit() and int(options[name]) in RANGES[name]):
            raise Refused("parameters")
    return options


def _reset(tool: Tool, args: list[str]) -> int:
    if len(args) > 1:
        raise Refused("cmd_number")
    tool.device.call("roce_test", change=True)
    PerfDevice(tool).reset()
    tool.done()
    return 0


def _run(tool: Tool, kind: str, options: dict[str, str]) -> int:
    device = PerfDevice(tool)
    tool.device.call("roce_test")
    status = device.status()
    _show(tool, status)
    if status == RUNNING:
        tool.error("Roce perftest is doing, please try later.")
        raise Refused("generic", RUNNING)
    started = device.start(_order(kind, options))
    tool.info(f"Dsmi start roce perftest end. (out={started})")
    if started != STARTED:
        raise Refused("generic", started)
    for _poll in range(MAX_POLLS):
        tool.clock.sleep(tool.node.seconds("poll_seconds"))
        status = device.status()
        _show(tool, status)
        if status != RUNNING:
            return _report(tool, device, status)
    device.reset()
    raise Refused("timeout")


def _show(tool: Tool, status: int) -> None:
    tool.info(f"Dsmi get perftest status end. (status={status})")


def _report(tool: Tool, device: PerfDevice, status: int) -> int:
    tool.device.call("report")
    tool.info("roce_report:\n" + device.report())
    if status != DONE:
        raise Refused("generic", 255)
    return 0


def _order(kind: str, options: dict[str, str]) -> dict[str, Any]:
    """Return the order for the device as plain data."""
    values = {**DEFAULTS, **({"-s": LATENCY_SIZE} if kind.endswith("_lat") else {}), **options}
    return {
        "operation": kind.split("_")[1],
        "measure": kind.split("_")[2],
        "peer": options.get("address", ""),
        "size": int(values["-s"]),
        "iterations": int(values["-n"]),
        "duration": int(options.get("-D", 0)),
        "all_sizes": "-a" in options,
        "bidirectional": "-b" in options,
        "gbits": "-report_gbits" in options,
        "port": int(values["-p"]),
        "qps": int(values["-q"]),
        "gid_index": int(values["-x"]),
    }
