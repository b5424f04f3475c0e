"""npu-smi info: its command line, and queries of single NPUs. The tables are in npu_smi_table and npu_smi_950."""

from __future__ import annotations

import os
import sys

from . import superpod
from .node import Node, find
from .npu_smi_table import VERSION, Place, bus, chip_name, listing, mapping, pairs, places, serial, table, topology
from .schedule import command_ended

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from typing import TextIO

NO_CARD = "There is no NPU card on this server."
BAD_TYPE = """Error parameter of -t
Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]

Commands:
       -h, --help     Show this help text and exit
       -m             Show all device's mapping information
       -l             Show all device's topology information
       -t type        Show information for type"""
FAILURE = 1


def main(argv: list[str], node: Node | None = None, out: TextIO | None = None, environment: dict[str, str] | None = None) -> int:
    """Run one call and return its exit code."""
    node = node or find(argv[0], dict(os.environ) if environment is None else environment)
    out = out or sys.stdout
    code, text = answer(node, argv[1:])
    out.write(text + "\n")
    out.flush()
    command_ended(node, "npu-smi", argv[1:])
    return code


def answer(node: Node, args: list[str]) -> tuple[int, str]:
    if args[:1] != ["info"]:
        return FAILURE, BAD_TYPE.partition("\n")[2]
    if not node.devices():
        return FAILURE, NO_CARD
    rest = args[1:]
    if node.product == "950":
        from . import npu_smi_950

        tables = {"": npu_smi_950.table, "-m": npu_smi_950.mapping, "-l": listing}
    else:
        tables = {"": table, "-m": mapping, "-l": listing}
    if len(rest) < 2 and "".join(rest) in tables:
        return 0, tables["".join(rest)](node)
    if rest[0] == "-t" and len(rest) > 1:
        return _typed(node, rest[1], dict(zip(rest[2::2], rest[3::2])))
    return FAILURE, BAD_TYPE.partition("\n")[2]


def _typed(node: Node, kind: str, options: dict[str, str]) -> tuple[int, str]:
    if kind == "topo" and node.product != "950":
        return 0, topology(node)
    if kind == "spod-info" and node.product != "A3" or kind == "topo":
        return FAILURE, f"This device does not support querying {kind}."
    if kind not in ("board", "spod-info"):
        return FAILURE, BAD_TYPE
    of_card = [place for place in places(node) if str(place.npu) == options.get("-i")]
    if not of_card:
        return FAILURE, "Error parameter of -i"
    chip = options.get("-c", "0" if kind == "spod-info" else "")
    found = [place for place in of_card if chip in ("", str(place.chip))]
    if not found:
        return FAILURE, "Error parameter of -c"
    if kind == "spod-info":
        return 0, super_pod(node, found[0])
    if node.product == "950":
        from .npu_smi_950 import board as board_950

        return 0, board_950(node, found[0])
    return 0, chip_board(node, found[0]) if chip else board(node, found[0], len(of_card))


def super_pod(node: Node, place: Place) -> str:
    server = superpod.server_index(node)
    return pairs(
        [
            ("SDID", node.state.get(place.device, "sdid", str(superpod.sdid(server, place.device)))),
            ("Super Pod Size", node.config["super_pod_size"]),
            ("Super Pod ID", node.config["super_pod_id"]),
            ("Server Index", server),
        ]
    )


def _firmware(node: Node, place: Place) -> str:
    return node.state.get(place.device, "npu_firmware", "7.5.0.1.129")


def chip_board(node: Node, place: Place) -> str:
    return pairs(
        [
            ("NPU ID", place.npu),
            ("Chip ID", place.chip),
            ("Chip Type", "Ascend"),
            ("Chip Name", chip_name(node, place)),
            ("Chip Version", "V1"),
            ("Board ID", node.state.get(place.device, "board_id", "0x30")),
            ("PCB ID", "NA"),
            ("BOM ID", "1"),
            ("VDie ID", f"00000000 00000000 00000000 00000000 {place.device:08X}"),
            ("NDie ID", "NA"),
            ("Chip Position ID", place.chip),
            ("PCIe Bus Info", bus(node, place)),
            ("Firmware Version", _firmware(node, place)),
        ]
    )


def board(node: Node, place: Place, chips: int) -> str:
    get = node.state.get
    return pairs(
        [
            ("NPU ID", place.npu),
            ("Product Name", "NA"),
            ("Model", "NA"),
            ("Manufacturer", "Huawei"),
            ("Serial Number", serial(node, place)),
            ("Software Version", get(place.device, "npu_smi_version", VERSION)),
            ("Firmware Version", _firmware(node, place)),
            ("Compatibility", get(place.device, "compatibility", "OK")),
            ("Board ID", get(place.device, "board_id", "0x30")),
            ("PCB ID", "A"),
            ("BOM ID", "1"),
            ("PCIe Bus Info", bus(node, place)),
            ("Slot ID", place.npu),
            ("Class ID", "NA"),
            ("PCI Vendor ID", "0x19E5"),
            ("PCI Device ID", "0xD802"),
            ("Subsystem Vendor ID", "0x19E5"),
            ("Subsystem Device ID", "0x4000"),
            ("Chip Count", chips),
        ]
    )
