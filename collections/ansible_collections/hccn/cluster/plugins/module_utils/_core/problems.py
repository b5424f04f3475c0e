# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""A problem of a file, a table or a device, as all modules return it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Iterable, List, Optional

SEVERITIES = ("error", "warning")


@dataclass(frozen=True)
class Problem:
    """The violation of a rule. ``where`` is a path in the document or file (``line 3``, ``server_list[0].device[1].device_ip``)."""

    rule: str
    severity: str
    message: str
    host: Optional[str] = None
    device: Optional[int] = None
    where: Optional[str] = None
    hint: Optional[str] = None
    reader: Optional[str] = None
    error_code: Optional[str] = None

    def as_dict(self) -> dict:
        """Return the fields that are set."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def as_dicts(problems: Iterable[Problem]) -> List[dict]:
    """Return problems as module results, in the order given."""
    return [problem.as_dict() for problem in problems]


def fails(problems: Iterable[Problem], fail_on: str) -> bool:
    """Return True if a check with ``fail_on: error|warning|never`` fails on these problems."""
    if fail_on == "never":
        return False
    failing = ("error",) if fail_on == "error" else SEVERITIES
    return any(problem.severity in failing for problem in problems)
