"""The tables of npu-smi for 950, as far as its manual shows them."""

from __future__ import annotations

from .node import Node
from .npu_smi_table import VERSION, Place, bus, chip_name, line, pairs, places, rule, running, serial, values

WIDE, HEAD, COLUMNS, PROCESS_COLUMNS = 97, (8, 18, 15, 53), (27, 15, 53), (27, 15, 26, 26)


def table(node: Node) -> str:
    version = node.state.get("*", "npu_smi_version", VERSION)
    lines = [rule("-", (WIDE,)), line([f"{'npu-smi ' + version:<40}Version: {version}"], (WIDE,)), rule("-", COLUMNS)]
    lines.append(line(["NPU ID", "Name", "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)"], HEAD))
    lines.append(line(["", "", "Bus-Id", "NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)"], HEAD))
    lines.append(rule("=", HEAD))
    for place in places(node):
        health, first, second = values(node, place)
        lines.append(line([str(place.npu), chip_name(node, place), health, first], HEAD))
        lines += [line(["", "", bus(node, place), second], HEAD), rule("=", HEAD)]
    if node.state.get("*", "process_table", "1") == "1":
        lines += _processes(node)
    return "\n".join(lines)


def _processes(node: Node) -> list[str]:
    lines = [rule("-", COLUMNS), line(["NPU ID", "Process id", "Process name", "Process memory(MB)"], PROCESS_COLUMNS), rule("=", COLUMNS)]
    for place in places(node):
        rows = [line([str(place.npu), *entry], PROCESS_COLUMNS) for entry in running(node, place)]
        lines += rows or [line([f"No running processes found in NPU {place.npu}"], (WIDE,))]
        lines.append(rule("=", COLUMNS))
    return lines


def mapping(node: Node) -> str:
    rows = [("NPU ID", "Slot ID", "Chip ID", "Chip Phy-ID", "Chip Name")]
    rows += [(str(place.npu), str(place.npu), "0", str(place.device), chip_name(node, place)) for place in places(node)]
    return "\n".join(f"{row[0]:<16}" + "".join(f"{cell:<{width}}" for cell, width in zip(row[1:4], (17, 17, 21))) + row[4] for row in rows)


def board(node: Node, place: Place) -> str:
    get = node.state.get
    rows: list[tuple[str, object]] = [
        ("NPU ID", place.npu),
        ("NPU Name", chip_name(node, place)),
        ("Chip Name", chip_name(node, place)),
        ("Serial Number", serial(node, place)),
        ("Software Version", get(place.device, "npu_smi_version", VERSION)),
        ("Firmware Version", get(place.device, "npu_firmware", "8.0.0.1")),
        ("Compatibility", get(place.device, "compatibility", "OK")),
        ("PCIe Bus Info", bus(node, place)),
        ("Slot ID", place.npu),
        ("Chip Count", 1),
    ]
    return pairs(rows, front="")
