# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Format names and texts for messages, sort names, and make untrusted texts safe to show or quote."""

from __future__ import annotations

import re
from typing import Any, Iterable, List, Optional, Sequence, Tuple

from .numbers import is_count

SHOWN = 8
LONGEST_NAME, LONGEST_TEXT = 64, 2000
"""Maximum lengths of an untrusted name, and of an untrusted text, when they are shown."""
CUT = "..."
"""Replaces the part of a text that was cut off."""
_NUMBER = re.compile(r"([0-9]+)")
_DEVICE_NUMBER = r"((?:\b(?:device|NPU|npu)(?: id)? |(?<![\w-])-i |tls_enable_))%d(?!\w|\.\d)"
_BETWEEN_WORDS = re.compile(r"[\s\u3000-\u303f\uff00-\uffef]")
"""White space, and the punctuation of languages without white space between words."""


def some(names: Sequence[str], shown: int = SHOWN, count: Optional[int] = None) -> str:
    """Return the first ``shown`` names, as in ``a, b and 3 more``. ``count``: the number of all names, if ``names`` is only the first part."""
    more = (len(names) if count is None else count) - len(names[:shown])
    return ", ".join(names[:shown]) + (" and %d more" % more if more > 0 else "")


def counted(number: int, name: str) -> str:
    """Return ``1 host`` or ``2 hosts``."""
    return "%d %s%s" % (number, name, "" if number == 1 else "s")


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers in ascending order, with consecutive numbers as ranges: ``0-3, 7``."""
    runs: List[List[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join("%d-%d" % (run[0], run[-1]) if len(run) > 1 else "%d" % run[0] for run in runs)


def npus(devices: Iterable[int]) -> str:
    """Return the name of NPUs of one host for a message: ``NPU 3``, ``NPUs 0-3, 7``."""
    ids = set(devices)
    return ("NPU %s" if len(ids) == 1 else "NPUs %s") % ranges(ids)


def without_device_number(text: str, device: int) -> str:
    """Return the text with ``N`` in place of its device number, so that equal errors of several devices have equal texts."""
    return re.sub(_DEVICE_NUMBER % device, r"\g<1>N", text)


def natural(name: str) -> List[Tuple[int, int, str]]:
    """Return a sort key that orders n2 before n10, and numbers before letters."""
    return [(0, int(part), "") if is_count(part) else (1, 0, part) for part in _NUMBER.split(name) if part]


def printable(text: Any, most: int = LONGEST_NAME) -> str:
    """Return an untrusted text (of a host, a switch, a process) as one line of at most ``most`` characters that is safe to show on a terminal.

    Control characters, line ends, escape sequences and marks that change the writing direction are replaced by ``?``. A long text is cut after a word.
    """
    shown = str(text)
    if len(shown) > most:
        cut = shown[:most - 3]
        shown = (cut.rpartition(" ")[0] or cut) + "..."
    return shown if shown.isprintable() else "".join(character if character.isprintable() else "?" for character in shown)


def all_printable(value: Any, most: int = LONGEST_TEXT) -> Any:
    """Return the value with ``printable`` applied to every text in its lists and dictionaries."""
    if isinstance(value, str):
        return printable(value, most)
    if isinstance(value, dict):
        return {all_printable(key, most): all_printable(inner, most) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [all_printable(inner, most) for inner in value]
    return value


def beginning(text: str, limit: int) -> str:
    """Return at most the first ``limit`` characters, cut between two words.

    Words are never split, since redaction would not recognise a part of a key or a token.
    """
    if len(text) <= limit:
        return text
    end = limit
    while end and not (_BETWEEN_WORDS.match(text[end]) or _BETWEEN_WORDS.match(text[end - 1])):
        end -= 1
    return _text_or_length(text[:end].rstrip() + " " + CUT, text)


def ending(text: str, limit: int) -> str:
    """Return at most the last ``limit`` characters, cut between two words."""
    if len(text) <= limit:
        return text
    start = len(text) - limit
    while start < len(text) and not (_BETWEEN_WORDS.match(text[start - 1]) or _BETWEEN_WORDS.match(text[start])):
        start += 1
    return _text_or_length(CUT + " " + text[start:].lstrip(), text)


def _text_or_length(quoted: str, text: str) -> str:
    return "(%d characters without a space)" % len(text) if quoted.strip() == CUT else quoted
