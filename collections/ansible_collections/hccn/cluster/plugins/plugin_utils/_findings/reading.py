# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read answers of hosts without relying on the form in which the modules return them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MOST = 4096
"""Elements of a list that are read, and the limit of NPU ids."""


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings in a list; none if the value is no list."""
    return [element for element in value[:MOST] if isinstance(element, Mapping)] if isinstance(value, (list, tuple)) else []


def first_sample(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first sample of a record, an empty mapping if it has none."""
    return next(iter(mappings(record.get("samples"))), {})


def text(value: Any) -> str:
    """Return the stripped value if it is text, else an empty text."""
    return value.strip() if isinstance(value, str) else ""


def texts(value: Any) -> list[str]:
    """Return the texts in a list that are not empty."""
    return [element.strip() for element in value[:MOST] if text(element)] if isinstance(value, (list, tuple)) else []


def device_id(value: Any) -> int | None:
    """Return the value if it can be the id of an NPU, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST else None


def ids(values: Any) -> list[int]:
    """Return the ids of NPUs in a list."""
    found: Iterable[int | None] = map(device_id, values[:MOST]) if isinstance(values, (list, tuple)) else ()
    return [number for number in found if number is not None]


def devices(result: Any) -> dict[int, Mapping[str, Any]]:
    """Return the NPUs of a result of device_info by id. Entries without an id are skipped; the first of a duplicate id counts."""
    found: dict[int, Mapping[str, Any]] = {}
    for entry in mappings(mapping(result).get("devices")):
        number = device_id(entry.get("id"))
        if number is not None:
            found.setdefault(number, entry)
    return found


def is_true(value: Any) -> bool:
    """Return True if a flag of a result is set; any value but True is not."""
    return value is True
