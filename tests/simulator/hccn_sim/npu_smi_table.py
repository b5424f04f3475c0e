"""The tables of npu-smi for A2 (one chip per card) and A3 (two dies per card, each with a physical ID)."""

from __future__ import annotations

import os
from itertools import groupby

from .node import Node

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = "24.1.rc3"
BUS = ("C1", "01", "C2", "02", "81", "41", "82", "42")
CPUS = ("144-167", "0-23", "144-167", "0-23", "96-119", "48-71", "96-119", "48-71")
CHIPS = {"A2": "910B3", "A3": "Ascend910", "950": "Ascend950"}
HEALTH = {"1": "Warning", "2": "Alarm", "3": "Critical"}
WIDE, COLUMNS, PROCESS_COLUMNS = 96, (27, 15, 52), (27, 15, 26, 25)
LEGEND = """
Legend:

  X    = Self
  SYS  = Path traversing PCIe and NUMA nodes. Nodes are connected through SMP, such as QPI, UPI.
  PHB  = Path traversing PCIe and the PCIe host bridge of a CPU.
  PIX  = Path traversing a single PCIe switch
  PXB  = Path traversing multipul PCIe switches
  HCCS = Connection traversing HCCS.{more}
  NA   = Unknown relationship."""
LEGEND_A3 = "\n  SIO  = Path traversing the SIO bus.\n  HCCS_SW = Connection traversing HCCS through a switch."


class Place:
    """npu-smi's name of a device: ``-i`` npu ``-c`` chip."""

    def __init__(self, npu: int, chip: int, device: int) -> None:
        self.npu, self.chip, self.device = npu, chip, device


