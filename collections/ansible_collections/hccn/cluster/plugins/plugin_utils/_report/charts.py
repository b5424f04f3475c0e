# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Line charts as SVG: values over runs, collectives over sizes. Axes start at zero, and no information depends on colour alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from .trends import Trend

WIDTH, HEIGHT = 340, 150
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 10, 22
_STAMP = re.compile(r"^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)\d*Z$")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "10 4")
"""Dash patterns, so that lines can be distinguished without colours."""


@dataclass(frozen=True)
class Axis:
    """An axis from 0 to ``top`` with a mark every ``step``."""

    top: float
    step: float

    @classmethod
    def upto(cls, greatest: float) -> Axis:
        """Return an axis with two to five steps and a round top above ``greatest``."""
        if not greatest > 0 or math.isinf(greatest):
            return cls(1.0, 0.5)
        power = 10.0 ** math.floor(math.log10(greatest))
        for factor in (0.2, 0.5, 1.0, 2.0, 5.0):
            step = factor * power
            if greatest / step <= 5:
                return cls(step * math.ceil(greatest / step - 1e-9), step)
        return cls(10 * power, 2 * power)

    def marks(self) -> list[float]:
        return [number * self.step for number in range(round(self.top / self.step) + 1)]

    def y(self, value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(max(value, 0.0), self.top) / self.top), 1)


def short(value: float) -> str:
    """Return a number with four digits and without exponent below a million: 195.9, 21.34, 0.5."""
    return f"{value:.4g}" if abs(value) < 10000 else f"{value:.0f}"


def trend(found: Trend, label: str) -> Markup:
    """Return the chart of a trend, runs from left to right, this run highlighted. A run in which everything failed is a cross."""
    known = [point.value for point in found.points if point.value is not None] + ([found.baseline.median] if found.baseline else [])
    axis = Axis.upto(max(known, default=0.0))
    width = WIDTH - LEFT - RIGHT
    xs = [round(LEFT + 6 + (width - 12) * (number / max(1, len(found.points) - 1)), 1) for number in range(len(found.points))]
    parts = [_frame(axis)]
    if found.baseline and found.limit is not None:
        parts.append(_level(axis, found.baseline.median, "base") + _level(axis, found.limit, "limit"))
    parts += [f'<circle class="least" cx="{x}" cy="{axis.y(point.least)}" r="1.5"/>' for x, point in zip(xs, found.points) if point.least is not None]
    line = " ".join(f"{x},{axis.y(point.value)}" for x, point in zip(xs, found.points) if point.value is not None)
    parts.append(f'<polyline class="line" points="{line}"/>')
    for number, (x, point) in enumerate(zip(xs, found.points)):
        if point.value is None:
            parts.append(_text(x, axis.y(0.0), "✕", "middle"))
            continue
        now = number == len(xs) - 1
        title = escape(f"{point.run_id} {point.started}: {short(point.value)} {found.group.unit}")
        parts.append(f'<circle class="{"now" if now else "dot"}" cx="{x}" cy="{axis.y(point.value)}" r="{4 if now else 2.5}"><title>{title}</title></circle>')
    times = labels([point.started for point in found.points])
    parts += [_text(LEFT, HEIGHT - 6, times[0], "start"), _text(WIDTH - RIGHT, HEIGHT - 6, times[1], "end")] if len(found.points) > 1 else (
        [_text(LEFT, HEIGHT - 6, times[0], "start")] if found.points else [])
    return _svg(parts, label)


def labels(stamps: Sequence[str]) -> tuple[str, str]:
    """Return the first and the last of compact UTC timestamps, with the time of day; the day only once if it is the same."""
    first, last = (when(stamps[place]) for place in (0, -1)) if stamps else ("", "")
    return first, last[11:] if first[:10] == last[:10] and len(last) > 11 else last


def when(stamp: str) -> str:
    """Return day and time of a compact UTC timestamp: 2026-11-20 10:15; other texts unchanged."""
    return _STAMP.sub(r"\1-\2-\3 \4:\5", stamp)


@dataclass(frozen=True)
class Line:
    """A line over sizes; ``points`` are (bytes, value)."""

    name: str
    points: list[tuple[float, float]]


def sizes(lines: Sequence[Line], label: str, unit_of_size: Callable[[float], str]) -> Markup:
    """Return the chart of values by size. Sizes are equally spaced, since the tools double them. ``unit_of_size`` formats a size."""
    found = sorted({size for line in lines for size, _value in line.points})
    axis = Axis.upto(max((value for line in lines for _size, value in line.points), default=0.0))
    width = WIDTH - LEFT - RIGHT
    place = {size: round(LEFT + 8 + (width - 16) * (number / max(1, len(found) - 1)), 1) for number, size in enumerate(found)}
    parts = [_frame(axis)]
    for number, line in enumerate(lines):
        points = " ".join(f"{place[size]},{axis.y(value)}" for size, value in line.points)
        dash = _DASHES[number % len(_DASHES)]
        parts.append(f'<polyline class="line" points="{points}"{f" stroke-dasharray={chr(34)}{dash}{chr(34)}" if dash else ""}/>')
        parts += [f'<circle class="dot" cx="{place[size]}" cy="{axis.y(value)}" r="2"><title>{escape(line.name)} {escape(unit_of_size(size))}: '
                  f"{short(value)} GB/s</title></circle>" for size, value in line.points]
    if found:
        parts += [_text(LEFT, HEIGHT - 6, unit_of_size(found[0]), "start"), _text(WIDTH - RIGHT, HEIGHT - 6, unit_of_size(found[-1]), "end")]
    return _svg(parts, label)


def _frame(axis: Axis) -> str:
    lines = [f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{axis.y(mark)}" y2="{axis.y(mark)}"/>'
             + _text(LEFT - 5, axis.y(mark) + 4, short(mark), "end") for mark in axis.marks()]
    return "".join(lines)


def _level(axis: Axis, value: float, name: str) -> str:
    return f'<line class="{name}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{axis.y(value)}" y2="{axis.y(value)}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(parts: Sequence[str], label: str) -> Markup:
    return Markup(f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>')  # noqa: S704
