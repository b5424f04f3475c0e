# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The page as one HTML file: no request to anywhere, no script, readable in grey and on paper."""

from __future__ import annotations

from pathlib import Path

import jinja2

from .fields import moment
from .model import Page

# Rows a table shows; the rest is counted. A page is for reading, the history has every row.
LISTED = 500
BAR_WIDTH = 100
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_TEMPLATE = Path(__file__).with_name("report.html.j2")


def render(page: Page) -> str:
    """The HTML of ``page``; equal pages give equal texts."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(bytes=size, value=value, percent=percent, duration=duration, moment=instant, bar=fill_width)
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(page=page, listed=LISTED, bar_width=BAR_WIDTH)


def size(count: float | None) -> str:
    """64 KiB; 1,000,000 B where the larger unit would not be exact."""
    if count is None:
        return "–"
    unit = 0
    while count >= 1024 and count % 1024 == 0 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:,.0f} {_UNITS[unit]}"


def value(amount: float | None) -> str:
    """195.9, 21.34, 1234: at most four digits where it has decimals, never an exponent."""
    if amount is None:
        return "–"
    return f"{amount:.{max(0, 4 - len(str(int(abs(amount)))))}f}"


def percent(share: float | None) -> str:
    """94 %"""
    return "–" if share is None else f"{share * 100:.0f} %"


def fill_width(share: float | None) -> str:
    """The width of a bar for a share of the best, in pixels."""
    return f"{min(max(share or 0, 0), 1) * BAR_WIDTH:.0f}"


def duration(seconds: float | None) -> str:
    """1 h 2 min 3 s; under a minute with tenths."""
    if seconds is None:
        return "not known"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min {rest} s" if hours else f"{minutes} min {rest} s"


def instant(stamp: str) -> str:
    """2026-11-20 10:15:00 UTC; the text as it is where it is no time."""
    found = moment(stamp)
    return found.strftime("%Y-%m-%d %H:%M:%S %Z") if found else stamp
