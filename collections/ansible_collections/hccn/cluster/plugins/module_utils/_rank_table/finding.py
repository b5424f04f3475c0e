# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a rule is, and what it finds."""

from __future__ import annotations

from typing import Any, Callable, Iterator, NamedTuple, Optional

from .view import Table

_MAX_REPR = 60


class Finding(NamedTuple):
    """``where`` is a path such as ``server_list[0].device[1].device_ip``; empty for the whole document."""

    where: str
    message: str
    severity: str = "error"
    hint: Optional[str] = None
    device: Optional[int] = None


class Rule(NamedTuple):
    """``code``: what HCCL reports then; None where it reports nothing, and for other readers."""

    name: str
    code: Optional[str]
    find: Callable[[Table], Iterator[Finding]]


def shortened(value: Any) -> str:
    """The repr of a value of the document, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _MAX_REPR else text[:_MAX_REPR] + "..."
