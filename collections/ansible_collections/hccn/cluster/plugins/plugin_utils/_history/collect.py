# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Extract records and events from task results. A result of any tool lists its records under ``measurements``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...module_utils._core.words import beginning
from .._trust.provenance import foreign_owner
from .format import DROPPED, KEPT_SCHEMAS, line
from .redact import MOST_RESULT, Bounds, NotKept, Redactor

MESSAGE_LENGTH = 300
MOST_OF_ID = 100


def records(result: Mapping[str, Any], host: str, by_controller: bool = False) -> list[dict[str, Any]]:
    """Return the records of one task result (not of a whole loop), none of a result with no_log.

    A record without ``source.host`` and ``hosts`` gets ``source.host``. Only records about ``host`` itself are returned, unless an action of the collection
    made them on the controller (``by_controller``).
    """
    return [_with_host(entry, host) for entry in _records(result) if by_controller or foreign_owner(entry, host) is None]


def foreign(result: Mapping[str, Any], host: str) -> Counter[str]:
    """Return the number of rejected records that ``host`` sent in the name of other hosts, by that name."""
    return Counter(filter(None, (foreign_owner(entry, host) for entry in _records(result))))


def _records(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    measurements = result.get("measurements")
    if _hidden(result) or not isinstance(measurements, list):
        return []
    return [entry for entry in measurements if _is_record(entry)]


def event(kind: str, host: str, task: str, result: Mapping[str, Any], at: str, hidden: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the event of a failed task or an unreachable host (``kind``: failed, unreachable), with the beginning of its message.

    ``hidden`` removes the secrets from a value, or raises NotKept. It is called before the message is cut, since a cut could leave a part of a secret.
    """
    return {"event": kind, "host": host, "task": task, "message": _message(result, hidden)[:MESSAGE_LENGTH], "at": at}


def lines(entries: Iterable[Mapping[str, Any]], redactor: Redactor) -> tuple[list[bytes], list[str]]:
    """Return the lines of the entries that are kept, and for every other entry its id and the reason.

    Entries come from hosts and may be malformed in any way; a malformed entry affects no other one.
    """
    kept: list[bytes] = []
    refused: list[str] = []
    whole = Bounds(MOST_RESULT)
    for entry in entries:
        try:
            kept.append(line(redactor.entry(entry, whole)))
        except NotKept as reason:
            refused.append(f"{_name(entry, redactor)}: {reason}")
        except Exception as error:  # an entry may be malformed in any way
            refused.append(f"{_name(entry, redactor)}: {type(error).__name__}")
    return kept, refused


def dropped(host: str, task: str, reasons: Sequence[str], at: str) -> dict[str, Any]:
    """Return the event for rejected records of a task result; ``reasons`` as returned by ``lines``."""
    count = "A record is not kept" if len(reasons) == 1 else f"{len(reasons)} records are not kept, the first of them"
    return {"event": DROPPED, "host": host, "task": task, "message": f"{count}: {reasons[0]}"[:MESSAGE_LENGTH], "at": at}


def end(finished_at: str, count: int, hosts: Iterable[str], summaries: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Return the end line of a run. ``summaries``: Ansible's counts of task results by host."""
    return {
        "end": True,
        "finished_at": finished_at,
        "records": count,
        "hosts": {
            host: {
                "ok": summaries[host]["ok"],
                "failed": summaries[host]["failures"],
                "unreachable": summaries[host]["unreachable"],
                "changed": summaries[host]["changed"],
            }
            for host in hosts
        },
    }


def _hidden(result: Mapping[str, Any]) -> bool:
    return bool(result.get("_ansible_no_log")) or "censored" in result


def _is_record(entry: Any) -> bool:
    schema = entry.get("schema") if isinstance(entry, Mapping) else None
    return isinstance(schema, str) and schema.startswith(KEPT_SCHEMAS)


def _with_host(entry: Mapping[str, Any], host: str) -> dict[str, Any]:
    source = entry.get("source")
    if isinstance(source, Mapping):
        return dict(entry) if source.get("host") else {**entry, "source": {**source, "host": host}}
    return dict(entry) if "hosts" in entry else {**entry, "source": {"host": host}}


def _message(result: Mapping[str, Any], hidden: Callable[[Any], Any]) -> str:
    if _hidden(result):
        return "(hidden: the task has no_log)"
    try:
        message = hidden(result.get("msg", ""))
    except NotKept as reason:
        return f"(the message is not kept: {reason})"
    return message if isinstance(message, str) else json.dumps(message, default=lambda value: type(value).__name__)


def _name(entry: Mapping[str, Any], redactor: Redactor) -> str:
    found = entry.get("id")
    return repr(beginning(redactor.text(found), MOST_OF_ID)) if isinstance(found, str) else "without an id"
