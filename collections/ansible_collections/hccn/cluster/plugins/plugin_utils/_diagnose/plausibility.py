# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Drop values that are impossible, or that all other hosts contradict, before anything is compared.

Only the source of a pair reports it. A host that reports too much, because of a broken clock, another unit or on purpose, would raise the normal value and
make all others slow. Reports that are too low do no harm: a pair is as good as the worse of its NPUs, and the partners are good with others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from statistics import median

from ...module_utils._core.problems import Problem
from ...module_utils._core.samples import GBIT, MICROSECONDS
from .measurement_table import Cell, Kind, Table
from .noise import FEW, LEAST_SPREAD, SPREAD_OF_FEW, Normal, normal

LINE_RATE_TOLERANCE = 1.02
"""Factor above the line rate that a measurement may reach. Payload never reaches the line rate (RoCEv2 with an MTU of 4,096: 98 %), but rows have three
digits (0.5 %), tools use their own units and clocks, and a short test also counts what was left in the queues of a NIC."""

LEAST_EXCESS, EXCESS_SIGMAS = 0.05, 6.0
"""A bandwidth is an outlier if it is above the other hosts by more than this share, and by more than this multiple of the spread between hosts."""

LATENCY_EXCESS = 3.0
"""The same for a latency, which is naturally shorter on the same leaf: this many times shorter, plus one."""

LEAST_REPORTERS, LEAST_PARTNERS, LEAST_VALUES = 3, 2, 2
"""Reporting hosts, so that two contradict one; partners and values of that one. With a single partner it may be a better pair."""

CONFIRMED = 0.25
"""Share of the values of one host that other hosts must report as well to confirm them."""

LEAST_HOSTS = 4
"""With fewer hosts, three cannot contradict one."""

LEAST_RISE, LEAST_PART = 0.02, 0.02
"""The reports of a single host do not count if they raise the normal value by this share. A host with a smaller part of all values cannot do so."""

MOST_OF_ROW = 64
"""Values of a row that are compared."""

ABOVE_LINE_RATE, LINE_RATES_DIFFER, OUTLIER = "above_line_rate", "line_rates_differ", "contradicted_by_others"
"""Rules of the problems."""

ODD = (ABOVE_LINE_RATE, OUTLIER)
"""Rules that say something about the host itself. It is not good then."""


def drop_implausible(table: Table) -> list[Problem]:
    """Drop implausible values from the table. Return a problem for each host that reported some."""
    return [*_drop_above_line_rate(table), *_drop_contradicted(table)]


class ReportCounts:
    """Count values by the host that reported them."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self.counts: dict[str, int] = {}
        for host in hosts:
            self.counts[host] = self.counts.get(host, 0) + 1

    def confirmed(self, host: str) -> bool:
        """Return True if other hosts report enough such values, too."""
        mine = self.counts.get(host, 0)
        return sum(self.counts.values()) - mine >= max(1, CONFIRMED * mine)

    def independent(self) -> bool:
        """Return True if the other hosts confirm the values, whichever host is left out."""
        return all(map(self.confirmed, self.counts))


def normal_of_reports(values: Mapping[str, Sequence[float]], hosts: int) -> tuple[Normal, str | None]:
    """Return the normal value of what each host reports. If the reports of a single host raise it, return that of the others, and the host.

    ``hosts``: the number of hosts in the run.
    """
    found = normal([worth for mine in values.values() for worth in mine])
    if hosts < LEAST_HOSTS or len(values) < LEAST_REPORTERS:
        return found, None
    least = LEAST_PART * sum(map(len, values.values()))
    rest = {host: normal([worth for other, theirs in values.items() if other != host for worth in theirs])
            for host, mine in values.items() if len(mine) >= least}
    alone = min(rest, key=lambda host: rest[host].reference, default=None)
    if alone is None or rest[alone].reference * (1 + LEAST_RISE) >= found.reference:
        return found, None
    return rest[alone], alone


def is_contested(table: Table, host: str) -> bool:
    """Return True if the host may be right, since all reports of the others are about pairs with one and the same host, which would be slow then."""
    measured = ((cell.source, cell.target) for cell in table.cells if cell.worth is not None)
    in_rows = ((row.source, target) for row in table.rows for target, worth in zip(row.targets, row.worths) if worth)
    common: set[str] | None = None
    for source, target in chain(measured, in_rows):
        hosts = {table.npus[source].host, table.npus[target].host}
        if table.npus[source].host != host:
            common = hosts - {host} if common is None else common & hosts
            if not common:
                return False
    return True


class _AboveLineRate:
    """Values above a line rate, by the host that reported them.

    A value above the line rate of its own source is the host's own fault. One that is only above the line rate in its record contradicts the partner.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._best = table.line_rates()
        self._own: dict[str, tuple[float, str, int]] = {}
        self._contradicting: dict[str, tuple[str, int]] = {}

    def add(self, source: int, target: int, worth: float, rate: float, directions: int) -> None:
        """Add a value. ``directions``: how many were measured at once."""
        host = self._table.npus[source].host
        value = f"{worth:.4g} Gbit/s from {self._table.npus[source]} to {self._table.npus[target]}"
        if worth > self._best.get(source, rate) * directions * LINE_RATE_TOLERANCE:
            largest, text, count = self._own.get(host, (0.0, "", 0))
            if worth > largest:
                text = f"{value}, whose line rate is {rate * directions:g} Gbit/s"
            self._own[host] = (max(largest, worth), text, count + 1)
        else:
            text, count = self._contradicting.get(host, (f"{value}, where the line rate is {rate * directions:g} Gbit/s", 0))
            self._contradicting[host] = (text, count + 1)

    def problems(self) -> Iterator[Problem]:
        """Return a problem for each host."""
        for host, (_largest, text, count) in sorted(self._own.items()):
            yield Problem(ABOVE_LINE_RATE, "error", f"it reported {text}{_more(count)}: a measurement cannot be above it, so these are dropped", host=host,
                          hint="compare the clock, the tool and its version with those of the other hosts, then check again")
        for host, (text, count) in sorted(self._contradicting.items()):
            yield Problem(LINE_RATES_DIFFER, "warning", f"it reported {text}{_more(count)}: one of the two hosts gives a wrong line rate, so these are dropped",
                          host=host, hint="compare the speed of the two NPUs with hccn_tool -speed -g")


