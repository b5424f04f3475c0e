# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""npu-smi info, in the format of an Atlas A2: one chip and one controller (Mcu) a card."""

from __future__ import annotations

import os
import sys

from .node import Node, find

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from typing import TextIO

VERSION = "24.1.rc3"
BUS = ("C1", "01", "C2", "02", "81", "41", "82", "42")
CPUS = ("144-167", "0-23", "144-167", "0-23", "96-119", "48-71", "96-119", "48-71")
WIDE, COLUMNS, PROCESS_COLUMNS = 96, (27, 15, 52), (27, 15, 26, 25)
NO_CARD = "There is no NPU card on this server."
BAD_TYPE = """Error parameter of -t
Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]

Commands:
       -h, --help     Show this help text and exit
       -m             Show all device's mapping information
       -l             Show all device's topology information
       -t type        Show information for type"""
LEGEND = """
Legend:

  X    = Self
  SYS  = Path traversing PCIe and NUMA nodes. Nodes are connected through SMP, such as QPI, UPI.
  PHB  = Path traversing PCIe and the PCIe host bridge of a CPU.
  PIX  = Path traversing a single PCIe switch
  PXB  = Path traversing multipul PCIe switches
  HCCS = Connection traversing HCCS.
  NA   = Unknown relationship."""
FAILURE = 1


def main(argv: list[str], node: Node | None = None, out: TextIO | None = None, environment: dict[str, str] | None = None) -> int:
    """Runs one call and returns its exit code."""
    node = node or find(argv[0], dict(os.environ) if environment is None else environment)
    out = out or sys.stdout
    code, text = answer(node, argv[1:])
    out.write(text + "\n")
    return code


def answer(node: Node, args: list[str]) -> tuple[int, str]:
    devices = node.devices()
    if args[:1] != ["info"]:
        return FAILURE, BAD_TYPE.partition("\n")[2]
    if not devices:
        return FAILURE, NO_CARD
    rest = args[1:]
    if not rest:
        return 0, table(node, devices)
    if rest == ["-l"]:
        return 0, listing(devices)
    if rest == ["-m"]:
        return 0, mapping(node, devices)
    if rest[0] == "-t" and len(rest) > 1:
        return _typed(node, devices, rest[1], dict(zip(rest[2::2], rest[3::2])))
    return FAILURE, BAD_TYPE.partition("\n")[2]


def _typed(node: Node, devices: list[int], kind: str, options: dict[str, str]) -> tuple[int, str]:
    if kind == "topo":
        return 0, topology(devices)
    if kind == "spod-info":
        return FAILURE, "This device does not support querying spod-info."
    if kind != "board":
        return FAILURE, BAD_TYPE
    if not options.get("-i", "").isdigit() or int(options["-i"]) not in devices:
        return FAILURE, "Error parameter of -i"
    return 0, board(node, int(options["-i"]), options.get("-c"))


def _line(cells: list[str], widths: tuple[int, ...]) -> str:
    return "|" + "|".join(f" {cell}".ljust(width)[:width] for cell, width in zip(cells, widths)) + "|"


def _rule(mark: str, widths: tuple[int, ...]) -> str:
    return "+" + "+".join(mark * width for width in widths) + "+"


def table(node: Node, devices: list[int]) -> str:
    version = node.state.get("*", "npu_smi_version", VERSION)
    lines = [f"+{'-' * WIDE}+", _line([f"{'npu-smi ' + version:<33}Version: {version}"], (WIDE,)), _rule("-", COLUMNS)]
    lines.append(_line(["NPU   Name", "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)"], COLUMNS))
    lines.append(_line(["Chip", "Bus-Id", "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)"], COLUMNS))
    lines.append(_rule("=", COLUMNS))
    for device in devices:
        lines += _card(node, device)
    if node.state.get("*", "process_table", "1") == "1":
        lines += _processes(node, devices)
    return "\n".join(lines)


def _card(node: Node, device: int) -> list[str]:
    get = node.state.get
    health = {"": "OK", "0": "OK", "1": "Warning", "2": "Alarm", "3": "Critical"}.get(get(device, "health"), "OK")
    used = get(device, "hbm_used", str(2816 + device))
    first = f"{get(device, 'power', f'{88 + device}.0'):<12}{get(device, 'temperature', '42'):<18}0    / 0"
    second = f"{get(device, 'aicore', '0'):<12}0    / 0          {used:<5}/ {get(device, 'hbm_total', '65536')}"
    return [
        _line([f"{device:<6}{get(device, 'chip', '910B3')}", health, first], COLUMNS),
        _line(["0", f"0000:{BUS[device % len(BUS)]}:00.0", second], COLUMNS),
        _rule("=", COLUMNS),
    ]


