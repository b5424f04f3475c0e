# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Access to the attributes of task results under the same names in all releases of Ansible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def part(result: Any, name: str) -> Any:
    """Return an attribute of a task result: public since ansible-core 2.19, prefixed with an underscore in earlier releases."""
    return getattr(result, name) if hasattr(result, name) else getattr(result, f"_{name}")


def fields(result: Any) -> Mapping[str, Any]:
    """Return the attributes of the task as it ran. All supported releases have the underscore; without it, ansible-core 2.21 prints a deprecation."""
    found: Mapping[str, Any] = result._task_fields
    return found
