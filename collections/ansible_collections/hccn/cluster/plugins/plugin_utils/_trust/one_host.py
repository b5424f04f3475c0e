# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check that a name from an event is exactly one host, and not a group or a pattern of the inventory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...module_utils._core.errors import InputError

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""A name that Ansible does not read as a pattern: no ``*``, ``~``, ``:``, ``,``, ``!``, ``&``, ``[`` or ``@``."""


def one_host(name: Any, groups: Any) -> str:
    """Return ``name`` if it is the name of a host and of no group. Raises InputError otherwise."""
    known = groups if isinstance(groups, Mapping) else {}
    if isinstance(name, str) and _PLAIN.fullmatch(name) and name in known.get("all", ()) and name not in known:
        return str(name)
    raise InputError(f"{str(name)[:80]!r} is not the name of one host of the inventory, so nothing is done", "give one host, not a group or a pattern")