def _processes(node: Node, devices: list[int]) -> list[str]:
    """``N.process=<pid>:<name>:<MB>``, several with commas."""
    lines = [_rule("-", (27, 15, 52)), _line(["NPU     Chip", "Process id", "Process name", "Process memory(MB)"], PROCESS_COLUMNS)]
    lines.append(_rule("=", COLUMNS))
    for device in devices:
        entries = [entry.split(":") for entry in node.state.get(device, "process").split(",") if entry]
        for pid, name, memory in entries:
            lines.append(_line([f"{device:<8}0", pid, name, memory], PROCESS_COLUMNS))
        if not entries:
            lines.append(_line([f"No running processes found in NPU {device}"], (WIDE,)))
        lines.append(_rule("=", COLUMNS))
    return lines


def _pairs(pairs: list[tuple[str, object]]) -> str:
    return "\n".join(f"\t{name:<30} : {value}" for name, value in pairs)


def listing(devices: list[int]) -> str:
    blocks = [_pairs([("Total Count", len(devices))])]
    blocks += [_pairs([("NPU ID", device), ("Chip Count", 1)]) for device in devices]
    return "\n\n".join(blocks)


def mapping(node: Node, devices: list[int]) -> str:
    rows = [("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name")]
    for device in devices:
        rows.append((str(device), "0", str(device), f"Ascend {node.state.get(device, 'chip', '910B3')}"))
        rows.append((str(device), "1", "-", "Mcu"))
    return "\n".join("\t" + " ".join(f"{cell:<30}" for cell in row[:3]) + " " + row[3] for row in rows)


def board(node: Node, device: int, chip: str | None) -> str:
    get = node.state.get
    bus, firmware = f"0000:{BUS[device % len(BUS)]}:00.0", get(device, "npu_firmware", "7.5.0.1.129")
    if chip is not None:
        return _pairs(
            [
                ("NPU ID", device),
                ("Chip ID", chip),
                ("Chip Type", "Ascend"),
                ("Chip Name", get(device, "chip", "910B3")),
                ("Chip Version", "V1"),
                ("Board ID", get(device, "board_id", "0x30")),
                ("PCB ID", "NA"),
                ("BOM ID", "1"),
                ("VDie ID", f"00000000 00000000 00000000 00000000 {device:08X}"),
                ("NDie ID", "NA"),
                ("Chip Position ID", "0"),
                ("PCIe Bus Info", bus),
                ("Firmware Version", firmware),
            ]
        )
    return _pairs(
        [
            ("NPU ID", device),
            ("Product Name", "NA"),
            ("Model", "NA"),
            ("Manufacturer", "Huawei"),
            ("Serial Number", get(device, "serial", f"SIMULATED{device:04d}")),
            ("Software Version", get(device, "npu_smi_version", VERSION)),
            ("Firmware Version", firmware),
            ("Compatibility", get(device, "compatibility", "OK")),
            ("Board ID", get(device, "board_id", "0x30")),
            ("PCB ID", "A"),
            ("BOM ID", "1"),
            ("PCIe Bus Info", bus),
            ("Slot ID", device),
            ("Class ID", "NA"),
            ("PCI Vendor ID", "0x19E5"),
            ("PCI Device ID", "0xD802"),
            ("Subsystem Vendor ID", "0x19E5"),
            ("Subsystem Device ID", "0x4000"),
            ("Chip Count", 1),
        ]
    )


def topology(devices: list[int]) -> str:
    """The real header is shifted against the rows by a tab."""
    names = [f"NPU{device}" for device in devices]
    lines = ["\t   " + "".join(f"{name:<11}" for name in names) + "CPU Affinity"]
    for device, name in zip(devices, names):
        cells = "".join(f"{'X' if other == name else 'HCCS':<11}" for other in names)
        lines.append(f"{name:<11}{cells}{CPUS[device % len(CPUS)]}")
    return "\n".join([*lines, LEGEND])
