# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find known secrets in texts, also in quoted and escaped forms.

Ansible and the tools print values as JSON, YAML, Python's repr, a word of a shell and in URLs, and each escapes some characters differently. All of these
forms are searched for; encodings such as base64 and hashes are not.

A text is scanned once. At each position one lookup of the next four characters decides whether any value can begin there, and at most PIECE more lookups
decide whether one does. The work is linear in the text and independent of the number of values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote, quote_plus

import yaml

SHORTEST = 4
"""Minimum length of a value; shorter ones would hide large parts of all texts."""
PIECE = 64
"""Characters that are compared. Longer forms are split into pieces, the last of which overlaps, so that complete pieces of a cut value are hidden, too."""
LONGEST = 65536
"""Maximum number of characters of a value that are searched for."""
SHORTEST_LINE = 16
"""Minimum length of a line of a multi-line value, such as a private key, that is also searched for."""
SHORTEST_PHRASE = 12
MOST_WORDS = 12
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]*")
_GAP = re.compile(r"\s+")


def _in_python(value: str) -> str:
    # With both kinds of quotes in front, repr() escapes an apostrophe as in a text that contains both.
    return repr("'\"" + value)[4:-1]


def _in_yaml(value: str) -> str:
    return yaml.safe_dump(value, default_style='"', width=float("inf")).rstrip("\n")[1:-1]


def _in_json(value: str) -> str:
    return json.dumps(value)[1:-1]


_QUOTING: tuple[Callable[[str], str], ...] = (
    _in_json,
    lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    lambda value: repr(value)[1:-1],
    _in_python,
    lambda value: repr(value.encode("utf-8", "surrogatepass"))[2:-1],
    _in_yaml,
    lambda value: value.replace("'", "''"),  # a single-quoted text of YAML
    lambda value: value.replace("'", "'\"'\"'"),  # shlex.quote, as Ansible prints command lines
    lambda value: quote(value, safe="", errors="replace"),
    lambda value: quote(value, errors="replace"),
    lambda value: quote_plus(value, errors="replace"),
)


def forms(value: str) -> set[str]:
    """Return the texts by which a value is recognised, at most PIECE characters each."""
    found = {form for part in _parts(value[:LONGEST]) for form in _quoted(part)}
    return {piece for form in found for piece in _pieces(form)}


def _parts(value: str) -> Iterator[str]:
    """Yield the value, each of its lines, and the parts of a phrase that may have been cut between two words (see _core.words)."""
    yield value
    lines = value.splitlines()
    gaps = list(_GAP.finditer(value)) if len(lines) == 1 else []
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= SHORTEST_LINE and not line.startswith("-----"))
    elif len(gaps) < MOST_WORDS:
        for gap in gaps:
            yield from (part for part in (value[:gap.start()], value[gap.end():]) if len(part) >= SHORTEST_PHRASE)


def _quoted(part: str) -> set[str]:
    if _PLAIN.fullmatch(part):
        return {part}
    once = {part, *(quoting(part) for quoting in _QUOTING)}
    return once | {_in_json(form) for form in once}  # JSON in JSON, when a module prints the answer of another one


def _pieces(form: str) -> Iterator[str]:
    yield from (form[place:place + PIECE] for place in range(0, len(form) - PIECE, PIECE))
    yield form[-PIECE:]


class KnownValues:
    """A set of values that ``hidden`` finds in texts and ``learn`` extends."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._forms: set[str] = set()
        self._lengths: dict[str, list[int]] = {}
        """The lengths of the forms by their first SHORTEST characters, the longest first."""

    def __bool__(self) -> bool:
        return bool(self._values)

    def learn(self, values: Iterable[str]) -> None:
        fresh = set(values) - self._values
        self._values |= fresh
        for form in {form for value in fresh for form in forms(value)} - self._forms:
            self._forms.add(form)
            lengths = self._lengths.setdefault(form[:SHORTEST], [])
            if len(form) not in lengths:
                lengths.append(len(form))
                lengths.sort(reverse=True)

    def hidden(self, text: str, mark: str) -> str:
        """Return the text with ``mark`` in place of each value, or of several adjacent or overlapping ones."""
        lengths = self._lengths
        starts = [place for place in range(len(text) - SHORTEST + 1) if text[place:place + SHORTEST] in lengths] if lengths else ()
        parts: list[str] = []
        end = 0
        for start in starts:
            reached = start + self._length_at(text, start)
            if reached > max(start, end):
                parts += [text[end:start], mark] if start > end or not parts else []
                end = reached
        return "".join([*parts, text[end:]]) if parts else text

    def _length_at(self, text: str, start: int) -> int:
        """Return the length of the longest value that begins at ``start``, 0 if there is none."""
        return next((length for length in self._lengths[text[start:start + SHORTEST]] if text[start:start + length] in self._forms), 0)
