# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What of a task result is kept. Pure, and knows no tool: a result names what it measured under ``measurements``."""

from __future__ import annotations

import json
from typing import Any
from collections.abc import Iterable, Mapping

from .format import KEPT_SCHEMAS

MESSAGE_LENGTH = 300


def records(result: Mapping[str, Any], host: str) -> list[dict[str, Any]]:
    """The records of one task result (not of a whole loop), each with the host they came from.

    Nothing of a result with no_log. A record that names neither ``source.host`` nor ``hosts`` gets ``source.host``.
    """
    if _hidden(result):
        return []
    measurements = result.get("measurements")
    if not isinstance(measurements, list):
        return []
    return [_with_host(entry, host) for entry in measurements if _is_record(entry)]


def event(kind: str, host: str, task: str, result: Mapping[str, Any], at: str) -> dict[str, Any]:
    """A failed task or an unreachable host (``kind``: failed, unreachable), with the beginning of its message."""
    return {"event": kind, "host": host, "task": task, "message": _message(result)[:MESSAGE_LENGTH], "at": at}


def end(finished_at: str, count: int, hosts: Iterable[str], summaries: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """The last line of a run; ``summaries`` are Ansible's own counts by host."""
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
    return isinstance(entry, Mapping) and str(entry.get("schema", "")).startswith(KEPT_SCHEMAS)


def _with_host(entry: Mapping[str, Any], host: str) -> dict[str, Any]:
    source = entry.get("source")
    if isinstance(source, Mapping):
        return dict(entry) if source.get("host") else {**entry, "source": {**source, "host": host}}
    return dict(entry) if "hosts" in entry else {**entry, "source": {"host": host}}


def _message(result: Mapping[str, Any]) -> str:
    if _hidden(result):
        return "(hidden: the task has no_log)"
    message = result.get("msg", "")
    return message if isinstance(message, str) else json.dumps(message, default=lambda value: type(value).__name__)
