# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""hccn.conf as data: pure functions from text to settings, and from text and wanted values to new text.

Grammar (source: hicann/driver cfg.c, tool.c, tool_recovery.c): a line ``key_<physical id>=value``, no blanks around ``=``, exact key;
lines that start with # or are shorter than 3 characters are ignored; the first line of a key wins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

REPEATABLE_KEYS = ("arp", "ip_rule", "ip_route", "IPv6neigh", "IPv6route_address")
"""Keys that may be repeated; of all others the first line wins."""

NUL_BYTES = "nul_bytes"
"""Error code of a file after an interrupted write: it has the length of the new text, and NUL bytes fill the part that was not written."""

_NULS = re.compile(r"\0+\n?")
_NULS_FIRST = re.compile(r"^\0+\n?", re.MULTILINE)

MIN_LINE = 3
"""The tool ignores shorter lines."""

_LINE = re.compile(r"^([^=\s]+)_(\d{1,9})=(.*)$")


@dataclass(frozen=True)
class Setting:
    """A line: ``key`` without the device, ``line`` counted from 1."""

    device: int
    key: str
    value: str
    line: int

    @property
    def full_key(self) -> str:
        return "%s_%d" % (self.key, self.device)


def lines_of(text: str) -> List[str]:
    """Return the lines with their line ends. Like the tool, split at LF only."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def parse_line(line: str, number: int = 0) -> Optional[Setting]:
    """Return the setting of a line, None for a comment, a blank line and a line that the tool ignores. A NUL byte ends a line, as in C strings."""
    content = line.partition("\0")[0].rstrip("\r\n")
    if content.startswith("#") or len(content) < MIN_LINE:
        return None
    found = _LINE.match(content)
    if found is None:
        return None
    return Setting(int(found.group(2)), found.group(1), found.group(3), number)


def settings(text: str) -> List[Setting]:
    """Return all settings in the order of the file."""
    parsed = (parse_line(line, number) for number, line in enumerate(lines_of(text), 1))
    return [setting for setting in parsed if setting is not None]


def value_of(text: str, device: int, key: str) -> Optional[str]:
    """Return the value that the tool reads, that of the first line of the key."""
    for setting in settings(text):
        if setting.device == device and setting.key == key:
            return setting.value
    return None


def values_by_device(text: str) -> Dict[int, Dict[str, str]]:
    """Return the values that the tool reads, those of the first line of each key, by device and key."""
    found: Dict[int, Dict[str, str]] = {}
    for setting in settings(text):
        found.setdefault(setting.device, {}).setdefault(setting.key, setting.value)
    return found


def ends_well(text: str) -> bool:
    """Return True if the last line ends in a newline. Otherwise the tool appends the next key to that line."""
    return not text or text.endswith("\n")


def end_fault(text: str) -> Optional[str]:
    """Return what is wrong with the end: ``nul_bytes``, ``no_final_newline``, or None."""
    if ends_well(text):
        return None
    return NUL_BYTES if text.endswith("\0") else "no_final_newline"


def without_nuls(text: str) -> str:
    """Return the text without NUL bytes. Within a line they become a line end, which the last line may have lacked."""
    return _NULS.sub("\n", _NULS_FIRST.sub("", text)) if "\0" in text else text


Wishes = Mapping[Tuple[int, str], Sequence[str]]
"""(device, key) -> its values; more than one only for a repeatable key, none to remove it."""


def edit(text: str, wishes: Wishes) -> str:
    """Return the text with exactly these values for these keys. Everything else stays byte for byte, except that NUL bytes are removed.

    A key keeps the position of its first line and loses further lines; new keys are appended. The result ends in a newline.
    """
    lines = lines_of(without_nuls(text))
    if lines and not ends_well(lines[-1]):
        lines[-1] += "\n"
    left: Dict[Tuple[int, str], List[str]] = {key: list(values) for key, values in wishes.items()}
    kept: List[str] = []
    for line in lines:
        setting = parse_line(line)
        wish = left.get((setting.device, setting.key)) if setting else None
        if setting is None or wish is None:
            kept.append(line)
        elif setting.value in wish and setting.key in REPEATABLE_KEYS:
            wish.remove(setting.value)
            kept.append(line)
        elif wish and setting.key not in REPEATABLE_KEYS:
            kept.append(line if setting.value == wish[0] else "%s=%s\n" % (setting.full_key, wish[0]))
            wish.pop(0)
    for (device, key), values in left.items():
        kept.extend("%s_%d=%s\n" % (key, device, value) for value in values)
    return "".join(kept)
