# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parse and serialize the JSON text of rank tables, whatever their format."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Union

from .._core.errors import ParseError

MAX_TEXT = 40 * 1024 * 1024
"""Bytes of table text that HCCL reads (hcomm param_check.cc, HcomCheckRankTable)."""

_INDENT = "  "
_encode = json.JSONEncoder().encode
_encode_apart = json.JSONEncoder(separators=(",\n", ": ")).encode


def _no_constant(word: str) -> None:
    raise ValueError("%s is not JSON" % word)


def parse(content: Union[str, bytes]) -> Dict[str, Any]:
    """Return the JSON object in a text; bytes are UTF-8. Raises ParseError with the error and its line."""
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else content
        document = json.loads(text[1:] if text.startswith("\ufeff") else text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        line = error.doc.split("\n")[error.lineno - 1]
        raise ParseError("not JSON: line %d column %d: %s" % (error.lineno, error.colno, error.msg),
                         "JSON has no comments: remove them" if "//" in line else "") from error
    except UnicodeDecodeError as error:
        raise ParseError("not JSON: byte %d is not UTF-8" % error.start) from error
    except (ValueError, RecursionError) as error:
        raise ParseError("not JSON: %s" % error) from error
    if not isinstance(document, dict):
        raise ParseError("not a rank table: the JSON value is not an object but a %s" % type(document).__name__)
    return document


def to_text(table: Dict[str, Any]) -> str:
    """Return the canonical text: keys in the order of ``table``, one line per innermost object (a device), and a final newline.

    One line per device keeps the diff of two tables readable.
    """
    lines: List[str] = []
    _write(table, "", "", "", lines)
    return "\n".join(lines) + "\n"


def _rows(objects: List[Any]) -> str:
    """Encode a list of flat objects, one per line, with one call of the C encoder; return "" if not all members are flat objects.

    The encoder escapes control characters in strings, so every newline in its output comes from the separator.
    """
    text = _encode_apart(objects)
    if text.count("{") != len(objects) or text.count("[") != 1:
        return ""
    return text[1:-1].replace("},\n{", "}\0{").replace(",\n", ", ").replace("\0", ",\n")


def _flat(value: Any) -> bool:
    """Return True for a scalar and for a container of scalars."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not any(isinstance(member, (dict, list)) for member in members)


def _write(value: Any, margin: str, before: str, after: str, lines: List[str]) -> None:
    """Append the lines of ``value``; ``before`` is its key, ``after`` the comma that follows it."""
    if _flat(value):
        lines.append(margin + before + _encode(value) + after)
        return
    is_object = isinstance(value, dict)
    lines.append(margin + before + ("{" if is_object else "["))
    rows = _rows(value) if not is_object and _flat(value[0]) else ""
    if rows:
        lines.append(margin + _INDENT + rows.replace("\n", "\n" + margin + _INDENT))
    else:
        _write_members(value, is_object, margin + _INDENT, lines)
    lines.append(margin + ("}" if is_object else "]") + after)


def _write_members(value: Any, is_object: bool, margin: str, lines: List[str]) -> None:
    members = list(value.items()) if is_object else [(None, member) for member in value]
    last = len(members) - 1
    for index, (key, member) in enumerate(members):
        _write(member, margin, "" if key is None else _encode(key) + ": ", "," if index < last else "", lines)
