# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Which devices: the option ``devices``, and what npu-smi or /dev/davinci* show."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Iterable, List, Optional, Sequence, Tuple

from .._core.errors import HccnError, InputError
from .._core.words import ranges
from .parse_npu_smi import Chip
from .npu_smi import NpuSmi

MAX_DEVICE_ID = 63
"""The largest physical id that any reader of rank tables takes (MindIE-LLM, ranktable_config.cpp)."""

_RANGE = re.compile(r"^(\d{1,3})(?:-(\d{1,3}))?$")


@dataclass(frozen=True)
class Host:
    """``product``: 910A, A2, A3, 950, or None where only device files told; ``chip``: the name that npu-smi prints.

    ``chips`` tells how npu-smi calls each device; empty where only device files told.
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
        """Raise HccnError on a 950, of whose hccn_tool only some queries are supported."""
        if self.dialect == "950":
            raise HccnError("unsupported_dialect", "the NPUs of this host are of the 950, whose hccn_tool has a different command line: nothing was done",
                            "run hccn_tool by hand")


def expand(wanted: Iterable[str], present: Iterable[int]) -> List[int]:
    """Return the ids of ``["all"]`` or of ids and ranges (``["0-3", "7"]``), in the order given.

    Raises InputError for an empty list, a word that is no id, a falling range, an id twice or over MAX_DEVICE_ID.
    """
    words = [str(word).strip() for word in wanted]
    if not words:
        raise InputError("devices is empty: give ids such as 0-7, or all")
    if words == ["all"]:
        return list(present)
    ids: List[int] = []
    for word in words:
        found = _RANGE.match(word)
        if found is None:
            raise InputError("devices: %r is neither an id, nor a range such as 0-7, nor all alone" % word)
        first, last = int(found.group(1)), int(found.group(2) or found.group(1))
        if last < first or last > MAX_DEVICE_ID:
            raise InputError("devices: the range %r is descending or exceeds %d" % (word, MAX_DEVICE_ID))
        ids.extend(range(first, last + 1))
    twice = sorted({number for number in ids if ids.count(number) > 1})
    if twice:
        raise InputError("devices: %s named twice" % ", ".join(map(str, twice)))
    return ids


def unknown(where: str, named: Sequence[int], present: Sequence[int]) -> List[str]:
    """Return the sentence about those of ``named`` that the host does not have, if any. ``where``: ``targets[%s].device``, with places for ``%s``."""
    places = [place for place, device in enumerate(named) if device not in present]
    if not places:
        return []
    ids = {named[place] for place in places}
    plural = "s" if len(ids) > 1 else ""
    return [where % ranges(places) + ": this host has no device%s %s, only %s" % (plural, ranges(ids), ranges(present))]


_DAVINCI = re.compile(r"^davinci(\d+)$")


def has_device_files(names: Iterable[str]) -> bool:
    """Return True if one of these names in /dev is that of an NPU."""
    return any(map(_DAVINCI.match, names))


def parse_device_files(names: Iterable[str]) -> Host:
    """Return the host by the names in /dev. Raises HccnError ``no_device``."""
    ids = sorted(int(found.group(1)) for found in map(_DAVINCI.match, names) if found)
    if not ids:
        raise HccnError("no_device", "no NPU on this host: npu-smi is missing and /dev contains no davinci device", "check that the driver is installed")
    return Host(tuple(ids), None, None)


def probe(smi: NpuSmi, dev: str = "/dev") -> Host:
    """Return the devices of this host by npu-smi, or else by the device files. Raises HccnError."""
    try:
        seen = smi.chips()
    except HccnError as error:
        if error.code != "tool_missing":
            raise
        return parse_device_files(os.listdir(dev))
    return Host(tuple(chip.device for chip in seen.chips), seen.product, seen.name, seen.chips)
