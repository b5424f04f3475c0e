# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What hosts answered, read without believing that it has the form in which the modules return it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MOST = 4096
"""Elements of a list that are read, and the highest id of an NPU."""


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings among the elements of a list; none of anything else."""
    return [element for element in value[:MOST] if isinstance(element, Mapping)] if isinstance(value, (list, tuple)) else []


def text(value: Any) -> str:
    """The value where it is text that says something, else the empty string."""
    return value.strip() if isinstance(value, str) else ""


def texts(value: Any) -> list[str]:
    """The texts among the elements of a list."""
    return [element.strip() for element in value[:MOST] if text(element)] if isinstance(value, (list, tuple)) else []


def device_id(value: Any) -> int | None:
    """The value where it can be the id of an NPU."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST else None


def ids(values: Any) -> list[int]:
    """The ids of NPUs among the elements of a list."""
    found: Iterable[int | None] = map(device_id, values[:MOST]) if isinstance(values, (list, tuple)) else ()
    return [number for number in found if number is not None]


def devices(result: Any) -> dict[int, Mapping[str, Any]]:
    """The NPUs of a result of device_info by their ids. What has no id is left out; of an id that is there twice the first counts."""
    found: dict[int, Mapping[str, Any]] = {}
    for entry in mappings(mapping(result).get("devices")):
        number = device_id(entry.get("id"))
        if number is not None:
            found.setdefault(number, entry)
    return found


def is_true(value: Any) -> bool:
    """Is a flag of a result set? An odd value is not."""
    return value is True
