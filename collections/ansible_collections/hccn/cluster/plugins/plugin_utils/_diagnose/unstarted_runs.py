# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Hosts on which the run did not begin or was ended, and the failures of their partners that follow from it.

A run does not begin because of one of its options, the environment of the host, or other work of the host. This proves nothing about the fabric: the host is
busy or was not measured, never slow or failed. The same holds for the pairs that its partners could not measure with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .classification import BUSY
from .measurement_table import BUSY_CODES, INFERRED_CODES

NOT_MEASURED = "not_measured"

OTHER_RUN_CODES = frozenset({"host_in_use"})
"""Another run used the host; see module_utils/_fabric/run_locks.py."""

ENDED_CODES = frozenset({"run_cancelled", "journal_unwritable"})
"""A run that began and was ended by an operator or by a full disk."""

Results = Mapping[str, Mapping[str, Any] | None]


def code_of(result: Mapping[str, Any]) -> str:
    """Return the error code of a result or record, "" if there is none."""
    error = result.get("error")
    return str(error.get("code", "")) if isinstance(error, Mapping) else ""


def has_not_begun(result: Mapping[str, Any] | None) -> bool:
    """Return True if rdma_perf failed before there was a run. A run has a state."""
    return bool(result and result.get("failed") and not result.get("state") and not result.get("measurements") and not result.get("unreachable"))


def class_of(result: Mapping[str, Any]) -> str:
    """Return the class of a host on which the run did not begin."""
    return BUSY if code_of(result) in OTHER_RUN_CODES | BUSY_CODES else NOT_MEASURED


def was_ended(result: Mapping[str, Any] | None) -> bool:
    """Return True if the run began and was ended for a reason outside the fabric."""
    return bool(result and result.get("state") and code_of(result) in ENDED_CODES)


class UnstartedRuns:
    """Hosts on which the run did not begin or was ended. ``missed``: these hosts, by partner that had a pair with them."""

    def __init__(self, results: Results) -> None:
        """``results``: the results of the hosts in the run whose records are filtered."""
        self._unstarted = frozenset(host for host, result in results.items() if has_not_begun(result))
        self._ended = frozenset(host for host, result in results.items() if was_ended(result))
        self.missed: dict[str, set[str]] = {}

    def filter(self, records: Iterable[Any]) -> Iterator[Any]:
        """Return the records without the failures that these hosts caused. Anything that is not a record is returned as it is."""
        concerned = bool(self._unstarted or self._ended)
        for record in records:
            if not concerned or not isinstance(record, Mapping) or record.get("status") == "not_run":
                yield record
                continue
            filtered = self._filter(record)
            if filtered is not None:
                yield filtered

    def _filter(self, record: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if record.get("kind") == "matrix":
            return self._filter_row(record)
        if record.get("kind") != "rdma" or record.get("status") == "ok":
            return record
        source, target, code = _host(record.get("source")), _host(record.get("target")), code_of(record)
        return None if self._is_caused_by(target, source, code) or self._is_caused_by(source, target, code) else record

    def _filter_row(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        failed, hosts = record.get("failed"), record.get("hosts")
        if not isinstance(failed, Mapping) or not isinstance(hosts, list) or not all(isinstance(places, list) for places in failed.values()):
            return record
        source = _host(record.get("source"))
        left = {code: [place for place in places
                       if not (isinstance(place, int) and 0 <= place < len(hosts) and self._is_caused_by(hosts[place], source, str(code)))]
                for code, places in failed.items()}
        return {**record, "failed": {code: places for code, places in left.items() if places}}

    def _is_caused_by(self, host: Any, partner: Any, code: str) -> bool:
        """Return True if ``host`` caused the failure of a pair, and remember that ``partner`` missed it.

        A host whose run was ended caused only the errors that the partner inferred.
        """
        if not isinstance(host, str) or not (host in self._unstarted or (host in self._ended and code in INFERRED_CODES)):
            return False
        self.missed.setdefault(str(partner), set()).add(host)
        return True


def _host(side: Any) -> Any:
    return side.get("host") if isinstance(side, Mapping) else None
