# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Known secrets in texts, in every form that quoting gives them.

Ansible and the tools print what they were given as JSON, as YAML, as Python's repr, as a word of a shell and in addresses. Each of these writes some
characters in another form, so a value is looked for in all of them. Base64, hashes and the like are not known.

A text is looked through once, from its first character to its last. At each place the next four characters decide, by one look-up, whether any value may
begin there; at most PIECE more look-ups decide whether one does. The work is linear in the text, and does not grow with the number of values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote, quote_plus

import yaml

SHORTEST = 4
"""Characters of a value that is looked for: a shorter one would hide half of all texts."""
PIECE = 64
"""Characters that are compared. A longer form is looked for in pieces, the last of which overlaps: of one that was cut, the whole pieces are hidden, too."""
LONGEST = 65536
"""Characters of a value; what comes after them is not known."""
SHORTEST_LINE = 16
"""Of a value of several lines, as a private key is, whose lines tools print one by one."""
SHORTEST_PHRASE = 12
MOST_WORDS = 12
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]*")
_GAP = re.compile(r"\s+")


def _in_python(value: str) -> str:
    # Both quotes before it, so that an apostrophe is escaped as in a text that has both.
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
    """Return the texts by which a value is recognised."""
    found = {form for part in _parts(value[:LONGEST]) for form in _quoted(part)}
    return {piece for form in found for piece in _pieces(form)}


def _parts(value: str) -> Iterator[str]:
    """The value; each of its lines; and what is left of a phrase that was cut between two words (_core.words)."""
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
    return once | {_in_json(form) for form in once}  # JSON in JSON, as of a module that prints another one's answer


def _pieces(form: str) -> Iterator[str]:
    yield from (form[place:place + PIECE] for place in range(0, len(form) - PIECE, PIECE))
    yield form[-PIECE:]


class KnownValues:
    """The values that ``hidden`` finds. ``learn`` adds to them."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._forms: set[str] = set()
        self._lengths: dict[str, list[int]] = {}
        """By the first SHORTEST characters of forms: how long those are, the longest first."""

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
        """Return the text with one ``mark`` in the place of each value, or of several that overlap or have nothing between them."""
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
        """How long the longest value is that begins there; 0 for none."""
        return next((length for length in self._lengths[text[start:start + SHORTEST]] if text[start:start + length] in self._forms), 0)
