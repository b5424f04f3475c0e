# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Heatmaps as images, with names along both axes and values for the script."""

from __future__ import annotations

import base64
import math
import os.path
import sys
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import png
from .heatmaps import LOW, Map, Maps, level
from .formatting import with_unit

WIDE, NARROW = 1060, 216
"""Largest width of a map in pixels on wide and narrow screens."""
PREFERRED = 620
MOST_CELL, LEAST_HIGH_CELL = 28, 14
"""Largest size of a cell in pixels, and least height of the rows of a map that is not square."""
MARK = 14
"""Height of a name beside a map in pixels."""
NAME = 14
"""Characters of a name beside a map. Longer names are cut at the beginning, since host names differ at the end."""
ONE_MARK = 0.97
"""The largest limit beside which 100 % gets a mark of its own in the legend."""
NOT_MEASURED, FAILED, DIAGONAL, LOST = 65535, 65534, 65533, 65532
_CODES = {png.NOT_MEASURED: NOT_MEASURED, png.FAILED: FAILED, png.DIAGONAL: DIAGONAL, png.LOST: LOST}


STATE_IMAGES = {state: png.inline(png.overlay([bytes([state])], 9)) for state in (png.DIAGONAL, png.FAILED, png.NOT_MEASURED, png.LOST)}
"""An image of each state for the legend."""


@dataclass(frozen=True)
class Mark:
    """A name beside a row or column; ``narrow``: also shown on narrow screens."""

    place: int
    name: str
    narrow: bool


@dataclass(frozen=True)
class Tick:
    """A mark of the legend: its place in percent of the scale, the share and the value at it."""

    place: float
    part: float
    value: str
    is_limit: bool


@dataclass(frozen=True)
class Plot:
    """``cell`` and ``narrow`` are (width, height) of a cell in pixels; ``data`` is for the script."""

    map: Map
    base: str
    overlay: str
    cell: tuple[int, int]
    narrow: tuple[int, int]
    rows: list[Mark]
    columns: list[Mark]
    row_width: int
    column_height: int
    data: dict[str, Any]
    scale: list[Tick]


def build(maps: Maps | None) -> list[Plot]:
    """Return the plots of a page in their order: pairs, rails, leaves."""
    return [_plot(found) for found in (maps.pairs, maps.rails, maps.leaves) if found is not None] if maps else []


def _plot(found: Map) -> Plot:
    wide, narrow = _cell(found, PREFERRED, WIDE), _cell(found, NARROW, NARROW)
    base = png.picture(len(found.columns), [bytes(level(found.share(row, column), found.expected.limit) for column in range(len(found.columns)))
                                            for row in range(len(found.rows))], png.SCALE)
    rows, columns = _marks(found.rows, wide[1], narrow[1]), _marks(found.columns, wide[0], narrow[0])
    return Plot(found, png.inline(base), png.inline(png.overlay(found.states, 9 if len(found.columns) <= 128 else 3)), wide, narrow, rows, columns,
                max((len(mark.name) for mark in rows), default=0), max((len(mark.name) for mark in columns), default=0),
                _data(found), _scale(found))


def _cell(found: Map, preferred: int, most: int) -> tuple[int, int]:
    """Return width and height of a cell in whole pixels, to avoid blurring. The cells of maps that are not square are high enough for a name."""
    columns = max(1, len(found.columns))
    width = min(MOST_CELL, max(1, preferred // columns, min(2, most // columns)))
    if len(found.rows) == len(found.columns):
        return width, width
    return width, max(width, LEAST_HIGH_CELL)


def _marks(names: Sequence[str], wide: int, narrow: int) -> list[Mark]:
    step, sparse = _step(wide), _step(narrow)
    short = shortened(names)
    return [Mark(number, short[number], number % sparse == 0) for number in range(0, len(names), step)]


def _step(cell: int) -> int:
    """Return the number of cells per name. It is a power of two, so that a narrow screen shows a subset of the names of a wide one."""
    return 1 << max(0, math.ceil(math.log2(MARK / cell)))


def shortened(names: Sequence[str]) -> list[str]:
    """Return the names, without their common prefix and domain if they are long."""
    if not names or max(map(len, names)) <= NAME:
        return list(names)
    common = os.path.commonprefix(list(names)).rstrip("0123456789") if len(names) > 1 else ""
    tail = os.path.commonprefix([name[::-1] for name in names])[::-1] if len(names) > 1 else ""
    tail = tail[tail.index("."):] if "." in tail else ""
    cut = [name[len(common):len(name) - len(tail)] or name for name in names]
    return [name if len(name) <= NAME else "…" + name[1 - NAME:] for name in cut]


def _data(found: Map) -> dict[str, Any]:
    """Return the data of a map. Values are 16-bit integers in units of ``1 / scale``, compressed with all high bytes first, since these are similar."""
    known = [value for line in found.values for value in line if value is not None]
    scale = _decimals(max(known, default=1.0))
    numbers = array("H")
    for values, states in zip(found.values, found.states):
        numbers.extend(_CODES[state] if state else min(LOST - 1, round((value or 0) * scale)) for value, state in zip(values, states))
    if sys.byteorder == "big":
        numbers.byteswap()
    raw = numbers.tobytes()
    data: dict[str, Any] = {"name": found.name, "rows": found.rows, "columns": found.columns if found.columns != found.rows else None,
                            "unit": "µs" if found.unit == "us" else found.unit, "expected": found.expected.value, "limit": found.expected.limit, "scale": scale,
                            "values": _packed(raw[1::2] + raw[0::2])}
    if found.devices:
        data["devices"] = _packed(b"".join(found.devices))
    return data


def _decimals(greatest: float) -> float:
    """Return the power of ten that scales the greatest value to at least four digits in two bytes."""
    return 10.0 ** math.floor(math.log10((LOST - 1) / greatest)) if greatest > 1e-9 else 1.0


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode("ascii")


def _scale(found: Map) -> list[Tick]:
    """Return the marks of the legend. The limit divides the scale in the middle."""
    limit = found.expected.limit
    parts = [(LOW, 0.0), (limit, 50.0)] + ([(1.0, place_of(1.0, limit))] if limit < ONE_MARK else [])
    return [Tick(place, part, with_unit(_value(found, part), found.unit), part == limit) for part, place in parts]


def _value(found: Map, part: float) -> float:
    return found.expected.value * part if found.unit != "us" else found.expected.value / part


def place_of(part: float, limit: float) -> float:
    """Return the position of a share on the scale, in percent of its length."""
    return round(100 * level(part, limit) / (png.SHADES - 1), 2)


def gradient() -> str:
    """Return the colours of the scale as stops of a CSS gradient, with a break in the middle."""
    stops = [(number * 5, round(number / 20 * (png.SHADES - 1))) for number in range(21) if number != 10]
    stops[10:10] = [(50, png.SHADES // 2 - 1), (50, png.SHADES // 2)]
    return ",".join(f"#{bytes(png.shade(index)[:3]).hex()} {place}%" for place, index in stops)


def palette() -> str:
    """Return the colours of the scale for the script, three bytes each."""
    return base64.b64encode(b"".join(bytes(colour[:3]) for colour in png.SCALE[:png.SHADES])).decode("ascii")
