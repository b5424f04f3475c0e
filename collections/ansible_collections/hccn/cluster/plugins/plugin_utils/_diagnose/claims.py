# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a host claims that cannot be, or that all other hosts contradict: it is dropped before anything is compared.

The source of a pair alone reports it. So a host that reports too much, by a broken clock, another unit or on purpose, would raise what is normal, and
all others would be slow. Too little needs no care here: a pair is as good as the worse of its ends, and the partners are good with others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from statistics import median

from ...module_utils._core.problems import Problem
from ...module_utils._core.samples import GBIT, MICROSECONDS
from .cells import Cell, Kind, Table
from .noise import FEW, LEAST_SPREAD, SPREAD_OF_FEW, Normal, normal

LINE_RATE_TOLERANCE = 1.02
"""Times the line rate that a measurement may show. Payload never reaches it (RoCEv2 with an MTU of 4,096: 98 %), but rows hold three digits (0.5 %), tools
count in their own units and clocks, and what a NIC still had in its queues is counted in a short test."""

LEAST_EXCESS, EXCESS_SIGMAS = 0.05, 6.0
"""Above the other hosts, from which on a bandwidth is an outlier: a share, and multiples of the spread between hosts."""

LATENCY_EXCESS = 3.0
"""The same for a latency, which is shorter by itself on the same leaf: as many times shorter, plus one."""

LEAST_REPORTERS, LEAST_PARTNERS, LEAST_VALUES = 3, 2, 2
"""Hosts that report, so that two agree against one; partners and values of the one. With a single partner it may as well be a better pair."""

CONFIRMED = 0.25
"""Of the values of one host: as many such values of other hosts confirm that there is something to reach."""

LEAST_HOSTS = 4
"""Hosts from which on three can agree against one."""

LEAST_RISE, LEAST_PART = 0.02, 0.02
"""Of what is normal, by what a single host reports: from here on that does not count. And the part of all values that is able to do so."""

MOST_OF_ROW = 64
"""Values of a row that are looked at."""

ABOVE_LINE_RATE, LINE_RATES_DIFFER, OUTLIER = "above_line_rate", "line_rates_differ", "contradicted_by_others"
"""Rules of the problems."""

ODD = (ABOVE_LINE_RATE, OUTLIER)
"""Those that say something about the host itself, which is not good then."""


def sift(table: Table) -> list[Problem]:
    """Drop from the table what is no measurement. Return a problem for each host that reported some."""
    return [*_above_line_rate(table), *_contradicted(table)]


class Reported:
    """Values by the host that reported them: how many of those that count are of others than the one with most of them?"""

    def __init__(self, hosts: Iterable[str]) -> None:
        self.counts: dict[str, int] = {}
        for host in hosts:
            self.counts[host] = self.counts.get(host, 0) + 1

    def confirmed(self, host: str) -> bool:
        """Do others report enough of them, too?"""
        mine = self.counts.get(host, 0)
        return sum(self.counts.values()) - mine >= max(1, CONFIRMED * mine)

    def independent(self) -> bool:
        """Whichever host is left out, do the others confirm it?"""
        return all(map(self.confirmed, self.counts))


def normal_of_reports(values: Mapping[str, Sequence[float]], hosts: int) -> tuple[Normal, str | None]:
    """What is normal among the values that each host reports, and the host, if any, that alone would have made more of it: then it is what the others
    report. ``hosts``: how many take part."""
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


def contested(table: Table, host: str) -> bool:
    """May it as well be right, since all that the others report has one and the same host at an end, which would be slow then?"""
    measured = ((cell.source, cell.target) for cell in table.cells if cell.worth is not None)
    in_rows = ((row.source, target) for row in table.rows for target, worth in zip(row.targets, row.worths) if worth)
    common: set[str] | None = None
    for source, target in chain(measured, in_rows):
        hosts = {table.ends[source].host, table.ends[target].host}
        if table.ends[source].host != host:
            common = hosts - {host} if common is None else common & hosts
            if not common:
                return False
    return True


