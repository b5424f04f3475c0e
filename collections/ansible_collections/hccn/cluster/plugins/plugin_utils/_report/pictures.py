# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Pictures as SVG in their own size: topology, timeline and distribution. Signs and shapes tell what colours tell, too."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup, escape

from . import timeline as timelines
from .charts import Axis
from .distribution import STEP, Distribution
from .plots import shortened
from .timeline import Timeline
from .topology_picture import ABSENT, Block, Topology

CELL, GAP, ROW, LETTER = 11, 3, 16, 6.7
"""Sizes in pixels: an NPU, the space between two, a row, the width of a character."""
_MARKS = {
    "failed": "M2 2l7 7M9 2l-7 7", "unreachable": "M2 9l7-7", "slow": "M2 5.5h7", "degraded": "M2 8h7", "busy": "M5.5 4v3", "not_measured": "",
    "not_judged": "",
}
"""The sign inside the square of an NPU; good ones have none."""
_TIMELINE_WIDTH, _TIMELINE_ROW = 720, 15
_BAR_HEIGHTS = {timelines.WAIT: (6, 2), timelines.PROBE: (4, 6), timelines.MEASURE: (1, 12), timelines.LOST: (5, 4)}
"""Top and height of a span in its row."""


def blocks(found: Topology) -> list[tuple[list[str], Markup]]:
    """Return the leaves and the picture of each block."""
    names = shortened([host.name for block in found.blocks for host in block.hosts])
    drawn = []
    for block in found.blocks:
        drawn.append((block.leaves, _block(found, block, names[:len(block.hosts)])))
        names = names[len(block.hosts):]
    return drawn


def _block(found: Topology, block: Block, names: Sequence[str]) -> Markup:
    left = round(max(map(len, names)) * LETTER) + 8
    width, height = left + len(found.rails) * (CELL + GAP), len(block.hosts) * ROW + ROW
    parts = [_text(left + place * (CELL + GAP) + CELL / 2, 10, str(rail), "middle")
             for place, rail in enumerate(found.rails) if len(found.rails) <= 8 or place % 4 == 0]
    for row, (host, name) in enumerate(zip(block.hosts, names)):
        y = ROW + row * ROW
        parts.append(_text(left - 6, y + 10, name, "end", "" if host.state == "good" else host.state if host.state in _MARKS else "odd"))
        parts += _npus(left, y, host.npus)
    label = ", ".join(filter(None, (" / ".join(filter(None, block.leaves)), f"{len(block.hosts)} hosts", *block.bad[:20])))
    return _svg(width, height, parts, label)


def _npus(left: int, y: int, states: Sequence[str]) -> Iterable[str]:
    """Draw the NPUs of a host: good ones in a row as one dashed line, the others one by one."""
    place = 0
    while place < len(states):
        state, x = states[place], left + place * (CELL + GAP)
        count = next((number for number in range(place, len(states)) if states[number] != state), len(states)) - place
        if state == "good":
            yield f'<path class="npus" d="M{x} {y + 5.5}h{count * (CELL + GAP) - GAP}"/>'
        elif state != ABSENT:
            name = state if state in _MARKS else "unknown"
            for number in range(count):
                at = f'transform="translate({x + number * (CELL + GAP)} {y})"'
                yield f'<g class="npu {name}" {at}><path class="box" d="M.5.5h10v10h-10z"/><path class="sign" d="{_MARKS.get(state, "")}"/></g>'
        place += count


def sign(state: str) -> Markup:
    """Return the square of an NPU for the legend."""
    return Markup('<svg class="key" width="11" height="11" viewBox="0 0 11 11" aria-hidden="true">') + Markup("".join(_npus(0, 0, [state]))) + Markup("</svg>")  # noqa: S704


