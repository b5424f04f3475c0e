# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read the answers of the hosts, each by itself. An answer that cannot be understood is a problem of its host only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.problems import Problem
from ...module_utils._core.words import printable
from .records import LONGEST_CODE, Report

ANSWER_NOT_UNDERSTOOD = "answer_not_understood"
"""The rule of the problem of an answer, or a part of it, that was dropped."""

FLAGS = ("failed", "skipped", "unreachable")
LONGEST = 400

_HINT = "another release of the collection, or another program, may have answered on that host"


@dataclass
class Answers:
    """``results``: the checked fields of each host's answer, None for no answer. ``reports``: the records, each with its host."""

    results: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, host: str, answer: Any) -> None:
        """Read the answer of a host."""
        if answer is None:
            self.results[host] = None
            return
        if not isinstance(answer, Mapping):
            self._drop(host, f"its answer is {printable(answer, 80)!r}, not a dictionary")
            return
        records = answer.get("measurements")
        if records is not None and not isinstance(records, (list, tuple)):
            self._drop(host, f"its measurements are {printable(records, 80)!r}, not a list")
            records = None
        state, error = answer.get("state"), answer.get("error")
        message, code = (error.get("message"), error.get("code")) if isinstance(error, Mapping) else (None, None)
        self.results[host] = {
            **({"state": state} if isinstance(state, str) else {}), **{flag: True for flag in FLAGS if answer.get(flag) is True},
            **({"error": {"code": printable(code, LONGEST_CODE)}} if isinstance(code, str) else {}), **({"unreachable": True} if is_lost(answer) else {}),
            "msg": _first_line(message) or _first_line(answer.get("msg")),
            "measurements": list(records or ())} if answer else {}
        self.reports += [(host, record) for record in records or ()]

    def _drop(self, host: str, why: str) -> None:
        self.results.setdefault(host, None)
        self.problems.append(Problem(ANSWER_NOT_UNDERSTOOD, "error", why, host=host, hint=_HINT))


def is_lost(answer: Mapping[str, Any]) -> bool:
    """Return True if the host was unreachable, or if the keyword ``timeout`` ended the task. ansible-core 2.16 reports the latter in the message only."""
    return bool(answer.get("unreachable") is True or answer.get("timedout")
                or answer.get("failed") and "action failed to execute in the expected time frame" in str(answer.get("msg")))


def _first_line(text: Any) -> str:
    lines = text.strip().splitlines() if isinstance(text, str) else []
    return printable(lines[0], LONGEST) if lines else ""


def read(results: Mapping[str, Any]) -> Answers:
    """Return all answers, with the first line of their messages and the fields that have the right type."""
    found = Answers()
    for host, answer in results.items():
        found.add(host, answer)
    return found


def by_host(records: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """Return results of all hosts that the records name. Each record belongs to its source. Raises InputError for anything that is not a record."""
    results: dict[str, dict[str, Any]] = {}
    for record in records:
        if not isinstance(record, Mapping):
            raise InputError("the list of measurements holds something that is no record")
        if record.get("kind") not in ("rdma", "matrix"):
            continue
        source, target = record.get("source"), record.get("target")
        hosts = [side.get("host") for side in (source, target) if isinstance(side, Mapping)]
        more = record.get("hosts")
        for host in [*hosts, *(more if isinstance(more, list) else ())]:
            if isinstance(host, str):
                results.setdefault(host, {"measurements": []})
        owner = hosts[0] if isinstance(source, Mapping) and isinstance(hosts[0], str) else UNKNOWN
        results.setdefault(owner, {"measurements": []})["measurements"].append(record)
    return results


UNKNOWN = "unknown"
"""The host of a record that names no source."""
