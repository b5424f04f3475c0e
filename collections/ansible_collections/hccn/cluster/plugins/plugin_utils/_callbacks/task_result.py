# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a callback is told of a task, by the same names for all releases of Ansible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def part(result: Any, name: str) -> Any:
    """An attribute of a task result: public since ansible-core 2.19, with an underscore before."""
    return getattr(result, name) if hasattr(result, name) else getattr(result, f"_{name}")


def fields(result: Any) -> Mapping[str, Any]:
    """The attributes of the task as it ran. The underscore is what all supported releases have: without it, ansible-core 2.21 prints a deprecation."""
    found: Mapping[str, Any] = result._task_fields
    return found