def timeline(found: Timeline) -> Markup:
    """Return the picture of a timeline with the time of day below."""
    names = shortened([row.host for row in found.hosts])
    left = round(max(map(len, names)) * LETTER) + 8
    wide = _TIMELINE_WIDTH / found.columns
    height = len(names) * _TIMELINE_ROW + 20
    paths: dict[int, list[str]] = {}
    parts = []
    for row, (host, name) in enumerate(zip(found.hosts, names)):
        y = row * _TIMELINE_ROW
        parts.append(_text(left - 6, y + 11, name, "end"))
        for span in host.spans:
            top, high = _BAR_HEIGHTS[span.state]
            paths.setdefault(span.state, []).append(f"M{left + span.start * wide:.1f} {y + top}h{span.columns * wide:.1f}v{high}h-{span.columns * wide:.1f}z")
    parts = [f'<path class="span {timelines.NAMES[state]}" d="{"".join(found_paths)}"/>' for state, found_paths in sorted(paths.items())] + parts
    for number in range(5):
        seconds = found.start + found.seconds * found.columns * number / 4
        x = left + _TIMELINE_WIDTH * number / 4
        parts.append(f'<path class="grid" d="M{x:.1f} 0v{height - 16}"/>')
        parts.append(_text(x, height - 4, datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%H:%M:%S"),
                           "start" if not number else "end" if number == 4 else "middle"))
    return _svg(left + _TIMELINE_WIDTH + 2, height, parts, ", ".join(row.host for row in found.hosts[:20]))


def span_sign(state: int) -> Markup:
    """Return a span for the legend."""
    top, high = _BAR_HEIGHTS[state]
    drawn = f'<path class="span {timelines.NAMES[state]}" d="M0 {top}h18v{high}h-18z"/>'
    return Markup(f'<svg class="key" width="18" height="15" aria-hidden="true">{drawn}</svg>')  # noqa: S704


def distribution(found: Distribution, words: dict[str, Any], label: str) -> Markup:
    """Return the histogram. The height is logarithmic, so that a single slow pair among many is visible. ``words``: markup of expected and limit."""
    width, height, left, top, bottom = 560, 190, 52, 34, 24
    wide = (width - left - 10) / len(found.counts)
    most = max(count for _part, count in found.counts)
    axis = Axis(max(1.0, math.ceil(math.log10(most + 1))), 1.0)
    first = found.counts[0][0]

    def x(part: float) -> float:
        return round(left + (part - first) / STEP * wide, 1)

    def y(count: float) -> float:
        return round(top + (height - top - bottom) * (1 - math.log10(count + 1) / axis.top), 1)

    parts = []
    for power in range(round(axis.top) + 1):
        parts.append(f'<path class="grid" d="M{left} {y(10 ** power - 1 if power else 0)}H{width - 10}"/>')
        parts.append(_text(left - 5, y(10 ** power - 1 if power else 0) + 4, f"{10 ** power:,}" if power else "0", "end"))
    for part, count in found.counts:
        if count:
            low = part + STEP / 2 < found.expected.limit
            parts.append(f'<path class="bin{" low" if low else ""}" d="M{x(part) + 1} {y(0)}V{y(count)}h{wide - 2:.1f}V{y(0)}z"><title>'
                         f"{part * 100:.4g}-{(part + STEP) * 100:.4g} %: {count:,}</title></path>")
    step = max(1, math.ceil(len(found.counts) / 10))
    parts += [_text(x(part), height - 7, f"{part * 100:.4g} %", "middle") for part, _count in found.counts[step // 2::step]]
    for part, name, line, anchor in ((found.expected.limit, "limit", 12, "end"), (1.0, "expected", 26, "start")):
        parts.append(f'<path class="{"limit" if name == "limit" else "base"}" d="M{x(part)} {line - 8}V{y(0)}"/>')
        parts.append(f'<text x="{x(part) + (-5 if anchor == "end" else 5)}" y="{line}" text-anchor="{anchor}">{words[name]}</text>')
    return _svg(width, height, parts, label)


def _text(x: float, y: float, text: str, anchor: str, name: str = "") -> str:
    return f'<text{f" class={chr(34)}{name}{chr(34)}" if name else ""} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(width: float, height: float, parts: Iterable[str], label: str) -> Markup:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return Markup(f'<svg class="picture" {size} role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>')  # noqa: S704
