# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The devices of a host, as npu-smi or /dev/davinci* show them, and the option ``devices`` that selects some of them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Iterable, List, Optional, Sequence, Tuple

from .._core.errors import HccnError, InputError
from .._core.words import ranges
from .npu_smi import NpuSmi
from .parse_npu_smi import Chip

MAX_DEVICE_ID = 63
"""The largest physical id that any reader of rank tables accepts (MindIE-LLM, ranktable_config.cpp)."""

_RANGE = re.compile(r"^(\d{1,3})(?:-(\d{1,3}))?$")


@dataclass(frozen=True)
class Host:
    """The NPUs of a host. ``product`` is 910A, A2, A3 or 950, ``chip`` the name that npu-smi prints, ``chips`` the ids that npu-smi uses.

    If only device files are known, ``product`` and ``chip`` are None and ``chips`` is empty.
    """

    devices: Tuple[int, ...]
    product: Optional[str]
    chip: Optional[str]
    chips: Tuple[Chip, ...] = ()

    @property
    def dialect(self) -> str:
        """The command line of hccn_tool, which differs on the 950."""
        return "950" if self.product == "950" else "910"

    def refuse_950(self) -> None:
        """Raise HccnError ``unsupported_dialect`` on a 950, for which only some queries of hccn_tool are supported."""
        if self.dialect == "950":
            raise HccnError("unsupported_dialect", "the NPUs of this host are of the 950, whose hccn_tool has a different command line: nothing was done",
                            "run hccn_tool by hand")


def expand(wanted: Iterable[str], present: Iterable[int]) -> List[int]:
    """Return the ids of ``["all"]`` or of ids and ranges (``["0-3", "7"]``), in the order given.

    Raises InputError for an empty list, invalid ids, descending ranges, duplicate ids and ids above MAX_DEVICE_ID.
    """
    entries = [str(entry).strip() for entry in wanted]
    if not entries:
        raise InputError("devices is empty: give ids such as 0-7, or all")
    if entries == ["all"]:
        return list(present)
    ids: List[int] = []
    for entry in entries:
        found = _RANGE.match(entry)
        if found is None:
            raise InputError("devices: %r is neither an id, nor a range such as 0-7, nor all alone" % entry)
        first, last = int(found.group(1)), int(found.group(2) or found.group(1))
        if last < first or last > MAX_DEVICE_ID:
            raise InputError("devices: the range %r is descending or exceeds %d" % (entry, MAX_DEVICE_ID))
        ids.extend(range(first, last + 1))
    duplicates = sorted({number for number in ids if ids.count(number) > 1})
    if duplicates:
        raise InputError("devices: %s named twice" % ", ".join(map(str, duplicates)))
    return ids


def unknown_devices(where: str, requested: Sequence[int], present: Sequence[int]) -> List[str]:
    """Return a message about those of ``requested`` that the host does not have, if any. ``where``: such as ``targets[%s].device``, with ``%s`` for indices."""
    indices = [index for index, device in enumerate(requested) if device not in present]
    if not indices:
        return []
    ids = {requested[index] for index in indices}
    plural = "s" if len(ids) > 1 else ""
    return [where % ranges(indices) + ": this host has no device%s %s, only %s" % (plural, ranges(ids), ranges(present))]


_DAVINCI = re.compile(r"^davinci(\d+)$")


def has_device_files(names: Iterable[str]) -> bool:
    """Return True if any of these names in /dev is the name of an NPU."""
    return any(map(_DAVINCI.match, names))


def parse_device_files(names: Iterable[str]) -> Host:
    """Return the devices of a host from the names in /dev. Raises HccnError ``no_device``."""
    ids = sorted(int(found.group(1)) for found in map(_DAVINCI.match, names) if found)
    if not ids:
        raise HccnError("no_device", "no NPU on this host: npu-smi is missing and /dev contains no davinci device", "check that the driver is installed")
    return Host(tuple(ids), None, None)


def probe(smi: NpuSmi, dev: str = "/dev") -> Host:
    """Return the devices of this host as npu-smi reports them, or from the device files if npu-smi is missing. Raises HccnError."""
    try:
        found = smi.chips()
    except HccnError as error:
        if error.code != "tool_missing":
            raise
        return parse_device_files(os.listdir(dev))
    return Host(tuple(chip.device for chip in found.chips), found.product, found.name, found.chips)
