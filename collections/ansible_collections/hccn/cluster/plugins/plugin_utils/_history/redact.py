# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Takes secrets out of what is kept: what a tool prints may hold what it was given.

Known values (of variables and of the environment whose names say that they are secrets) go wherever they stand. Besides, what looks like a secret
goes: ``password=...``, keys in PEM, bearer tokens, the user part of an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

HIDDEN = "(hidden)"
SHORTEST = 4
"""Characters of a value that is looked for: a shorter one would hide half of all texts."""

_WORDS = r"pass(?:word|wd|phrase)?|secret|token|credentials?|api_?key|access_?key|private_?key|snmp_community"
_SECRET_NAME = re.compile(rf"(?i)(?:^|[_\-.])(?:{_WORDS})(?:$|[_\-.\d])|[_\-.]key$")
_NO_SECRET = re.compile(r"(?i)(?:file|path|dir|sock|url|host|user|name|length|enabled)$")
_SHAPES = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL), HIDDEN),
    (re.compile(rf"(?i)((?:\b|[_-])(?:{_WORDS})[\"']?\s*(?:=|:|\bis\b)\s*[\"']?)(?!\s|\(hidden)[^\s\"',;]+"), rf"\g<1>{HIDDEN}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+(?!\(hidden)[A-Za-z0-9+/_.~=-]{8,}"), rf"\g<1> {HIDDEN}"),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@:\"]*:[^\s/@\"]+@"), rf"\g<1>{HIDDEN}@"),
)
_SUSPICIOUS = re.compile(rf"(?i)PRIVATE KEY-----|{_WORDS}|bearer|basic |://[^/\"]*@")


def is_secret_name(name: object) -> bool:
    """Does the name of a variable say that its value is a secret: ``ansible_password``, ``AWS_SECRET_ACCESS_KEY``, ``api-token``?"""
    return isinstance(name, str) and _SECRET_NAME.search(name) is not None and _NO_SECRET.search(name) is None


def secret_values(variables: Mapping[str, Any]) -> set[str]:
    """The texts of those variables whose names say that they are secrets."""
    return {value for name, value in variables.items() if is_secret_name(name) and isinstance(value, str) and len(value) >= SHORTEST}


class Redactor:
    """``entry`` gives back what may be kept; entries without anything suspicious come back as they are."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def learn(self, values: Iterable[str]) -> None:
        """Values to be hidden wherever they stand."""
        fresh = {value for value in values if len(value) >= SHORTEST} - self._known
        if fresh:
            self._known |= fresh
            longest_first = sorted(self._known, key=lambda value: (-len(value), value))
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The same entry without secrets; the keys that readers know stay."""
        cleaned = self._clean(entry)
        return cleaned if isinstance(cleaned, dict) else entry

    def text(self, text: str) -> str:
        """A text without secrets."""
        if self._pattern:
            text = self._pattern.sub(HIDDEN, text)
        if _SUSPICIOUS.search(text):
            for pattern, instead in _SHAPES:
                text = pattern.sub(instead, text)
        return text

    def _clean(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {self._key(key): self._value(key, item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return value if _plain(value) else [self._clean(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _value(self, key: Any, item: Any) -> Any:
        if key in _FIXED:
            return item
        return HIDDEN if is_secret_name(key) and isinstance(item, str) else self._clean(item)

    def _key(self, key: Any) -> Any:
        return self.text(key) if self._pattern and isinstance(key, str) and key not in _KEPT_KEYS else key


# A password that is the word "status" must not break the record.
_KEPT_KEYS = frozenset(
    "schema id kind tool operation measure status source target hosts ranks options context samples error command started_at duration_s name version host "
    "device address code message hint event task at ignored run_id class evidence".split()
)

_FIXED = frozenset({"schema", "kind", "status", "operation", "measure"})


def _plain(values: Sequence[Any]) -> bool:
    """Is it a row of a matrix, whose numbers need no look?"""
    return bool(values) and all(type(value) in (float, int, type(None)) for value in values)
