# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Access fields of records safely, since a history may contain records of other programs."""

from __future__ import annotations

import datetime
import sys
from typing import Any
from collections.abc import Iterable

from ...module_utils._core.words import natural

Record = dict[str, Any]


def mapping(value: Any) -> Record:
    """Return ``value`` if it is a dict, else an empty one."""
    return value if isinstance(value, dict) else {}


def samples(record: Record) -> list[Record]:
    """Return the samples of a record that are dicts."""
    found = record.get("samples")
    return [sample for sample in found if isinstance(sample, dict)] if isinstance(found, list) else []


def number(value: Any) -> float | None:
    """Return a finite number, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) <= sys.float_info.max else None


def text(value: Any) -> str:
    """Return a value as text, empty for None."""
    return "" if value is None else str(value)


def flag(value: Any) -> str:
    """Return a flag as ``enabled`` or ``disabled``, other values as text."""
    return ("enabled" if value else "disabled") if isinstance(value, bool) else text(value)


def host_of(record: Record) -> str:
    """Return the host of the source, an empty text if there is none."""
    return text(mapping(record.get("source")).get("host"))


def hosts_of(record: Record) -> list[str]:
    """Return all hosts of a record: source, target, hosts."""
    listed = record.get("hosts")
    names = [mapping(record.get(end)).get("host") for end in ("source", "target")] + (listed if isinstance(listed, list) else [])
    return [str(name) for name in names if name]


def endpoint(end: Any) -> str:
    """Return the name of the source or target of a record: ``n1 NPU 3``, ``n1 mlx5_0``, ``n1``, else its address."""
    fields = mapping(end)
    host, device = text(fields.get("host")), fields.get("device")
    name = f"NPU {device}" if isinstance(device, int) else text(device)
    return " ".join(filter(None, (host, name))) or text(fields.get("address"))


def tool_of(record: Record) -> str:
    """Return name and version of the tool."""
    tool = mapping(record.get("tool"))
    return " ".join(filter(None, (text(tool.get("name")), text(tool.get("version")))))


def error_of(record: Record) -> Record:
    """Return code, message and hint of the error as texts."""
    error = mapping(record.get("error"))
    return {key: text(error.get(key)) for key in ("code", "message", "hint")}


def unique(names: Iterable[str]) -> list[str]:
    """Return the names without duplicates in natural order: n2 before n10."""
    return sorted(set(names), key=natural)


def moment(value: Any) -> datetime.datetime | None:
    """Return a time in RFC 3339, None for anything else."""
    try:
        found = datetime.datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else None
