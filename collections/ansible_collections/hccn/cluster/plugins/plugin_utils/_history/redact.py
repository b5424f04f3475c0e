# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Takes secrets out of what is kept: what a tool prints may hold what it was given.

Known values (of variables and of the environment whose names say that they are secrets) go wherever they stand. Besides, what looks like a secret
goes: ``password=...``, keys in PEM, bearer tokens, the user part of an address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

HIDDEN = "(hidden)"
SHORTEST = 4
"""Characters of a value that is looked for: a shorter one would hide half of all texts."""

SMALLEST_NUMBER = 100_000
"""Of numbers that are no texts: smaller ones are ports, sizes and times."""
COMMON = frozenset("admin administrator default false hccn localhost none null password root secret test token true user".split())
"""Values that are no secret, whatever they are the value of: a default, a switch, a user."""
MOST_SEARCHED = 64
MOST_FRESH = 64

_WORDS = r"pass(?:word|wd|phrase)?|secret|token|credentials?|api_?key|access_?key|private_?key|snmp_community"
_SECRET_NAME = re.compile(rf"(?i)(?:^|[_\-.])(?:{_WORDS})(?:$|[_\-.\d])|[_\-.]key$")
_NO_SECRET = re.compile(r"(?i)(?:file|path|dir|sock|url|host|user|name|length|enabled)$")
_BESIDE = re.compile(
    rf"{_NO_SECRET.pattern}|(?:type|kind|scheme|port|realm|domain|region|algorithm|method|timeout|expires_?\w*|description|comment|version|address)$"
)
_TOLD = frozenset({"stdout", "stdout_lines", "content", "json", "results"})
_MAGIC = frozenset({"groups", "hostvars", "vars", "play_hosts", "environment"})
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


def _as_it_is(value: Any) -> Any:
    return value


def secret_values(variables: Mapping[str, Any], opened: Callable[[Any], Any] = _as_it_is) -> set[str]:
    """The texts of variables whose names say that they are secrets, of what stands inside of them, and what is vaulted.

    ``opened`` gives back what a template or a vaulted text stands for, and None for what cannot be known.
    """
    found: set[str] = set()
    for name, value in variables.items():
        if is_secret_name(name) or _is_vaulted(value):
            _gather(value, opened, found)
        elif name not in _MAGIC and not str(name).startswith("ansible_"):
            _search(value, opened, found)
    return {value for value in found if _tells(value)}


def _search(value: Any, opened: Callable[[Any], Any], found: set[str], depth: int = 2) -> None:
    """Secrets a little below a variable that is none: ``bmc: {password: ...}``. What is large is a result, and costs too much for each host."""
    if not depth or not isinstance(value, (Mapping, list, tuple)) or len(value) > MOST_SEARCHED:
        return
    for name, item in value.items() if isinstance(value, Mapping) else (("", item) for item in value):
        if is_secret_name(name) or _is_vaulted(item):
            _gather(item, opened, found)
        else:
            _search(item, opened, found, depth - 1)


def _gather(value: Any, opened: Callable[[Any], Any], found: set[str], depth: int = 4) -> None:
    """All texts of a secret, but for those that stand beside it: the name of a user, a port."""
    if isinstance(value, str) or _is_vaulted(value):
        known = opened(value) if _is_vaulted(value) or is_template(value) else value
        if isinstance(known, str):
            found.add(str(known).strip())
        elif known is not None and depth:
            _gather(known, opened, found, depth - 1)
    elif isinstance(value, int) and value >= SMALLEST_NUMBER:
        found.add(str(value))
    elif isinstance(value, Mapping) and depth:
        told = "changed" in value  # a registered result: its command is no secret
        for name, item in value.items():
            if is_secret_name(name) or (name in _TOLD if told else not _BESIDE.search(str(name))):
                _gather(item, opened, found, depth - 1)
    elif isinstance(value, (list, tuple)) and depth:
        for item in value:
            _gather(item, opened, found, depth - 1)


def is_template(value: object) -> bool:
    """Does it look like one?"""
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def _is_vaulted(value: object) -> bool:
    return getattr(value, "_ciphertext", None) is not None


def _tells(value: str) -> bool:
    return len(value) >= SHORTEST and value.lower() not in COMMON


class Redactor:
    """``entry`` gives back what may be kept; entries without anything suspicious come back as they are."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._fresh: set[str] = set()  # not in the pattern yet: to make one for each host of a thousand would take seconds
        self._pattern: re.Pattern[str] | None = None

    def learn(self, values: Iterable[str]) -> None:
        """Values to be hidden wherever they stand."""
        fresh = {value for value in values if _tells(value)} - self._known
        self._known |= fresh
        self._fresh |= fresh

    def entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The same entry without secrets; the keys that readers know stay."""
        cleaned = self._clean(entry)
        return cleaned if isinstance(cleaned, dict) else entry

    def text(self, text: str) -> str:
        """A text without secrets."""
        if self._fresh and (len(self._fresh) > MOST_FRESH or any(value in text for value in self._fresh)):
            longest_first = sorted(self._known, key=lambda value: (-len(value), value))
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))
            self._fresh.clear()
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
        return self.text(key) if self._known and isinstance(key, str) and key not in _KEPT_KEYS else key


# A password that is the word "status" must not break the record.
_KEPT_KEYS = frozenset(
    "schema id kind tool operation measure status source target hosts ranks options context samples error command started_at duration_s name version host "
    "device address code message hint event task at ignored run_id class evidence".split()
)

_FIXED = frozenset({"schema", "kind", "status", "operation", "measure"})


def _plain(values: Sequence[Any]) -> bool:
    """Is it a row of a matrix, whose numbers need no look?"""
    return bool(values) and all(type(value) in (float, int, type(None)) for value in values)
