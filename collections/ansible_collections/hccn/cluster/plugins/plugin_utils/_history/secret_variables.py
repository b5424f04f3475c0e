# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Which values of variables are secrets: by the variable's name, by the name of a key inside of it, or since they are vaulted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...module_utils._core.foreign_text import has_template
from .known_values import LONGEST, SHORTEST

SMALLEST_NUMBER = 100_000
"""Of numbers that are no texts: smaller ones are ports, sizes and times."""
COMMON = frozenset("admin administrator default false hccn localhost none null password root secret test token true user".split())
"""Values that are no secret, whatever they are the value of: a default, a switch, a user."""
MOST_SEARCHED = 64
"""Entries of a variable that is no secret itself: what is larger is a result, and costs too much for each host."""
MOST_GATHERED = 1 << 20
"""Characters of the secrets of one host, or of one result."""
SEARCHED_LEVELS, TAKEN_LEVELS = 2, 4

WORDS = r"pass(?:word|wd|phrase)?|secret|token|credentials?|api_?key|access_?key|private_?key|snmp_community"
"""What the name of a secret has in it, as a pattern."""
_SECRET_NAME = re.compile(rf"(?i)(?:^|[_\-.])(?:{WORDS})(?:$|[_\-.\d])|[_\-.]key$")
_NO_SECRET = re.compile(r"(?i)(?:file|path|dir|sock|url|host|user|name|length|enabled)$")
_BESIDE = re.compile(
    rf"{_NO_SECRET.pattern}|(?:type|kind|scheme|port|realm|domain|region|algorithm|method|timeout|expires_?\w*|description|comment|version|address)$"
)
_OF_A_RESULT = frozenset({"stdout", "stdout_lines", "content", "json", "results"})
_MAGIC = frozenset({"groups", "hostvars", "vars", "play_hosts", "environment"})


def is_secret_name(name: object) -> bool:
    """Return whether a variable of this name holds a secret: ``ansible_password``, ``AWS_SECRET_ACCESS_KEY``, ``api-token``."""
    return isinstance(name, str) and _SECRET_NAME.search(name) is not None and _NO_SECRET.search(name) is None


def is_template(value: object) -> bool:
    """Return whether a value looks like a template of Jinja."""
    return isinstance(value, str) and has_template(value)


def is_telling(value: str) -> bool:
    """Return whether a value can be looked for in texts: it is long enough, and no ordinary word."""
    return len(value) >= SHORTEST and value.lower() not in COMMON


def _as_it_is(value: Any) -> Any:
    return value


def secret_values(variables: Mapping[str, Any], opened: Callable[[Any], Any] = _as_it_is) -> set[str]:
    """Return the texts of variables whose names say that they are secrets, of what stands inside of them, and what is vaulted.

    ``opened`` gives back what a template or a vaulted text stands for, and None for what cannot be known.
    """
    gathered = _Gathered(opened)
    for name, value in variables.items():
        not_searched = name in _MAGIC or str(name).startswith("ansible_")
        gathered.search(name, value, 0 if not_searched else SEARCHED_LEVELS)
    return {value for value in gathered.texts if is_telling(value)}


class _Gathered:
    def __init__(self, opened: Callable[[Any], Any]) -> None:
        self.texts: set[str] = set()
        self._opened = opened
        self._left = MOST_GATHERED

    def search(self, name: object, value: Any, levels: int) -> None:
        """Take a value that is a secret; search one that is none for secrets, so many levels below: ``bmc: {password: ...}``."""
        if is_secret_name(name) or _is_vaulted(value):
            self._take(value, TAKEN_LEVELS)
        elif levels and isinstance(value, (Mapping, list, tuple)) and len(value) <= MOST_SEARCHED:
            for key, item in _items(value):
                self.search(key, item, levels - 1)

    def _take(self, value: Any, levels: int) -> None:
        """Take all texts of a secret, but for those that stand beside it: the name of a user, a port."""
        self._left -= 1
        if self._left < 0:
            return
        if isinstance(value, str) or _is_vaulted(value):
            self._take_text(value, levels)
        elif isinstance(value, int) and value >= SMALLEST_NUMBER:
            self._add(str(value))
        elif isinstance(value, (Mapping, list, tuple)) and levels:
            registered = isinstance(value, Mapping) and "changed" in value
            for key, item in _items(value):
                if is_secret_name(key) or (key in _OF_A_RESULT if registered else not _BESIDE.search(str(key))):
                    self._take(item, levels - 1)

    def _take_text(self, value: Any, levels: int) -> None:
        known = self._opened(value) if _is_vaulted(value) or is_template(value) else value
        if isinstance(known, str):
            self._add(str(known))
        elif known is not None and levels:
            self._take(known, levels - 1)

    def _add(self, text: str) -> None:
        text = text[:LONGEST].strip()
        self._left -= len(text)
        self.texts.add(text)


def _items(value: Mapping[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterable[tuple[Any, Any]]:
    """Keys and values; the elements of a list have no key."""
    return value.items() if isinstance(value, Mapping) else (("", item) for item in value)


def _is_vaulted(value: object) -> bool:
    return getattr(value, "_ciphertext", None) is not None
