# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parse and edit the text of hccn.conf, with pure functions.

Grammar (source: hicann/driver cfg.c, tool.c, tool_recovery.c; recorded runs of the real front end): a line is ``key_<physical id>=value``, with the
exact key, an id without leading zeros, and no blank before ``=``. The value is everything up to LF: blanks and CR belong to it. Lines that start with
# or are shorter than 3 characters are ignored. Only the first line of a key counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

REPEATABLE_KEYS = ("arp", "ip_rule", "ip_route", "IPv6neigh", "IPv6route_address")
"""Keys that may be repeated. Of all other keys only the first line counts."""

NUL_BYTES = "nul_bytes"
"""Error code of a file after an interrupted write, which has the length of the new text, with NUL bytes in place of the part that was not written."""

_HALVES = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # surrogateescape uses U+DC80 to U+DCFF for bytes that are not UTF-8
_NULS = re.compile(r"\0+\n?")
_NULS_FIRST = re.compile(r"^\0+\n?", re.MULTILINE)

MIN_LINE = 3
"""Minimum length of a line. hccn_tool ignores shorter lines."""

MAX_LINE = 383
"""Maximum number of bytes that hccn_tool reads as one line, with its LF. It reads the rest of a longer line as a line of its own."""

MAX_BYTES = 1023999
"""Maximum size of a text that hccn_tool can write: its buffer of 1,024,000 bytes also holds a NUL byte. It reads larger files, but changes none of them."""

_LINE = re.compile(r"([^=\s]+)_(0|[1-9][0-9]{0,8})=(.*)", re.DOTALL)


@dataclass(frozen=True)
class Setting:
    """A line of the file. ``key`` has no device number, ``line`` is counted from 1."""

    device: int
    key: str
    value: str
    line: int

    @property
    def full_key(self) -> str:
        return "%s_%d" % (self.key, self.device)


def encoded(text: str) -> bytes:
    """Return the bytes of a text of hccn.conf. A character that no file can hold, half of a pair of UTF-16, counts as a question mark."""
    return _HALVES.sub("?", text).encode("utf-8", "surrogateescape")


def lines_of(text: str) -> List[str]:
    """Return the lines with their line ends. Like hccn_tool, split at LF only."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def pieces_of(line: str) -> List[str]:
    """Return the pieces that hccn_tool reads as lines: one, unless the line is longer than MAX_LINE."""
    if len(line) <= MAX_LINE // 4:  # a character has at most 4 bytes
        return [line]
    content = encoded(line)
    return [content[start:start + MAX_LINE].decode("utf-8", "surrogateescape") for start in range(0, len(content), MAX_LINE)]


def parse_line(line: str, number: int = 0) -> Optional[Setting]:
    """Return the setting of a line, None for comments, blank lines and lines that hccn_tool ignores. A NUL byte ends a line, as in C strings."""
    content = line.partition("\0")[0]
    if content.startswith("#") or len(content) < MIN_LINE:
        return None
    found = _LINE.fullmatch(content[:-1] if content.endswith("\n") else content)
    if found is None:
        return None
    return Setting(int(found.group(2)), found.group(1), found.group(3), number)


def settings(text: str) -> List[Setting]:
    """Return all settings in the order of the file."""
    parsed = (parse_line(piece, number) for number, line in enumerate(lines_of(text), 1) for piece in pieces_of(line))
    return [setting for setting in parsed if setting is not None]


def value_of(text: str, device: int, key: str) -> Optional[str]:
    """Return the value of the first line of a key, which is the one that hccn_tool reads."""
    for setting in settings(text):
        if setting.device == device and setting.key == key:
            return setting.value
    return None


def values_by_device(text: str) -> Dict[int, Dict[str, str]]:
    """Return the value of the first line of each key, by device and key."""
    found: Dict[int, Dict[str, str]] = {}
    for setting in settings(text):
        found.setdefault(setting.device, {}).setdefault(setting.key, setting.value)
    return found


def ends_in_newline(text: str) -> bool:
    """Return True if the last line ends in a newline. Otherwise hccn_tool appends the next key to that line."""
    return not text or text.endswith("\n")


def ending_problem(text: str) -> Optional[str]:
    """Return the error code of a text without a final newline: ``nul_bytes``, ``no_final_newline``, or None."""
    if ends_in_newline(text):
        return None
    return NUL_BYTES if text.endswith("\0") else "no_final_newline"


def without_nul_bytes(text: str) -> str:
    """Return the text without NUL bytes. Within a line they become a line end, since they may have replaced one."""
    return _NULS.sub("\n", _NULS_FIRST.sub("", text)) if "\0" in text else text


Edits = Mapping[Tuple[int, str], Sequence[str]]
"""The values by (device, key): several for a repeatable key only, none to remove the key."""


def edit(text: str, edits: Edits) -> str:
    """Return the text with exactly these values for these keys. Other lines are preserved byte for byte, except that NUL bytes are removed.

    A key keeps the position of its first line, and its other lines are removed. New keys are appended. The result ends in a newline.
    """
    lines = lines_of(without_nul_bytes(text))
    if lines and not ends_in_newline(lines[-1]):
        lines[-1] += "\n"
    remaining: Dict[Tuple[int, str], List[str]] = {key: list(values) for key, values in edits.items()}
    kept: List[str] = []
    for line in (piece for whole in lines for piece in pieces_of(whole)):
        setting = parse_line(line)
        values = remaining.get((setting.device, setting.key)) if setting else None
        if setting is None or values is None:
            kept.append(line)
        elif setting.value in values and setting.key in REPEATABLE_KEYS:
            values.remove(setting.value)
            kept.append(line)
        elif values and setting.key not in REPEATABLE_KEYS:
            kept.append(line if setting.value == values[0] else "%s=%s\n" % (setting.full_key, values[0]))
            values.pop(0)
        elif kept and not kept[-1].endswith("\n"):
            kept.append("\n")  # the end of the removed line also ended the piece before it
    for (device, key), values in remaining.items():
        kept.extend("%s_%d=%s\n" % (key, device, value) for value in values)
    return "".join(kept)