def _above_line_rate(table: Table) -> Iterator[Problem]:
    """A value above the line rate of its own source is that host's fault. One above that of its record only contradicts the partner."""
    best = table.line_rates()
    own: dict[str, tuple[float, str, int]] = {}
    differ: dict[str, tuple[str, int]] = {}

    def judged(source: int, target: int, worth: float, rate: float, ways: int) -> None:
        host = table.ends[source].host
        if worth > best.get(source, rate) * ways * LINE_RATE_TOLERANCE:
            known = own.get(host, (0.0, "", 0))
            said = f"{worth:.4g} Gbit/s from {table.ends[source]} to {table.ends[target]}, whose line rate is {rate * ways:g} Gbit/s"
            own[host] = (max(known[0], worth), said if worth > known[0] else known[1], known[2] + 1)
        else:
            said = f"{worth:.4g} Gbit/s from {table.ends[source]} to {table.ends[target]}, where the line rate is {rate * ways:g} Gbit/s"
            differ[host] = (differ.get(host, (said, 0))[0], differ.get(host, (said, 0))[1] + 1)

    kept: list[Cell] = []
    for cell in table.cells:
        ways = 1 + cell.both
        if cell.worth is not None and cell.rate and table.kinds[cell.kind].unit == GBIT and cell.worth > cell.rate * ways * LINE_RATE_TOLERANCE:
            judged(cell.source, cell.target, cell.worth, cell.rate, ways)
        else:
            kept.append(cell)
    table.cells[:] = kept
    for place, row in enumerate(table.rows):
        limit = row.rate * (1 + row.both) * LINE_RATE_TOLERANCE
        if row.rate and table.kinds[row.kind].unit == GBIT and max(filter(None, row.worths), default=0.0) > limit:
            for target, worth in zip(row.targets, row.worths):
                if worth and worth > limit:
                    judged(row.source, target, worth, row.rate, 1 + row.both)
            table.rows[place] = row._replace(worths=[None if worth and worth > limit else worth for worth in row.worths])
    for host, (_most, said, count) in sorted(own.items()):
        more = f" ({count} such values)" if count > 1 else ""
        yield Problem(ABOVE_LINE_RATE, "error", f"it reported {said}{more}: no measurement can be above it, so these are dropped", host=host,
                      hint="compare the clock, the tool and its version with those of the other hosts, then check again")
    for host, (said, count) in sorted(differ.items()):
        more = f" ({count} such values)" if count > 1 else ""
        yield Problem(LINE_RATES_DIFFER, "warning", f"it reported {said}{more}: one of the two hosts gives a wrong line rate, so these are dropped", host=host,
                      hint="compare the speed of the two NPUs with hccn_tool -speed -g")


def _contradicted(table: Table) -> Iterator[Problem]:
    """Hosts of which nearly all values are far above those of the others, where no other host reports such values."""
    odd: dict[str, tuple[Kind, float, float]] = {}
    for number, kind in enumerate(table.kinds):
        if kind.unit:
            odd.update((host, (kind, reached, usual)) for host, reached, usual in _outliers(table, number, kind.unit == MICROSECONDS))
    if not odd:
        return
    table.cells[:] = [cell for cell in table.cells if cell.worth is None or table.ends[cell.source].host not in odd]
    table.rows[:] = [row for row in table.rows if table.ends[row.source].host not in odd]
    for host, (kind, reached, usual) in sorted(odd.items()):
        yield Problem(OUTLIER, "error", f"it reported {kind.shown(reached)} {kind.unit} to its partners, where the other hosts measure "
                      f"{kind.shown(usual)} {kind.unit}, also with this host: none of them confirms it, so its values are dropped", host=host,
                      hint="compare the clock, the tool and its version with those of the other hosts, then check again")


def _outliers(table: Table, kind: int, timed: bool) -> Iterator[tuple[str, float, float]]:
    """Host, what it reports and what the others report."""
    values, partners = _by_host(table, kind)
    if len(values) < LEAST_REPORTERS:
        return
    middles = {host: median(mine) for host, mine in values.items()}
    usual = median(middles.values())
    spread = max(1.4826 * median(abs(middle - usual) for middle in middles.values()) / usual, LEAST_SPREAD)
    if sum(map(len, values.values())) < FEW:
        spread = max(spread, SPREAD_OF_FEW)
    bound = usual * (1 + (LATENCY_EXCESS if timed else max(LEAST_EXCESS, EXCESS_SIGMAS * spread)))
    above = Reported(host for host, mine in values.items() for value in mine if value > bound)
    for host, mine in values.items():
        if len(mine) >= LEAST_VALUES and partners[host] >= LEAST_PARTNERS and _quarter(mine) > bound and not above.confirmed(host):
            yield host, middles[host], usual


def _quarter(values: Sequence[float]) -> float:
    """What three quarters of them reach."""
    return sorted(values)[len(values) // 4]


def _by_host(table: Table, kind: int) -> tuple[Mapping[str, list[float]], Mapping[str, int]]:
    """The values that each host reports, and with how many others; of long rows a sample."""
    values: dict[str, list[float]] = {}
    partners: dict[str, set[str]] = {}
    singles = ((cell.source, cell.target, cell.worth) for cell in table.cells if cell.kind == kind)
    rows = ((row.source, row.targets[place], row.worths[place]) for row in table.rows if row.kind == kind
            for place in range(row.source % max(1, len(row.worths) // MOST_OF_ROW), len(row.worths), max(1, len(row.worths) // MOST_OF_ROW)))
    for source, target, worth in chain(singles, rows):
        if worth:
            host = table.ends[source].host
            values.setdefault(host, []).append(worth)
            partners.setdefault(host, set()).add(table.ends[target].host)
    return values, {host: len(others) for host, others in partners.items()}
