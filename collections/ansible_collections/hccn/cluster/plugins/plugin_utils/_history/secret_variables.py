# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Recognise secrets among variables: by the name of the variable, by the name of a key in it, or because they are vaulted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...module_utils._core.untrusted_text import has_template
from .known_values import LONGEST, SHORTEST

SMALLEST_NUMBER = 100_000
"""The smallest number that can be a secret; smaller ones are ports, sizes and times."""
COMMON = frozenset("admin administrator default false hccn localhost none null password root secret test token true user".split())
"""Values that are never secrets: defaults, flags, users."""
MOST_SEARCHED = 64
"""Entries of a variable that are searched for secrets; larger variables are results, and searching them for every host costs too much."""
MOST_COLLECTED = 1 << 20
"""Characters plus values of the secrets of a host or result that are collected."""
SEARCHED_LEVELS, TAKEN_LEVELS = 2, 4

WORDS = r"pass(?:word|wd|phrase)?|secret|token|credentials?|api_?key|access_?key|private_?key|snmp_community"
"""Pattern of the words that mark the name of a secret."""
_SECRET_NAME = re.compile(rf"(?i)(?:^|[_\-.])(?:{WORDS})(?:$|[_\-.\d])|[_\-.]key$")
_NO_SECRET = re.compile(r"(?i)(?:file|path|dir|sock|url|host|user|name|length|enabled)$")
_BESIDE = re.compile(
    rf"{_NO_SECRET.pattern}|(?:type|kind|scheme|port|realm|domain|region|algorithm|method|timeout|expires_?\w*|description|comment|version|address)$"
)
_OF_A_RESULT = frozenset({"stdout", "stdout_lines", "content", "json", "results"})
_MAGIC = frozenset({"groups", "hostvars", "vars", "play_hosts", "environment"})


def is_secret_name(name: object) -> bool:
    """Return True if the name is that of a secret: ``ansible_password``, ``AWS_SECRET_ACCESS_KEY``, ``api-token``."""
    return isinstance(name, str) and _SECRET_NAME.search(name) is not None and _NO_SECRET.search(name) is None


def is_template(value: object) -> bool:
    """Return True if a value contains marks of a Jinja template."""
    return isinstance(value, str) and has_template(value)


def is_searchable(value: str) -> bool:
    """Return True if a value can be searched for in texts: it is long enough and not a common word."""
    return len(value) >= SHORTEST and value.lower() not in COMMON


def _unchanged(value: Any) -> Any:
    return value


def secret_values(variables: Mapping[str, Any], opened: Callable[[Any], Any] = _unchanged) -> set[str]:
    """Return all texts in variables whose names mark them as secrets, and all vaulted texts.

    ``opened`` returns the value of a template or a vaulted text, None if it cannot be known.
    """
    collector = _Collector(opened)
    for name, value in variables.items():
        not_searched = name in _MAGIC or str(name).startswith("ansible_")
        collector.search(name, value, 0 if not_searched else SEARCHED_LEVELS)
    return {value for value in collector.texts if is_searchable(value)}


class _Collector:
    def __init__(self, opened: Callable[[Any], Any]) -> None:
        self.texts: set[str] = set()
        self._opened = opened
        self._left = MOST_COLLECTED

    def search(self, name: object, value: Any, levels: int) -> None:
        """Collect a value that is a secret, and search any other value for secrets up to ``levels`` deep: ``bmc: {password: ...}``."""
        if is_secret_name(name) or _is_vaulted(value):
            self._take(value, TAKEN_LEVELS)
        elif levels and isinstance(value, (Mapping, list, tuple)) and len(value) <= MOST_SEARCHED:
            for key, item in _items(value):
                self.search(key, item, levels - 1)

    def _take(self, value: Any, levels: int) -> None:
        """Collect all texts of a secret except those that accompany it: the name of a user, a port."""
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
    """Return keys and values; the elements of a list have an empty key."""
    return value.items() if isinstance(value, Mapping) else (("", item) for item in value)


def _is_vaulted(value: object) -> bool:
    return getattr(value, "_ciphertext", None) is not None
