# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Count the measurements between leaves: on each directed path, over the uplinks of each leaf, and over the spines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from functools import cached_property

from .classification import SLOW, Layer, Link
from .component import BOTH, LEAF, PATH, SOURCE, SPINE, TARGET
from .measurement_table import Table

LeafPath = tuple[str, str]
"""The leaf of the source and the leaf of the target."""

LEAST_LEAVES = 3
"""Of two leaves, uplinks, spines and the path between them cannot be distinguished."""


class PathCounts:
    """Measurements by path, without those of the ``ignored`` NPUs, which are bad for another reason."""

    def __init__(self, table: Table, layer: Layer, ignored: Collection[int]) -> None:
        self._table, self._layer, self._ignored = table, layer, ignored

    def path(self, link: Link) -> LeafPath | None:
        """Return the path of a cell, None if a leaf is unknown."""
        one, other = self._table.leaves[link[0]], self._table.leaves[link[1]]
        return None if one is None or other is None else (one, other)

    @cached_property
    def totals(self) -> Counter[LeafPath]:
        """The number of measurements on each path."""
        totals: Counter[LeafPath] = Counter()
        leaves, ignored, failed = self._table.leaves, self._ignored, self._layer.state != SLOW
        if all(leaf is None for leaf in leaves):
            return totals
        for cell in self._table.cells:
            if (cell.worth is not None or failed) and cell.source not in ignored and cell.target not in ignored:
                one, other = leaves[cell.source], leaves[cell.target]
                if one is not None and other is not None:
                    totals[one, other] += 1
        for link in () if failed else self._layer.timeouts:
            path = self.path(link)
            if path is not None and link[0] not in ignored and link[1] not in ignored:
                totals[path] += 1
        for row in self._table.rows:
            one = leaves[row.source]
            if one is not None and row.source not in ignored:
                counted = Counter([leaves[target] for target, worth in zip(row.targets, row.worths) if worth is not None and target not in ignored])
                for other, count in counted.items():
                    if other is not None:
                        totals[one, other] += count
        return totals

    @cached_property
    def bad(self) -> Counter[LeafPath]:
        """The number of bad measurements on each path."""
        bad: Counter[LeafPath] = Counter()
        for source, targets in enumerate(self._layer.out):
            if source not in self._ignored:
                for target in targets:
                    path = self.path((source, target))
                    if path is not None and target not in self._ignored:
                        bad[path] += 1
        return bad

    def good(self, kind: str, owner: object, direction: str) -> int:
        """Return the number of good measurements over a path, over the uplinks of a leaf, or over the spines (of a rail)."""
        return self._good.get((kind, owner, direction), 0)

    def is_divided(self, leaf: str) -> bool:
        """Return True if a leaf was measured with more than one other leaf."""
        return len(self._neighbours.get(leaf, ())) > 1

    def has_spines(self, rail: object = None) -> bool:
        """Return True if enough leaves (of a rail that shares none with other rails) were measured with each other to distinguish a spine from them."""
        if rail is None:
            return len(self._neighbours) >= LEAST_LEAVES
        return len(self._rail_leaves) > 1 and self._is_optimised and len(self._rail_leaves.get(rail, ())) >= LEAST_LEAVES

    @cached_property
    def _neighbours(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for one, other in self.totals:
            if one != other:
                found.setdefault(one, set()).add(other)
                found.setdefault(other, set()).add(one)
        return found

    @cached_property
    def _rail_leaves(self) -> dict[object, set[str]]:
        found: dict[object, set[str]] = {}
        for leaf, rail in zip(self._table.leaves, self._table.rails):
            if leaf in self._neighbours:
                found.setdefault(rail, set()).add(str(leaf))
        return found

    @cached_property
    def _is_optimised(self) -> bool:
        """Whether each rail has leaves of its own."""
        return sum(map(len, self._rail_leaves.values())) == len(set().union(*self._rail_leaves.values()))

    @cached_property
    def _good(self) -> Counter[tuple[str, object, str]]:
        found: Counter[tuple[str, object, str]] = Counter()
        rails = {leaf: rail for rail, leaves in self._rail_leaves.items() for leaf in leaves} if self._rail_leaves else {}
        for path, total in self.totals.items():
            one, other = path
            good = total - self.bad[path]
            found[PATH, (min(path), max(path)), BOTH] += good
            if one == other:
                continue
            found[PATH, path, SOURCE] += good
            for leaf, side in ((one, SOURCE), (other, TARGET)):
                found[LEAF, leaf, BOTH] += good
                found[LEAF, leaf, side] += good
            found[SPINE, None, BOTH] += good
            if rails.get(one) == rails.get(other):
                found[SPINE, rails.get(one), BOTH] += good
        return found
