# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The records of a large run as a task returns them: rows of kind ``matrix``, which plugin_utils/_diagnose/records.py reads, and in full what is not ok.

A row is what one NPU as source measured with the NPUs of one id, arrays by ``hosts``. What has no record of its own stands in it with its reason:
``failed`` and ``not_run`` hold places in ``hosts`` by the code of the error. The journal on the host keeps all of it.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.record import record
from .._core.samples import GBIT, worth

MOST_PAIRS = 200
"""With more pairs than that a host returns rows."""
MOST_FULL = 100
SIZE_LIMIT = 240 * 1000
"""Bytes as JSON, of the 256 kB that a task result may have."""
DIGITS = 3

Record = Dict[str, Any]


class Returned(NamedTuple):
    """``left``: numbers of pairs by status that are in the journal only, since they did not fit."""

    measurements: List[Record]
    left: Mapping[str, int]


def returned(records: Sequence[Record], run_id: str) -> Returned:
    """The records in the order of the plan, or their rows where they are too many or too large."""
    ordered = sorted(records, key=lambda entry: (entry["context"]["round"], len(entry["id"]), entry["id"]))
    if len(ordered) <= MOST_PAIRS and _size(ordered) <= SIZE_LIMIT:
        return Returned(ordered, {})
    usual = _usual(ordered)
    special = [entry for entry in ordered if entry["status"] == "failed" or (entry["status"] == "ok" and _kind(entry) != usual)]
    special += [entry for entry in ordered if entry["status"] == "not_run"]
    for share, all_sizes in ((2, True), (2, False), (8, False)):
        full = _fitting(special[:MOST_FULL], SIZE_LIMIT // share)
        own = {entry["id"] for entry in full}
        rows = [Row(run_id, key, entries) for key, entries in _by_row([entry for entry in ordered if entry["id"] not in own]).items()]
        made = [row.as_record(all_sizes) for row in rows]
        if _size(full) + _size(made) <= SIZE_LIMIT:
            return Returned(full + made, {})
    kept = _fitting(made, SIZE_LIMIT - _size(full))
    names = {entry["id"] for entry in kept}
    return Returned(full + kept, Counter(entry["status"] for row in rows if row.name not in names for entry in row.entries))


def _size(entries: Sequence[Mapping[str, Any]]) -> int:
    return len(json.dumps(entries))


def _fitting(entries: Sequence[Record], limit: int) -> List[Record]:
    """As many of them, in order, as ``limit`` bytes hold."""
    found: List[Record] = []
    for entry in entries:
        limit -= _size([entry])
        if limit < 0:
            break
        found.append(entry)
    return found


def _kind(entry: Mapping[str, Any]) -> str:
    """What was measured, and how."""
    return json.dumps([entry.get("operation"), entry.get("measure"), entry.get("options")], sort_keys=True)


def _usual(entries: Sequence[Mapping[str, Any]]) -> str:
    counted = Counter(_kind(entry) for entry in entries if entry["status"] == "ok")
    return counted.most_common(1)[0][0] if counted else ""


Key = Tuple[str, int, int, Optional[float]]


def _by_row(entries: Sequence[Record]) -> Dict[Key, List[Record]]:
    found: Dict[Key, List[Record]] = {}
    for entry in entries:
        key = (entry["source"]["host"], entry["source"]["device"], entry["target"]["device"], entry["context"].get("line_rate_gbit_s"))
        found.setdefault(key, []).append(entry)
    return found


class Row:
    """The pairs of one row; of a pair that was measured twice the last counts."""

    def __init__(self, run_id: str, key: Key, entries: Sequence[Record]) -> None:
        self.entries = entries
        self._host, self._device, self._target, self._line_rate = key
        devices = "%d" % self._device if self._device == self._target else "%d-%d" % (self._device, self._target)
        rate = "" if self._line_rate is None else "/%g" % self._line_rate
        self.name = "%s/%s/%s%s/matrix" % (run_id, self._host, devices, rate)
        self._places = {host: place for place, host in enumerate(dict.fromkeys(entry["target"]["host"] for entry in entries))}

    def as_record(self, all_sizes: bool) -> Record:
        """``all_sizes``: otherwise the one that is judged."""
        good = [entry for entry in self.entries if entry["status"] == "ok"]
        like = (good or list(self.entries))[-1]
        context = {name: value for name, value in like["context"].items() if name not in ("round", "failed_end")}
        return record(
            "matrix", self.name, "ok" if good else str(like["status"]), tool=like.get("tool"), operation=like.get("operation"),
            measure=like.get("measure"), options=like.get("options"), source=like["source"], target={"device": self._target}, hosts=list(self._places),
            context=context, samples=self._samples(good, all_sizes), failed=self._reasons("failed"), not_run=self._reasons("not_run"),
            started_at=min(str(entry.get("started_at", "")) for entry in self.entries) or None)

    def _reasons(self, status: str) -> Optional[Dict[str, List[int]]]:
        found: Dict[str, List[int]] = {}
        for entry in self.entries:
            if entry["status"] == status:
                found.setdefault(str(entry["error"]["code"]), []).append(self._places[entry["target"]["host"]])
        return found or None

    def _samples(self, good: Sequence[Record], all_sizes: bool) -> List[Dict[str, Any]]:
        """The size that is judged comes first."""
        judged = next((found for found in (worth(entry["samples"]) for entry in good) if found), None)
        if judged is None:
            return []
        sizes = dict.fromkeys([judged.size, *(sample.get("size_bytes") for entry in good for sample in entry["samples"])] if all_sizes else [judged.size])
        return [self._column(good, size, judged.unit) for size in sizes]

    def _column(self, good: Sequence[Record], size: Optional[int], unit: str) -> Dict[str, Any]:
        values: List[Optional[float]] = [None] * len(self._places)
        for entry in good:
            found = worth([sample for sample in entry["samples"] if sample.get("size_bytes") == size])
            if found and found.unit == unit:
                values[self._places[entry["target"]["host"]]] = float("%.*g" % (DIGITS, found.value))
        made: Dict[str, Any] = {"bandwidth_gbit_s": values} if unit == GBIT else {"latency_us": {"typical": values}}
        return {**({} if size is None else {"size_bytes": size}), **made}
