# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Problems of a job that are known before any host is contacted, and the message for a list of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.words import LONGEST_TEXT, npus, printable, some

NO_HOSTS, UNKNOWN_VARIABLE, INVALID_VARIABLE = "no_hosts", "unknown_variable", "invalid_variable"
REQUIREMENT_MISSING, ADDRESS_CONFLICT, ADDRESS_INVALID = "requirement_missing", "address_conflict", "address_invalid"

MOST = 20
"""The maximum number of problems in a result, and of hosts and NPUs of each problem, since a failed task displays all of them."""
NAMES = 3
"""The number of hosts that a sentence lists."""


@dataclass(frozen=True)
class JobProblem:
    """A problem of some hosts, or of the whole job if ``hosts`` is empty. ``message`` has no host name and no final period; ``devices`` are (host, id)."""

    cause: str
    message: str
    hosts: tuple[str, ...] = ()
    devices: tuple[tuple[str, int], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the problem as an element of a result; ``hosts`` are the first ones, ``host_count`` counts all of them."""
        found: dict[str, Any] = {"cause": self.cause, "message": printable(self.message, LONGEST_TEXT), "hosts": list(self.hosts[:MOST]),
                                 "host_count": len(self.hosts)}
        if self.devices:
            found["devices"] = [{"host": host, "device": device} for host, device in self.devices[:MOST]]
        return found

    def sentence(self, all_hosts: int) -> str:
        """Return the problem, preceded by its hosts. ``all_hosts``: the number of hosts of the job."""
        message = printable(self.message, LONGEST_TEXT)
        if not self.hosts:
            return message
        if len(self.hosts) == all_hosts > NAMES:
            return f"all {all_hosts} hosts: {message}"
        devices = f" {npus(device for _host, device in self.devices)}" if self.devices else ""
        return f"{some([printable(host) for host in self.hosts], NAMES)}{devices}: {message}"


def merged(problems: Iterable[JobProblem]) -> list[JobProblem]:
    """Return the problems in their order, merged by cause and message."""
    groups: dict[tuple[str, str], list[JobProblem]] = {}
    for problem in problems:
        groups.setdefault((problem.cause, problem.message), []).append(problem)
    return [same[0] if len(same) == 1 else _one(same) for same in groups.values()]


def _one(same: Sequence[JobProblem]) -> JobProblem:
    hosts = dict.fromkeys(host for problem in same for host in problem.hosts)
    devices = dict.fromkeys(device for problem in same for device in problem.devices)
    return JobProblem(same[0].cause, same[0].message, tuple(hosts), tuple(devices))


def message(problems: Sequence[JobProblem], all_hosts: int) -> str:
    """Return the message of the failed task: a line for each problem."""
    lines = [problem.sentence(all_hosts) for problem in problems[:MOST]]
    more = len(problems) - len(lines)
    return "\n".join(lines + ([f"... and {more} more"] if more else []))
