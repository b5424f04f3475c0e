# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Hosts on which the run did not begin, or was ended, and what their partners say of them.

An error that keeps a run from beginning is one of its options, of the host's environment, or of what else the host does at that time. It proves nothing
about the fabric: the host is busy or was not measured, never slow or failed. Nor do the pairs that its partners could not measure with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .cells import BUSY_CODES, INFERRED_CODES
from .rating import BUSY

NOT_MEASURED = "not_measured"

OTHER_RUN_CODES = frozenset({"host_in_use"})
"""Another run was at work on the host; see module_utils/_fabric/host_lock.py."""

ENDED_CODES = frozenset({"run_cancelled", "journal_unwritable"})
"""A run that began and was ended by somebody, or by a full disk."""

Results = Mapping[str, Mapping[str, Any] | None]


def code_of(result: Mapping[str, Any]) -> str:
    error = result.get("error")
    return str(error.get("code", "")) if isinstance(error, Mapping) else ""


def has_not_begun(result: Mapping[str, Any] | None) -> bool:
    """Did rdma_perf fail before there was a run? A run has a state."""
    return bool(result and result.get("failed") and not result.get("state") and not result.get("measurements") and not result.get("unreachable"))


def class_of(result: Mapping[str, Any]) -> str:
    """Of a host on which the run did not begin."""
    return BUSY if code_of(result) in OTHER_RUN_CODES | BUSY_CODES else NOT_MEASURED


def was_ended(result: Mapping[str, Any] | None) -> bool:
    """Did the run begin, and was it ended for a reason that is none of the fabric?"""
    return bool(result and result.get("state") and code_of(result) in ENDED_CODES)


class Without:
    """Records without the failures that come of hosts on which the run did not begin, or was ended. ``missed``: these hosts by the partners that met them."""

    def __init__(self, results: Results) -> None:
        """``results``: what the hosts returned in the run that the records are of."""
        self.unstarted = frozenset(host for host, result in results.items() if has_not_begun(result))
        self._ended = frozenset(host for host, result in results.items() if was_ended(result))
        self.missed: dict[str, set[str]] = {}

    def of(self, records: Iterable[Any]) -> Iterator[Any]:
        """Whatever has not the form of a record is passed on, to be refused by whoever reads it."""
        concerned = bool(self.unstarted or self._ended)
        for record in records:
            if not concerned or not isinstance(record, Mapping) or record.get("status") == "not_run":
                yield record
                continue
            kept = self._kept(record)
            if kept is not None:
                yield kept

    def _kept(self, record: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if record.get("kind") == "matrix":
            return self._row(record)
        if record.get("kind") != "rdma" or record.get("status") == "ok":
            return record
        source, target, code = _host(record.get("source")), _host(record.get("target")), code_of(record)
        return None if self._is_missed(source, target, code) or self._is_missed(target, source, code) else record

    def _row(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        failed, hosts = record.get("failed"), record.get("hosts")
        if not isinstance(failed, Mapping) or not isinstance(hosts, list) or not all(isinstance(places, list) for places in failed.values()):
            return record
        source = _host(record.get("source"))
        kept = {code: [place for place in places
                       if not (isinstance(place, int) and 0 <= place < len(hosts) and self._is_missed(source, hosts[place], str(code)))]
                for code, places in failed.items()}
        return {**record, "failed": {code: places for code, places in kept.items() if places}}

    def _is_missed(self, host: Any, partner: Any, code: str) -> bool:
        """Does the failure come of the partner? Of one whose run was ended only what others tell of it."""
        if not isinstance(partner, str) or not (partner in self.unstarted or (partner in self._ended and code in INFERRED_CODES)):
            return False
        self.missed.setdefault(str(host), set()).add(partner)
        return True


def _host(end: Any) -> Any:
    return end.get("host") if isinstance(end, Mapping) else None
