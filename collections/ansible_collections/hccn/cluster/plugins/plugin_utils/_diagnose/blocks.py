# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Directed blocks of cells from leaf to leaf, as those tell of them whose ends are good elsewhere: which of them are bad as a whole.

What only met others over such a block is not proven bad by that: the leaf or the path explains it as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from .cells import INFERRED_CODES, Cell
from .ends import MOST, Ends
from .rating import SLOW, Link, Rating

Block = tuple[str, str]


class Blocks:
    """``left``: bad cells between cleared ends; ``found``: those with leaves, by block. Made before ends are named: what a suspect has measured says nothing.
    ``silent``: hosts that returned nothing, so what hung with them after good pairs is no matter of a path."""

    def __init__(self, rating: Rating, ends: Ends, silent: Collection[str] = ()) -> None:
        self._rating, self._layer, self.table = rating, ends.layer, rating.table
        self._silent = frozenset(silent)
        self._cleared = ends.cleared
        self._aside = ends.blamed.union(ends.suspects)
        self._hosts_aside = {rating.host_of[end] for end in self._aside}
        self._members: dict[str, set[int]] = {}
        for end, leaf in enumerate(self.table.leaves):
            if leaf is not None:
                self._members.setdefault(leaf, set()).add(rating.host_of[end])
        self.left: list[Link] = []
        for source, targets in enumerate(self._layer.out):
            if targets and self._tells(source):
                self.left += [(source, target) for target in targets if self._tells(target) and not self._hung((source, target))]
        self.found: dict[Block, list[Link]] = {}
        for link in self.left:
            block = self.of(link)
            if block is not None:
                self.found.setdefault(block, []).append(link)

    def _tells(self, end: int) -> bool:
        return self._cleared[end] and end not in self._aside

    def of(self, link: Link) -> Block | None:
        one, other = self.table.leaves[link[0]], self.table.leaves[link[1]]
        return None if one is None or other is None else (one, other)

    def _hung(self, link: Link) -> bool:
        """Does nobody tell more than that an end of it did not answer, whose host is silent?"""
        if self._silent.isdisjoint(self.table.ends[end].host for end in link):
            return False
        cells = self._rating.cells(*link)
        return any(map(self._rating.is_bad, cells)) and self.is_inferred(cells)

    def is_inferred(self, cells: Sequence[Cell]) -> bool:
        """Do the bad ones tell only that an end did not answer?"""
        return all(cell.code in INFERRED_CODES for cell in cells if self._rating.is_bad(cell))

    @cached_property
    def bad(self) -> set[Block]:
        """Blocks of which nearly all cells are bad."""
        likely = {block for block, links in self.found.items() if len(links) >= MOST * self._met(block) and self._is_whole(block)}
        return {block for block in likely if len(self.found[block]) >= MOST * self.totals[block]} if likely else set()

    @cached_property
    def good(self) -> set[Block]:
        return {block for block in self.totals if len(self.found.get(block, ())) <= (1 - MOST) * self.totals[block]}

    def _is_whole(self, block: Block) -> bool:
        """Two hosts or more on each side, of which every one is good elsewhere; those that measured the other way count where that is bad, too."""
        links, back = self.found[block], self.found.get((block[1], block[0]), [])
        if self._has_two(links):
            return True
        return len(back) >= MOST * self.totals[block[1], block[0]] and self._has_two([*links, *((target, source) for source, target in back)])

    def _has_two(self, links: Sequence[Link]) -> bool:
        return all(len({self.table.ends[link[side]].host for link in links}) > 1 for side in (0, 1))

    def _met(self, block: Block) -> int:
        """Pairs of hosts with a cell in a block, without those of which an end explains some: no more than it has cells."""
        sides = [self._members[leaf] - self._hosts_aside for leaf in block]
        return sum(len(sides[1] & self._rating.met.get(host, set())) for host in sides[0])

    @cached_property
    def totals(self) -> Counter[Block]:
        """Cells by block, without those that an end may explain."""
        totals: Counter[Block] = Counter()
        leaves, aside, failed = self.table.leaves, self._aside, self._layer.state != SLOW
        for cell in self.table.cells:
            if (cell.worth is not None or failed) and cell.source not in aside and cell.target not in aside:
                one, other = leaves[cell.source], leaves[cell.target]
                if one is not None and other is not None:
                    totals[one, other] += 1
        for row in self.table.rows:
            one = leaves[row.source]
            if one is not None and row.source not in aside:
                counted = Counter([leaves[target] for target, worth in zip(row.targets, row.worths) if worth is not None and target not in aside])
                for other, count in counted.items():
                    if other is not None:
                        totals[one, other] += count
        return totals

    # -- ends that met proven ones over such blocks only

    def excuses(self, suspects: Iterable[int]) -> tuple[set[int], set[int]]:
        """Suspects whose bad cells with cleared ends all lie in bad blocks; and those of whom too few others tell whether a leaf or a path is bad."""
        explained, doubtful = set(), set()
        for end in suspects:
            links = [link for link in self._layer.links(end) if self._tells(link[link[0] == end])]
            blocks = {self.of(link) for link in links}
            mine = {block for block in blocks if block is not None and block[0] != block[1]}
            if not mine or mine != blocks or self._is_alone(end):
                continue
            if mine <= self.bad:
                explained.add(end)
            elif any(self._may_be(family) for family in self._families(end, mine)):
                doubtful.add(end)
        return explained, doubtful

    def _is_alone(self, end: int) -> bool:
        """The only host of its leaf and the links of that leaf are one."""
        return len(self._members.get(str(self.table.leaves[end]), ())) < 2

    def _families(self, end: int, mine: Collection[Block]) -> list[set[Block]]:
        """What a single leaf or path would spoil if that, and not the end, had spoilt these blocks."""
        leaf = self.table.leaves[end]
        sends, receives = any(block[0] == leaf for block in mine), any(block[1] == leaf for block in mine)
        known = {block for block in self.totals if block[0] != block[1]}
        families = [{block for block in known if (sends and block[0] == leaf) or (receives and block[1] == leaf)}]
        others = {other for block in mine for other in block} - {leaf}
        if len(others) == 1:
            families.append(set(mine))
            families.append({block for block in known if (sends and block[1] in others) or (receives and block[0] in others)})
        return families

    def _may_be(self, family: Iterable[Block]) -> bool:
        """Do no others tell that it is good?"""
        blocks = list(family)
        return sum(len(self.found.get(block, ())) for block in blocks) >= MOST * sum(self.totals[block] for block in blocks)