def _more(count: int) -> str:
    return f" ({count} such values)" if count > 1 else ""


def _drop_above_line_rate(table: Table) -> list[Problem]:
    """Drop values above the line rate from the table."""
    found = _AboveLineRate(table)
    left: list[Cell] = []
    for cell in table.cells:
        directions = 1 + cell.both
        if cell.worth is not None and cell.rate and table.kinds[cell.kind].unit == GBIT and cell.worth > cell.rate * directions * LINE_RATE_TOLERANCE:
            found.add(cell.source, cell.target, cell.worth, cell.rate, directions)
        else:
            left.append(cell)
    table.cells[:] = left
    for place, row in enumerate(table.rows):
        limit = row.rate * (1 + row.both) * LINE_RATE_TOLERANCE
        if row.rate and table.kinds[row.kind].unit == GBIT and max(filter(None, row.worths), default=0.0) > limit:
            for target, worth in zip(row.targets, row.worths):
                if worth and worth > limit:
                    found.add(row.source, target, worth, row.rate, 1 + row.both)
            table.rows[place] = row._replace(worths=[None if worth and worth > limit else worth for worth in row.worths])
    return list(found.problems())


def _drop_contradicted(table: Table) -> Iterator[Problem]:
    """Drop all values of hosts that report nearly always far more than the others, if no other host reports such values."""
    odd: dict[str, tuple[Kind, float, float]] = {}
    for number, kind in enumerate(table.kinds):
        if kind.unit:
            odd.update((host, (kind, reached, usual)) for host, reached, usual in _outliers(table, number, kind.unit == MICROSECONDS))
    if not odd:
        return
    table.cells[:] = [cell for cell in table.cells if cell.worth is None or table.npus[cell.source].host not in odd]
    table.rows[:] = [row for row in table.rows if table.npus[row.source].host not in odd]
    for host, (kind, reached, usual) in sorted(odd.items()):
        yield Problem(OUTLIER, "error", f"it reported {kind.shown(reached)} {kind.unit} to its partners, where the other hosts measure "
                      f"{kind.shown(usual)} {kind.unit}, also with this host: none of them confirms it, so its values are dropped", host=host,
                      hint="compare the clock, the tool and its version with those of the other hosts, then check again")


def _outliers(table: Table, kind: int, timed: bool) -> Iterator[tuple[str, float, float]]:
    """Return the hosts that report too much, each with its own median and that of the others."""
    values, partners = _by_host(table, kind)
    if len(values) < LEAST_REPORTERS:
        return
    middles = {host: median(mine) for host, mine in values.items()}
    usual = median(middles.values())
    spread = max(1.4826 * median(abs(middle - usual) for middle in middles.values()) / usual, LEAST_SPREAD)
    if sum(map(len, values.values())) < FEW:
        spread = max(spread, SPREAD_OF_FEW)
    bound = usual * (1 + (LATENCY_EXCESS if timed else max(LEAST_EXCESS, EXCESS_SIGMAS * spread)))
    above = ReportCounts(host for host, mine in values.items() for value in mine if value > bound)
    for host, mine in values.items():
        if len(mine) >= LEAST_VALUES and partners[host] >= LEAST_PARTNERS and _quarter(mine) > bound and not above.confirmed(host):
            yield host, middles[host], usual


def _quarter(values: Sequence[float]) -> float:
    """Return the value that three quarters of them reach."""
    return sorted(values)[len(values) // 4]


def _by_host(table: Table, kind: int) -> tuple[Mapping[str, list[float]], Mapping[str, int]]:
    """Return the values that each host reports, and its number of partners; of long rows a sample."""
    values: dict[str, list[float]] = {}
    partners: dict[str, set[str]] = {}
    singles = ((cell.source, cell.target, cell.worth) for cell in table.cells if cell.kind == kind)
    rows = ((row.source, row.targets[place], row.worths[place]) for row in table.rows if row.kind == kind
            for place in range(row.source % max(1, len(row.worths) // MOST_OF_ROW), len(row.worths), max(1, len(row.worths) // MOST_OF_ROW)))
    for source, target, worth in chain(singles, rows):
        if worth:
            host = table.npus[source].host
            values.setdefault(host, []).append(worth)
            partners.setdefault(host, set()).add(table.npus[target].host)
    return values, {host: len(others) for host, others in partners.items()}
