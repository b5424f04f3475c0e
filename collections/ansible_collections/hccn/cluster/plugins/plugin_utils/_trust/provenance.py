# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check the origin of records: a host may send only its own measurements as source, and only the controller creates plans, verdicts and conclusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

CONTROLLER_ACTIONS = ("hccn.cluster.conclude", "hccn.cluster.fabric_plan", "hccn.cluster.fabric_verdict")
"""The actions that create records on the controller. All other records come from hosts."""

CONTROLLER_KINDS = ("conclusion", "plan", "verdict")
"""Kinds of records that hosts must not send."""

CONCLUSION = "conclusion/"
"""The prefix of the ids of records of a conclusion."""

HOST_CAUSES = ("collective_slow",)
"""Causes of findings that a host may send, measured as the launcher of a collective."""

Foreign = dict[str, Counter[str]]
"""By answering host: the names in which it sent records, with the number of records."""


def foreign_owner(record: Mapping[str, Any], host: str) -> str | None:
    """Return the owner of a record (``the controller``, ``n3``) that ``host`` must not send; None if ``host`` may send it."""
    if record.get("kind") in CONTROLLER_KINDS or of_conclusion(record) or (record.get("kind") == "finding" and not _is_own_finding(record)):
        return "the controller"
    source = record.get("source")
    named = source.get("host") if isinstance(source, Mapping) else None
    return None if not named or named == host else str(named)[:64]


def of_conclusion(record: Mapping[str, Any]) -> bool:
    """Return True for a record of the conclusion of a run."""
    return str(record.get("id")).startswith(CONCLUSION)


def measured_by(host: str, result: Mapping[str, Any], foreign: Foreign) -> Mapping[str, Any]:
    """Return the result of a pairwise run with only the records that the host measured itself. The others are counted in ``foreign``."""
    records = result.get("measurements")
    if not isinstance(records, (list, tuple)):
        return result
    owners = [_foreign_owner_of_measurement(record, host) for record in records]
    if not any(owners):
        return result
    foreign.setdefault(host, Counter()).update(filter(None, owners))
    return {**result, "measurements": [record for record, owner in zip(records, owners) if not owner]}


def sentences(foreign: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return one sentence for each host that sent records in the name of others."""
    return [sentence(host, names) for host, names in foreign.items()]


def sentence(host: str, names: Mapping[str, int]) -> str:
    shown = ", ".join(_shortened(sorted(names)))
    return f"{host} returned {sum(names.values())} records in the name of {shown}. They are not used: a host may return only its own measurements."


def _is_own_finding(record: Mapping[str, Any]) -> bool:
    samples = record.get("samples")
    return isinstance(samples, (list, tuple)) and all(isinstance(sample, Mapping) and sample.get("cause") in HOST_CAUSES for sample in samples)


def _shortened(names: list[str]) -> Iterable[str]:
    return [*names[:3], *(["..."] if len(names) > 3 else [])]


def _foreign_owner_of_measurement(record: Any, host: str) -> str | None:
    if not isinstance(record, Mapping):
        return "no host"
    owner = foreign_owner(record, host)
    if owner is None and record.get("kind") in ("rdma", "matrix"):
        source = record.get("source")
        return None if isinstance(source, Mapping) and source.get("host") == host else "no host"
    return owner
