# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Remove secrets from entries of the history, since the output of a tool may contain its input.

Known values (of variables and environment variables whose names mark them as secrets) are removed everywhere, and so are texts that look like a secret:
``password=...``, private keys in PEM, bearer tokens, the user part of a URL.

Entries come from hosts and are not trusted: the depth and size of an entry and the length of a text are bounded, and the work is linear in the text. No
pattern nests repetitions, and unbounded repetitions occur only at the end of a pattern, so that no part of a text is scanned twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils._core.words import beginning
from .secret_variables import WORDS, is_secret_name, is_searchable
from .known_values import KnownValues

HIDDEN = "(hidden)"
MOST_DEPTH = 32
"""Maximum nesting levels of an entry; records of the collection have 6."""
MOST_TEXT = 64 * 1024
"""Maximum characters of a text; the rest is cut."""
MOST_ENTRY = 1024 * 1024
"""Maximum of characters plus values of an entry; records of the collection are smaller than 240 kB."""
MOST_RESULT = 16 * 1024 * 1024
"""The same for all entries of one task result; the verdicts of 4,096 hosts take 4 MB."""

_QUOTE = r"\\{0,8}[\"']"
_NAME_AND_SIGN = rf"(?:\b|[_-])(?:{WORDS})(?:{_QUOTE})?\s{{0,100}}(?:=|:|\bis\b)\s{{0,100}}"
_SHAPES = (
    (re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL), HIDDEN),
    # A key without its beginning.
    (re.compile(r"\A.*?-----END [A-Z ]{0,40}PRIVATE KEY-----", re.DOTALL), HIDDEN),
    (re.compile(rf"({_NAME_AND_SIGN}({_QUOTE}))(?:\\.|.)*?(\2|\Z)", re.IGNORECASE | re.DOTALL), rf"\g<1>{HIDDEN}\g<3>"),
    (re.compile(rf"({_NAME_AND_SIGN})(?!\s|{_QUOTE}|\(hidden)[^\s\"',;]+", re.IGNORECASE), rf"\g<1>{HIDDEN}"),
    (re.compile(r"(?i)\b(bearer|basic)\s{1,32}(?!\(hidden)[A-Za-z0-9+/_.~=-]{8,}"), rf"\g<1> {HIDDEN}"),
    (re.compile(r"(?<=://)[^\s/@:\"]{0,256}:[^\s/@\"]{1,4096}@"), f"{HIDDEN}@"),
)
_SUSPICIOUS = re.compile(rf"(?i)PRIVATE KEY-----|{WORDS}|bearer|basic\s|://")


class NotKept(Exception):
    """An entry, or a part of it, is not kept. The text is the reason."""


class Bounds:
    """A budget of ``left`` characters and values. Spending also reduces the budget ``within``."""

    def __init__(self, left: int, within: Bounds | None = None) -> None:
        self.left = left
        self._within = within

    def spend(self, amount: int) -> None:
        """Raise NotKept if the budget is exceeded."""
        if self._within is not None:
            self._within.spend(amount)
        self.left -= amount
        if self.left < 0:
            raise NotKept("it is too large")


class Redactor:
    """Hides secrets in values; ``learn`` adds secrets."""

    def __init__(self) -> None:
        self._known = KnownValues()

    def learn(self, values: Iterable[str]) -> None:
        self._known.learn(filter(is_searchable, values))

    def entry(self, entry: Mapping[str, Any], within: Bounds | None = None) -> dict[str, Any]:
        """Return the entry without secrets; keys that readers know are not changed. Raise NotKept."""
        cleaned: dict[str, Any] = self.value(entry, within)
        return cleaned

    def value(self, value: Any, within: Bounds | None = None) -> Any:
        """Return the value without secrets. Raise NotKept if it is too large or nested too deeply."""
        return self._clean(value, Bounds(MOST_ENTRY, within), 0)

    def text(self, text: str) -> str:
        """Return the first MOST_TEXT characters of a text without secrets."""
        text = self._known.hidden(beginning(text, MOST_TEXT), HIDDEN)
        if _SUSPICIOUS.search(text):
            for pattern, instead in _SHAPES:
                text = pattern.sub(instead, text)
        return text

    def _clean(self, value: Any, bounds: Bounds, depth: int) -> Any:
        if isinstance(value, str):
            bounds.spend(min(len(value), MOST_TEXT))
            return self.text(value)
        if not isinstance(value, (Mapping, list, tuple)):
            return value
        if depth >= MOST_DEPTH:
            raise NotKept(f"it is nested deeper than {MOST_DEPTH} levels")
        bounds.spend(2 * len(value))
        if isinstance(value, Mapping):
            return {self._key(key, bounds): self._item(key, item, bounds, depth) for key, item in value.items()}
        return value if _is_row(value) else [self._clean(item, bounds, depth + 1) for item in value]

    def _item(self, key: Any, item: Any, bounds: Bounds, depth: int) -> Any:
        if key in _FIXED and isinstance(item, str) and len(item) <= MOST_FIXED:
            return item
        return HIDDEN if is_secret_name(key) and isinstance(item, str) else self._clean(item, bounds, depth + 1)

    def _key(self, key: Any, bounds: Bounds) -> Any:
        if not isinstance(key, str) or key in _KEPT_KEYS:
            return key
        bounds.spend(len(key))
        return self.text(key)


# A password that is the word "status" must not break the record.
_KEPT_KEYS = frozenset(
    "schema id kind tool operation measure status source target hosts ranks options context samples error command started_at duration_s name version host "
    "device address code message hint event task at ignored run_id class evidence".split()
)

_FIXED = frozenset({"schema", "kind", "status", "operation", "measure"})
MOST_FIXED = 64


def _is_row(values: Sequence[Any]) -> bool:
    """Return True for a list of numbers, such as a matrix row, which cannot contain secrets."""
    return bool(values) and all(type(value) in (float, int, type(None)) for value in values)
