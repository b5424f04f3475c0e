# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What the hosts answered, each read by itself: an answer that cannot be understood is a problem of its host, and of no other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.problems import Problem
from ...module_utils._core.words import printable
from .cells import LONGEST_CODE, Report

ANSWER_NOT_UNDERSTOOD = "answer_not_understood"
"""The rule of an answer, or a part of it, that was dropped."""

FLAGS = ("failed", "skipped", "unreachable")
LONGEST = 400

_HINT = "another release of the collection, or another program, may have answered on that host"


@dataclass
class Answers:
    """``results``: by host, what counts of an answer apart from its records, None for none; ``reports``: the records, each with its host."""

    results: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def _take(self, host: str, answer: Any) -> None:
        if answer is None:
            self.results[host] = None
            return
        if not isinstance(answer, Mapping):
            self._drop(host, f"its answer is {printable(answer, 80)!r}, no dictionary")
            return
        records = answer.get("measurements")
        if records is not None and not isinstance(records, (list, tuple)):
            self._drop(host, f"its measurements are {printable(records, 80)!r}, no list")
            records = None
        state, error = answer.get("state"), answer.get("error")
        said, code = (error.get("message"), error.get("code")) if isinstance(error, Mapping) else (None, None)
        self.results[host] = {
            **({"state": state} if isinstance(state, str) else {}), **{flag: True for flag in FLAGS if answer.get(flag) is True},
            **({"error": {"code": printable(code, LONGEST_CODE)}} if isinstance(code, str) else {}), **({"unreachable": True} if is_lost(answer) else {}),
            "msg": _first_line(said) or _first_line(answer.get("msg")),
            "measurements": list(records or ())} if answer else {}
        self.reports += [(host, record) for record in records or ()]

    def _drop(self, host: str, why: str) -> None:
        self.results.setdefault(host, None)
        self.problems.append(Problem(ANSWER_NOT_UNDERSTOOD, "error", why, host=host, hint=_HINT))


def is_lost(answer: Mapping[str, Any]) -> bool:
    """Was the host unreachable, or did the keyword ``timeout`` of a play or task end the wait for it? ansible-core 2.16 says that in words only."""
    return bool(answer.get("unreachable") is True or answer.get("timedout")
                or answer.get("failed") and "action failed to execute in the expected time frame" in str(answer.get("msg")))


def _first_line(text: Any) -> str:
    lines = text.strip().splitlines() if isinstance(text, str) else []
    return printable(lines[0], LONGEST) if lines else ""


def read(results: Mapping[str, Any]) -> Answers:
    """All answers. Only the first line of a message, and what is of the right type, is kept."""
    found = Answers()
    for host, answer in results.items():
        found._take(host, answer)
    return found


def by_host(records: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """Results of the hosts that records from anywhere name; each record is that of its source. Raises InputError for what is no record at all."""
    results: dict[str, dict[str, Any]] = {}
    for record in records:
        if not isinstance(record, Mapping):
            raise InputError("the list of measurements holds something that is no record")
        if record.get("kind") not in ("rdma", "matrix"):
            continue
        source, target = record.get("source"), record.get("target")
        hosts = [end.get("host") for end in (source, target) if isinstance(end, Mapping)]
        more = record.get("hosts")
        for host in [*hosts, *(more if isinstance(more, list) else ())]:
            if isinstance(host, str):
                results.setdefault(host, {"measurements": []})
        owner = hosts[0] if isinstance(source, Mapping) and isinstance(hosts[0], str) else UNKNOWN
        results.setdefault(owner, {"measurements": []})["measurements"].append(record)
    return results


UNKNOWN = "unknown"
"""The host of a record that names none."""
