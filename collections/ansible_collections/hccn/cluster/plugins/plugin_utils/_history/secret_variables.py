# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Recognise secrets in variables by the name of the variable, the name of a key in it, or because they are vaulted; and passwords in URLs of proxies."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from ...module_utils._core.untrusted_text import has_template
from .known_values import LONGEST, SHORTEST

SMALLEST_NUMBER = 100_000
"""Minimum value of a number that may be a secret; smaller ones are ports, sizes and times."""
COMMON = frozenset("admin administrator default false hccn localhost none null password root secret test token true user".split())
"""Values that are never secrets: defaults, flags, user names."""
MOST_SEARCHED = 64
"""Maximum number of elements of a variable that is searched for secrets. Larger ones are results, and searching them for every host is too slow."""
MOST_COLLECTED = 1 << 20
"""Maximum of characters plus values of the secrets that are collected for a host or result."""
SEARCHED_LEVELS, TAKEN_LEVELS = 2, 4

WORDS = r"pass(?:word|wd|phrase)?|secret|token|credentials?|api_?key|access_?key|private_?key|snmp_community"
"""Pattern of words that mark a name as that of a secret."""
_SECRET_NAME = re.compile(rf"(?i)(?:^|[_\-.])(?:{WORDS})(?:$|[_\-.\d])|[_\-.]key$")
_NO_SECRET = re.compile(r"(?i)(?:file|path|dir|sock|url|host|user|name|length|enabled)$")
_ACCOMPANYING = re.compile(
    rf"{_NO_SECRET.pattern}|(?:type|kind|scheme|port|realm|domain|region|algorithm|method|timeout|expires_?\w*|description|comment|version|address)$"
)
_PROXY_NAME = re.compile(r"(?i)https?_proxy$")
"""Names of variables whose value is a URL. A password in it is a secret, the rest of the URL is not."""
_OF_A_RESULT = frozenset({"stdout", "stdout_lines", "content", "json", "results"})
_MAGIC = frozenset({"groups", "hostvars", "vars", "play_hosts", "environment"})


def is_secret_name(name: object) -> bool:
    """Return True if the name is that of a secret: ``ansible_password``, ``AWS_SECRET_ACCESS_KEY``, ``api-token``."""
    return isinstance(name, str) and _SECRET_NAME.search(name) is not None and _NO_SECRET.search(name) is None


def is_template(value: object) -> bool:
    """Return True if a value contains a Jinja template."""
    return isinstance(value, str) and has_template(value)


def is_searchable(value: str) -> bool:
    """Return True if a value is long enough to be searched for and not a common word."""
    return len(value) >= SHORTEST and value.lower() not in COMMON


def _unchanged(value: Any) -> Any:
    return value


def secret_values(variables: Mapping[str, Any], evaluate: Callable[[Any], Any] = _unchanged) -> set[str]:
    """Return all texts in variables whose names mark them as secrets, and all vaulted texts.

    ``evaluate`` returns the value of a template or a vaulted text, None if it is unknown.
    """
    collector = _Collector(evaluate)
    for name, value in variables.items():
        is_excluded = name in _MAGIC or str(name).startswith("ansible_")
        collector.search(name, value, 0 if is_excluded else SEARCHED_LEVELS)
    return {value for value in collector.texts if is_searchable(value)}


class _Collector:
    def __init__(self, evaluate: Callable[[Any], Any]) -> None:
        self.texts: set[str] = set()
        self._evaluate = evaluate
        self._left = MOST_COLLECTED

    def search(self, name: object, value: Any, levels: int) -> None:
        """Collect a value that is a secret; search any other value for nested secrets, ``levels`` deep: ``bmc: {password: ...}``."""
        if is_secret_name(name) or _is_vaulted(value):
            self._collect(value, TAKEN_LEVELS)
        elif isinstance(value, str) and _PROXY_NAME.search(str(name)):
            self._add_password_of(self._evaluate(value) if is_template(value) else value)
        elif levels and isinstance(value, (Mapping, list, tuple)) and len(value) <= MOST_SEARCHED:
            for key, item in _items(value):
                self.search(key, item, levels - 1)

    def _collect(self, value: Any, levels: int) -> None:
        """Collect all texts of a secret except those that only accompany it, such as a user name or a port."""
        self._left -= 1
        if self._left < 0:
            return
        if isinstance(value, str) or _is_vaulted(value):
            self._collect_text(value, levels)
        elif isinstance(value, int) and value >= SMALLEST_NUMBER:
            self._add(str(value))
        elif isinstance(value, (Mapping, list, tuple)) and levels:
            registered = isinstance(value, Mapping) and "changed" in value
            for key, item in _items(value):
                if is_secret_name(key) or (key in _OF_A_RESULT if registered else not _ACCOMPANYING.search(str(key))):
                    self._collect(item, levels - 1)

    def _collect_text(self, value: Any, levels: int) -> None:
        known = self._evaluate(value) if _is_vaulted(value) or is_template(value) else value
        if isinstance(known, str):
            self._add(str(known))
        elif known is not None and levels:
            self._collect(known, levels - 1)

    def _add(self, text: str) -> None:
        text = text[:LONGEST].strip()
        self._left -= len(text)
        self.texts.add(text)
        self._add_password_of(text)

    def _add_password_of(self, url: Any) -> None:
        """Add the password in a URL, as it is written and decoded. Do nothing for other texts."""
        if isinstance(url, str) and "://" in url:
            with contextlib.suppress(ValueError):
                password = urlsplit(url.strip()[:LONGEST]).password or ""
                self._left -= len(password)
                self.texts.update((password, unquote(password)))


def _items(value: Mapping[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterable[tuple[Any, Any]]:
    """Return keys and values; the elements of a list have an empty key."""
    return value.items() if isinstance(value, Mapping) else (("", item) for item in value)


def _is_vaulted(value: object) -> bool:
    return getattr(value, "_ciphertext", None) is not None
