# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Numbers as an inventory gives them."""

from __future__ import annotations

from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.numbers import is_count


def whole_number(what: str, value: Any) -> int:
    """An int, also where a template made a string of it. Raises InputError that names ``what``."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and is_count(value):
        return int(value)
    raise InputError(f"{what} is {value!r}, not a whole number")
