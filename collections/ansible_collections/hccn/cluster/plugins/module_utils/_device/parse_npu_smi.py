# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parsers of npu-smi: the chips of a host, their processes, their position in a super pod, and their versions.

Column widths change between versions, and cells may be empty or joined. Rows are split at "|" or at several blanks, never at fixed columns
(source: hicann/driver npucli, and output of 910A, A2 and A3 hosts).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from .._core.errors import HccnError, ParseError
from .._core.numbers import count_of, is_count
from .._core.words import beginning, ending, printable

_IN_USE = re.compile(r"because the device is used|ret is -8020\b")
"""DCMI_ERR_CODE_RESOURCE_OCCUPIED (source: hicann/driver, npu_smi.c)."""

_NO_SERIAL = ("", "NA", "N/A")
"""Texts that npu-smi prints for a board without serial number."""

_COLUMNS = re.compile(r"\s{2,}|\t+")


@dataclass(frozen=True)
class Chip:
    """A chip. ``npu`` and ``chip`` are the ids for npu-smi -i and -c, ``device`` is the physical id for hccn_tool -i."""

    npu: int
    chip: int
    device: int


@dataclass(frozen=True)
class Chips:
    """The chips of a host. ``product`` is 910A, A2, A3, 950 or None, ``name`` is the printed name."""

    chips: Tuple[Chip, ...]
    product: Optional[str]
    name: str


def parse_chips(text: str) -> Chips:
    """Parse ``npu-smi info -m``, which prints a row for each chip. On A3 and 950 the physical id is in the column "Chip Phy-ID".

    910A and A2 have no such column and one chip for each NPU. Their physical id is the NPU id, since "Chip Logic ID" does not skip missing NPUs.

    Rows of the board controller have "-" in these columns. Raises HccnError ``no_device`` if there is no chip, and ``device_busy`` if another program
    prevents npu-smi from reading the NPUs.
    """
    rows = [_COLUMNS.split(line.strip()) for line in text.splitlines() if line.strip()]
    heads = [row for row in rows if {"NPU ID", "Chip Name", "Chip ID"} <= set(row) and {"Chip Phy-ID", "Chip Logic ID"} & set(row)]
    if not heads and _IN_USE.search(text):
        raise HccnError("device_busy", "npu-smi info -m cannot read the NPUs, since a program uses them: %r" % ending(text.strip(), 120),
                        "wait for it to end")
    if not heads:
        raise HccnError("no_device", "npu-smi info -m shows no NPU: %r" % beginning(text.strip(), 120), "is the driver loaded?")
    head = heads[0]
    npu, chip, name = head.index("NPU ID"), head.index("Chip ID"), head.index("Chip Name")
    device = head.index("Chip Phy-ID" if "Chip Phy-ID" in head else "Chip Logic ID")
    found = [row for row in rows if len(row) == len(head) and all(is_count(row[column]) for column in (npu, chip, device))]
    if not found:
        raise HccnError("no_device", "npu-smi info -m lists no NPU", "is the driver loaded?")
    if "Chip Phy-ID" not in head and "910" in found[0][name] and all(int(row[chip]) == 0 for row in found):
        device = npu
    chips = sorted((Chip(int(row[npu]), int(row[chip]), int(row[device])) for row in found), key=lambda one: one.device)
    return Chips(tuple(chips), _product(found[0][name], "Chip Phy-ID" in head, "Slot ID" in head), found[0][name])


def _product(name: str, physical_ids: bool, slots: bool) -> Optional[str]:
    if "950" in name or slots:
        return "950"
    if "910B" in name:
        return "A2"
    if physical_ids and "910" in name:
        return "A3"
    return "910A" if re.search(r"910A?\b", name) else None


@dataclass(frozen=True)
class Process:
    """A process on a chip. ``name`` is empty if npu-smi does not see it, as in some containers."""

    npu: int
    chip: int
    pid: int
    name: str
    memory_mb: int


def parse_processes(text: str) -> Tuple[Process, ...]:
    """Parse the process table of ``npu-smi info``. Raises ParseError if the table is missing, since this does not mean that the NPUs are idle."""
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if "Process id" in line]
    if not starts:
        raise ParseError("npu-smi info shows no process table")
    found: List[Process] = []
    for line in lines[starts[0] + 1:]:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        chip_ids = cells[0].split()
        if len(cells) != 4 or not is_count(cells[1]) or not chip_ids or not all(is_count(word) for word in chip_ids):
            continue
        memory = re.match(r"\d+", cells[3])
        npu, chip = int(chip_ids[0]), int(chip_ids[1]) if len(chip_ids) > 1 else 0
        found.append(Process(npu, chip, int(cells[1]), cells[2], count_of(memory.group(0)) if memory else 0))
    return tuple(found)


@dataclass(frozen=True)
class SuperPod:
    """The position of an A3 die or of a 950 in a super pod. ``sdid`` is the super device id of a die; a 950 has none."""

    sdid: Optional[int]
    super_pod_size: int
    super_pod_id: int
    server_index: int


def _fields(text: str) -> Dict[str, str]:
    """Return the values of lines "label : value". Only the first line of a label counts."""
    found: Dict[str, str] = {}
    for label, colon, value in (line.partition(":") for line in text.splitlines()):
        if colon and label.strip():
            found.setdefault(label.strip(), value.strip())
    return found


def parse_super_pod(text: str) -> SuperPod:
    """Parse ``npu-smi info -t spod-info -i NPU -c CHIP``. Raises HccnError ``unsupported_on_product`` outside super pods."""
    if "does not support querying spod-info" in text:
        raise HccnError("unsupported_on_product", "This device does not support querying spod-info.")
    fields = _fields(text)
    try:
        sdid = count_of(fields["SDID"]) if "SDID" in fields else None
        return SuperPod(sdid, *(count_of(fields[label]) for label in ("Super Pod Size", "Super Pod ID", "Server Index")))
    except (KeyError, ValueError):
        raise ParseError("npu-smi info -t spod-info printed unexpected output: %r" % beginning(text.strip(), 120)) from None


@dataclass(frozen=True)
class Board:
    """Versions of an NPU and its serial number, as far as npu-smi prints them. ``software`` is the driver version."""

    software: Optional[str]
    firmware: Optional[str]
    serial: Optional[str] = None


def parse_board(text: str) -> Board:
    """Parse ``npu-smi info -t board -i NPU``. Raises ParseError if both versions are missing."""
    fields = _fields(text)
    software, firmware = fields.get("Software Version"), fields.get("Firmware Version")
    if software is None and firmware is None:
        raise ParseError("npu-smi info -t board printed no version: %r" % beginning(text.strip(), 120))
    serial = printable(fields.get("Serial Number", ""))
    return Board(software, firmware, None if serial.upper() in _NO_SERIAL else serial)
