# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Totals of each host for the sentence of a good verdict: partners, and the range of its values."""

from __future__ import annotations

from collections.abc import Iterable

from ...module_utils._core.samples import GBIT
from .classification import Classification


class HostSummaries:
    """``codes``: the error codes of all pairs of a host, "" for a pair that was measured."""

    def __init__(self, classification: Classification) -> None:
        self._table = classification.table
        self._spans = classification.spans
        self.codes: dict[str, set[str]] = {}
        numbers = {host: number for number, host in enumerate(dict.fromkeys(npu.host for npu in classification.table.npus))}
        self._partners: dict[str, set[int]] = {host: set(classification.met.get(number, ())) for host, number in numbers.items()}
        hosts = list(numbers)
        for number, others in classification.met.items():
            for other in others:
                self._partners[hosts[other]].add(number)
        for cell in classification.table.cells:
            for npu in (cell.source, cell.target):
                self.codes.setdefault(classification.table.npus[npu].host, set()).add(cell.code if cell.worth is None else "")
        for row in classification.table.rows:
            self.codes.setdefault(classification.table.npus[row.source].host, set()).add("")

    def partners(self, host: str) -> int:
        """Return the number of other hosts that were measured with this host."""
        return len(self._partners.get(host, ()))

    def span(self, npus: Iterable[int]) -> str:
        """Return the lowest and highest good value of these NPUs as text, "" if they measured none themselves."""
        spans = [self._spans[npu] for npu in npus if npu in self._spans]
        if not spans:
            return ""
        kind = self._table.kinds[spans[0][0]]
        shown = [kind.shown(bound(values)) for bound, values in ((min, [low for number, low, _high in spans if number == spans[0][0]]),
                                                                 (max, [high for number, _low, high in spans if number == spans[0][0]]))]
        return f", {shown[0]} to {shown[1]} {kind.unit}" if kind.unit == GBIT else f", {shown[1]} to {shown[0]} {kind.unit}"
