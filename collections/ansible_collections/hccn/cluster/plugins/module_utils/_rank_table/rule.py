# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules for rank tables, the violations that they report, and checks that several rules share."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.numbers import is_number

_MAX_REPR = 60
_STRINGS = {str}


class Violation(NamedTuple):
    """One violation of a rule. ``where`` is a path such as ``server_list[0].device[1].device_ip``, empty for the whole document."""

    where: str
    message: str
    severity: str = "error"
    hint: Optional[str] = None
    device: Optional[int] = None


class Rule(NamedTuple):
    """``code`` is the error code of HCCL; None if HCCL reports nothing, and for other readers. ``check`` accepts the view of the format.

    ``only_if_named``: the table is valid for other programs, so a violation is a warning unless the reader was named.
    """

    name: str
    code: Optional[str]
    check: Callable[[Any], Iterator[Violation]]
    only_if_named: bool = False


def shortened(value: Any) -> str:
    """Return the repr of a value of the document, truncated if it is long."""
    text = repr(value)
    return text if len(text) <= _MAX_REPR else text[:_MAX_REPR] + "..."


def only_strings(fields: Mapping[str, Any]) -> bool:
    """Return True if all values are strings. Fast, since it is called for every device of large tables."""
    return set(map(type, fields.values())) <= _STRINGS


def not_strings(fields: Mapping[str, Any], keys: Iterable[str], where: str, consequence: str, device: Optional[int] = None) -> Iterator[Violation]:
    """Report the keys whose values are present but not strings. ``consequence`` completes the message."""
    for key in keys:
        if key in fields and not isinstance(fields[key], str):
            value = shortened(fields[key])
            yield Violation(where + key, "%s is not a string but %s: %s" % (key, value, consequence), device=device,
                            hint='write "%s"' % value if is_number(fields[key]) else None)


def missing_keys(fields: Mapping[str, Any], keys: Iterable[str], where: str, device: Optional[int] = None) -> Iterator[Violation]:
    """Report the keys that are missing."""
    for key in keys:
        if key not in fields:
            yield Violation(where + key, "%s is missing" % key, device=device)


def not_objects(fields: Mapping[str, Any], key: str, where: str) -> Iterator[Violation]:
    """Report the members of a list that are not objects."""
    members = fields.get(key)
    for index, member in enumerate(members if isinstance(members, list) else ()):
        if not isinstance(member, dict):
            yield Violation("%s%s[%d]" % (where, key, index), "not an object but %s" % shortened(member))


RankBlock = Tuple[int, int, str]
"""The lowest and the highest rank of a server or super pod, and its path."""


def interleaved_blocks(blocks: Sequence[RankBlock]) -> Iterator[Tuple[RankBlock, RankBlock]]:
    """Yield each block that begins before an earlier one ends, together with that earlier block."""
    ordered = sorted(blocks, key=lambda block: block[:2])
    widest = ordered[0] if ordered else None
    for block in ordered[1:]:
        if widest is not None and block[0] < widest[1]:
            yield block, widest
        if widest is not None and block[1] > widest[1]:
            widest = block


def duplicates(values: Iterable[Tuple[Any, Any]]) -> Iterator[Tuple[Any, Any]]:
    """Yield each item of (key, item) pairs whose key occurred before, together with the first item of that key."""
    first: Dict[Any, Any] = {}
    for key, item in values:
        if first.setdefault(key, item) is not item:
            yield item, first[key]
