# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Collect the results of a task that are the same on several hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

Shown = TypeVar("Shown")

FEW = 4
"""Hosts that are all named."""
NAMED = 3
"""Hosts that are named of more than FEW."""

_ADDRESS = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![0-9.])")


class Results(Generic[Shown]):
    """The hosts of each distinct result, in the order in which they arrived, with how the first of them is displayed."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, ...], tuple[list[str], Shown]] = {}

    def add(self, key: tuple[str, ...], host: str, shown: Shown) -> None:
        self._found.setdefault(key, ([], shown))[0].append(host)

    def take(self) -> list[tuple[list[str], Shown]]:
        """Return all results and forget them."""
        found, self._found = list(self._found.values()), {}
        return found


def key_of(state: str, result: Mapping[str, Any], host: str, address: str) -> tuple[str, ...]:
    """Return what two hosts must have in common to be displayed together: the state, and for a failure its message without names and addresses of the host."""
    if state == "changed":
        return (state,)
    message = str(result.get("msg", ""))
    for own in filter(None, (host, address)):
        message = re.sub(rf"(?<![\w.-]){re.escape(own)}(?![\w-])", "HOST", message)
    return state, _ADDRESS.sub("ADDRESS", message)


def label_of(hosts: Sequence[str]) -> str:
    """Return the names of a few hosts; of many hosts some names and their number."""
    if len(hosts) <= FEW:
        return ", ".join(hosts)
    return f"{', '.join(hosts[:NAMED])} ... ({len(hosts)} hosts)"