def places(node: Node) -> list[Place]:
    dies = 2 if node.product == "A3" else 1
    return [Place(device // dies, device % dies, device) for device in node.devices()]


def cards(node: Node) -> Iterator[tuple[int, list[Place]]]:
    for npu, group in groupby(places(node), key=lambda place: place.npu):
        yield npu, list(group)


def serial(node: Node, place: Place) -> str:
    """Return the serial number of a card. It is derived from the name of the node's folder, so that it is unique in a cluster."""
    name = "".join(character for character in os.path.basename(node.root).upper() if character.isalnum())
    return node.state.get(place.device, "serial", f"SIM{name}{place.npu:04d}")


def chip_name(node: Node, place: Place) -> str:
    return node.state.get(place.device, "chip", CHIPS[node.product])


def bus(node: Node, place: Place) -> str:
    number = f"{0x41 + 2 * place.device:02X}" if node.product == "A3" else BUS[place.device % len(BUS)]
    return f"0000:{number}:00.0"


def line(cells: list[str], widths: tuple[int, ...]) -> str:
    return "|" + "|".join(f" {cell}".ljust(width)[:width] for cell, width in zip(cells, widths)) + "|"


def rule(mark: str, widths: tuple[int, ...]) -> str:
    return "+" + "+".join(mark * width for width in widths) + "+"


def pairs(rows: list[tuple[str, object]], front: str = "\t") -> str:
    return "\n".join(f"{front}{name:<30} : {value}" for name, value in rows)


def table(node: Node) -> str:
    version = node.state.get("*", "npu_smi_version", VERSION)
    second = "Chip  Phy-ID" if node.product == "A3" else "Chip"
    lines = [rule("-", (WIDE,)), line([f"{'npu-smi ' + version:<33}Version: {version}"], (WIDE,)), rule("-", COLUMNS)]
    lines.append(line(["NPU   Name", "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)"], COLUMNS))
    lines.append(line([second, "Bus-Id", "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)"], COLUMNS))
    lines.append(rule("=", COLUMNS))
    for _npu, chips in cards(node):
        for number, place in enumerate(chips):
            lines += [rule("-", (WIDE,))] * (number > 0) + _chip(node, place)
        lines.append(rule("=", COLUMNS))
    if node.state.get("*", "process_table", "1") == "1":
        lines += _processes(node)
    return "\n".join(lines)


def values(node: Node, place: Place) -> tuple[str, str, str]:
    """Return the health and the wide column of both rows of a chip. Only the first die of a card measures the power."""
    get, device = node.state.get, place.device
    power = "-" if place.chip else get(device, "power", f"{88 + device}.0")
    first = f"{power:<12}{get(device, 'temperature', '42'):<18}0    / 0"
    used = get(device, "hbm_used", str(2816 + device))
    second = f"{get(device, 'aicore', '0'):<12}0    / 0          {used:<5}/ {get(device, 'hbm_total', '65536')}"
    return HEALTH.get(get(device, "health"), "OK"), first, second


def _chip(node: Node, place: Place) -> list[str]:
    health, first, second = values(node, place)
    name = f"{place.chip:<6}{place.device}" if node.product == "A3" else str(place.chip)
    return [
        line([f"{place.npu:<6}{chip_name(node, place)}", health, first], COLUMNS),
        line([name, bus(node, place), second], COLUMNS),
    ]


def running(node: Node, place: Place) -> list[list[str]]:
    """Return pid, name and memory of ``N.process=<pid>:<name>:<MB>`` (several separated by commas)."""
    return [entry.split(":") for entry in node.state.get(place.device, "process").split(",") if entry]


def _processes(node: Node) -> list[str]:
    lines = [rule("-", COLUMNS), line(["NPU     Chip", "Process id", "Process name", "Process memory(MB)"], PROCESS_COLUMNS)]
    lines.append(rule("=", COLUMNS))
    for npu, chips in cards(node):
        rows = [line([f"{npu:<8}{place.chip}", *entry], PROCESS_COLUMNS) for place in chips for entry in running(node, place)]
        lines += rows or [line([f"No running processes found in NPU {npu}"], (WIDE,))]
        lines.append(rule("=", COLUMNS))
    return lines


def listing(node: Node) -> str:
    every = list(cards(node))
    blocks = [pairs([("Total Count", len(every))])]
    blocks += [pairs([("NPU ID", npu), ("Chip Count", len(chips))]) for npu, chips in every]
    return "\n\n".join(blocks)


def mapping(node: Node) -> str:
    """Print the mapping. The board's controller (Mcu) is listed as the chip after the last one."""
    two_ids = node.product == "A3"
    rows = [("NPU ID", "Chip ID", "Chip Logic ID", *(["Chip Phy-ID"] if two_ids else []), "Chip Name")]
    ids = 2 if two_ids else 1
    for npu, chips in cards(node):
        for place in chips:
            name = chip_name(node, place)
            rows.append((str(npu), str(place.chip), *[str(place.device)] * ids, name if two_ids else f"Ascend {name}"))
        rows.append((str(npu), str(ids), *["-"] * ids, "Mcu"))
    return "\n".join("\t" + " ".join(f"{cell:<30}" for cell in row[:-1]) + " " + row[-1] for row in rows)


def topology(node: Node) -> str:
    """Print the topology. The real header is shifted against the rows by a tab. A3 (ARM) does not list the CPUs."""
    every, a3 = places(node), node.product == "A3"
    names = {place.device: f"{'Phy-ID' if a3 else 'NPU'}{place.device}" for place in every}
    lines = ["\t   " + "".join(f"{name:<11}" for name in names.values()) + ("" if a3 else "CPU Affinity")]
    for own in every:
        cells = "".join(f"{_way(own, other, a3):<11}" for other in every)
        lines.append(f"{names[own.device]:<11}{cells}" + ("" if a3 else CPUS[own.device % len(CPUS)]))
    return "\n".join([*lines, LEGEND.format(more=LEGEND_A3 if a3 else "")])


def _way(own: Place, other: Place, a3: bool) -> str:
    if own.device == other.device:
        return "X"
    return "HCCS" if not a3 else "SIO" if own.npu == other.npu else "HCCS_SW"
