# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Format numbers, units, times and descriptions of measurements, the same on every page."""

from __future__ import annotations

from collections.abc import Callable

from .._history.pair_results import Metric
from .._history.summary import Group
from .fields import moment

NONE = "–"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def bytes_text(count: float | None) -> str:
    """Return a size in the largest exact unit: 64 KiB, 1,000,000 B."""
    if count is None:
        return NONE
    unit = 0
    while count >= 1024 and count % 1024 == 0 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:,.0f} {_UNITS[unit]}"


def rounded(amount: float | None) -> str:
    """Return a number with up to four digits, below 1 three significant ones, without exponent: 195.9, 21.34, 1234, 0.0386."""
    if amount is None:
        return NONE
    if 0.0001 <= abs(amount) < 1:
        return f"{amount:.3g}"
    return f"{amount:.{max(0, 4 - len(str(int(abs(amount)))))}f}"


def with_unit(amount: float | None, unit: str) -> str:
    """Return an amount with its unit: 195.9 Gbit/s."""
    return NONE if amount is None else f"{rounded(amount)} {'µs' if unit == 'us' else unit}"


def percent(share: float | None) -> str:
    """Return a share in percent: 94 %."""
    return NONE if share is None else f"{share * 100:.0f} %"


def duration(seconds: float | None) -> str:
    """Return a duration: 1 h 2 min 3 s; below a minute with tenths."""
    if seconds is None:
        return NONE
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min {rest} s" if hours else f"{minutes} min {rest} s"


def instant(stamp: str) -> str:
    """Return a time: 2026-11-20 10:15:00 UTC; other texts unchanged."""
    found = moment(stamp)
    return found.strftime("%Y-%m-%d %H:%M:%S %Z") if found else stamp


Translate = Callable[[str], str]


def as_is(word: str) -> str:
    """Return a word of a record in English."""
    return word


def metric_text(metric: Metric, t: Translate = as_is) -> str:
    """Return a metric: rdma write bandwidth at 64 KiB (ib_write_bw). ``t`` translates the words."""
    words = " ".join(filter(None, (t(metric.kind), metric.operation, t(metric.measure), _at(metric.size_bytes, t))))
    return f"{words} ({metric.tool})" if metric.tool else words


def group_text(group: Group, t: Translate = as_is) -> str:
    """Return the group of a trend: all_reduce at 32 MiB, 16 hosts, 32 ranks."""
    kind = "" if group.kind == "collective" else t(group.kind)
    words = " ".join(filter(None, (kind, group.operation, t(group.measure) if group.kind != "collective" else "", _at(group.size_bytes, t))))
    classes = ", ".join(map(t, filter(None, group.pair_class.split(", "))))
    return ", ".join(filter(None, (words or t(group.kind), classes, group.product, group.firmware)))


def _at(size: float | None, t: Translate) -> str:
    return f"{t('at')} {bytes_text(size)}" if size is not None else ""
