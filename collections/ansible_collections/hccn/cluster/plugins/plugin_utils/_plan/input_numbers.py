# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Numbers from the inventory, which may be strings if a template made them."""

from __future__ import annotations

from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.numbers import is_count


def whole_number(what: str, value: Any) -> int:
    """Return an int, also from a string. Raises InputError that names ``what``."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and is_count(value):
        return int(value)
    raise InputError(f"{what} is {value!r}, not a whole number")


def positive(what: str, value: Any) -> float:
    """Return a finite number above 0, also from a string. Raises InputError that names ``what``."""
    try:
        number = float("" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        number = 0.0
    if not 0 < number < float("inf"):
        raise InputError(f"{what} is {value!r}, not a number above 0")
    return number
