# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Edge coloring: rounds for any set of pairs, at most one more than the vertex with the most edges has.

This is the algorithm of Misra and Gries (1992), which proves Vizing's theorem. A color is a round: no vertex has two edges of one color.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

Vertex = TypeVar("Vertex", bound=Hashable)


def color_edges(edges: Sequence[tuple[Vertex, Vertex]]) -> list[int]:
    """Return the color of each edge, from 0; the colors with more edges come first. No edge may occur twice, in either direction."""
    degrees = Counter(vertex for edge in edges for vertex in edge)
    colors = _EdgeColoring(degrees, max(degrees.values(), default=0) + 1)
    for one, other in edges:
        colors.add(one, other)
    found = [colors.of(one, other) for one, other in edges]
    sizes = Counter(found)
    places = {color: place for place, color in enumerate(sorted(sizes, key=lambda color: (-sizes[color], color)))}
    return [places[color] for color in found]


class _EdgeColoring(Generic[Vertex]):
    """``_at``: for each vertex its neighbor by color. ``_edges``: the color by edge, in both directions."""

    def __init__(self, vertices: Counter[Vertex], count: int) -> None:
        self._at: dict[Vertex, dict[int, Vertex]] = {vertex: {} for vertex in vertices}
        self._edges: dict[tuple[Vertex, Vertex], int] = {}
        self._count = count

    def of(self, one: Vertex, other: Vertex) -> int:
        """Return the color of an edge."""
        return self._edges[one, other]

    def add(self, one: Vertex, other: Vertex) -> None:
        """Color one more edge, and recolor others if necessary."""
        common = next((color for color in range(self._count) if color not in self._at[one] and color not in self._at[other]), None)
        if common is not None:
            self._set(one, other, common)
            return
        fan = self._fan(one, other)
        free_here, free_there = self._free(one), self._free(fan[-1])
        self._swap_path(one, free_there, free_here)
        last = self._prefix(one, fan, free_there)
        moved = [self._edges[one, vertex] for vertex in fan[1:last + 1]]
        for vertex in fan[1:last + 1]:
            self._clear(one, vertex)
        for vertex, color in zip(fan, [*moved, free_there]):
            self._set(one, vertex, color)

    def _fan(self, center: Vertex, first: Vertex) -> list[Vertex]:
        """Return a maximal fan of the center: neighbors such that the color of each edge but the first is free at the vertex before."""
        fan, seen = [first], {first}
        while True:
            following = next((vertex for color, vertex in self._at[center].items() if vertex not in seen and color not in self._at[fan[-1]]), None)
            if following is None:
                return fan
            fan.append(following)
            seen.add(following)

    def _swap_path(self, start: Vertex, first: int, second: int) -> None:
        """Swap the two colors along the path from ``start`` that begins with ``first``."""
        path, vertex, color = [], start, first
        while color in self._at[vertex]:
            following = self._at[vertex][color]
            path.append((vertex, following, color))
            vertex, color = following, second if color == first else first
        for one, other, _color in path:
            self._clear(one, other)
        for one, other, color in path:
            self._set(one, other, second if color == first else first)

    def _prefix(self, center: Vertex, fan: Sequence[Vertex], color: int) -> int:
        """Return the end of the shortest prefix that is still a fan and whose last vertex has the color free. By the theorem there is one."""
        for place, vertex in enumerate(fan):
            if place and self._edges[center, vertex] in self._at[fan[place - 1]]:
                break
            if color not in self._at[vertex]:
                return place
        raise AssertionError("no vertex of the fan has the color free")

    def _free(self, vertex: Vertex) -> int:
        return next(color for color in range(self._count) if color not in self._at[vertex])

    def _set(self, one: Vertex, other: Vertex, color: int) -> None:
        self._at[one][color], self._at[other][color] = other, one
        self._edges[one, other] = self._edges[other, one] = color

    def _clear(self, one: Vertex, other: Vertex) -> None:
        color = self._edges.pop((one, other))
        del self._edges[other, one], self._at[one][color], self._at[other][color]
