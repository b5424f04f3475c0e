# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What an end or a host has measured in all, for the sentences of those that are good."""

from __future__ import annotations

from collections.abc import Iterable

from ...module_utils._core.samples import GBIT
from .rating import Rating


class Summaries:
    """``codes``: the errors of each host's pairs, "" for one that was measured."""

    def __init__(self, rating: Rating) -> None:
        self._table = rating.table
        self._spans = rating.spans
        self.codes: dict[str, set[str]] = {}
        numbers = {host: number for number, host in enumerate(dict.fromkeys(end.host for end in rating.table.ends))}
        self._partners: dict[str, set[int]] = {host: set(rating.met.get(number, ())) for host, number in numbers.items()}
        hosts = list(numbers)
        for number, others in rating.met.items():
            for other in others:
                self._partners[hosts[other]].add(number)
        for cell in rating.table.cells:
            for end in (cell.source, cell.target):
                self.codes.setdefault(rating.table.ends[end].host, set()).add(cell.code if cell.worth is None else "")
        for row in rating.table.rows:
            self.codes.setdefault(rating.table.ends[row.source].host, set()).add("")

    def partners(self, host: str) -> int:
        """Other hosts with which something was measured."""
        return len(self._partners.get(host, ()))

    def span(self, ends: Iterable[int]) -> str:
        """The lowest and the highest of the good values of these ends, "" where they measured none themselves."""
        spans = [self._spans[end] for end in ends if end in self._spans]
        if not spans:
            return ""
        kind = self._table.kinds[spans[0][0]]
        shown = [kind.shown(bound(values)) for bound, values in ((min, [low for number, low, _high in spans if number == spans[0][0]]),
                                                                 (max, [high for number, _low, high in spans if number == spans[0][0]]))]
        return f", {shown[0]} to {shown[1]} {kind.unit}" if kind.unit == GBIT else f", {shown[1]} to {shown[0]} {kind.unit}"


def by_end(rating: Rating) -> dict[int, list[tuple[int, float]]]:
    """Kind and worth of what was measured with each end; of rows by the source only."""
    found: dict[int, list[tuple[int, float]]] = {}
    for cell in rating.table.cells:
        for end in (cell.source, cell.target):
            if cell.worth is not None:
                found.setdefault(end, []).append((cell.kind, cell.worth))
    for row in rating.table.rows:
        found.setdefault(row.source, []).extend((row.kind, worth) for worth in row.worths if worth is not None)
    return found
