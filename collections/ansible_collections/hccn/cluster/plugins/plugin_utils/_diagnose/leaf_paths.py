# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Directed paths from leaf to leaf, as NPUs see them that are good elsewhere: which paths are bad as a whole.

An NPU that was measured with proven good NPUs only over such a path is not proven bad: the leaf or the path explains its bad cells as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from .classification import SLOW, Classification, Link
from .measurement_table import INFERRED_CODES, Cell
from .npu_faults import MOST, NpuFaults

LeafPath = tuple[str, str]
"""The leaf of the source and the leaf of the target."""


class LeafPaths:
    """The paths between the leaves of a table.

    ``left``: bad cells between cleared NPUs. ``links``: those among them that have leaves, by path. They are collected before suspects are blamed: the
    measurements of a suspect prove nothing about a path. ``silent``: hosts that returned nothing; a path is not the cause if their NPUs hang.
    """

    def __init__(self, classification: Classification, npu_faults: NpuFaults, silent: Collection[str] = ()) -> None:
        self._classification, self._layer, self.table = classification, npu_faults.layer, classification.table
        self._silent = frozenset(silent)
        self._cleared = npu_faults.cleared
        self._ignored = npu_faults.blamed.union(npu_faults.suspects)
        self._ignored_hosts = {classification.host_of[npu] for npu in self._ignored}
        self._members: dict[str, set[int]] = {}
        for npu, leaf in enumerate(self.table.leaves):
            if leaf is not None:
                self._members.setdefault(leaf, set()).add(classification.host_of[npu])
        self.left: list[Link] = []
        for source, targets in enumerate(self._layer.out):
            if targets and self._is_witness(source):
                self.left += [(source, target) for target in targets if self._is_witness(target) and not self._hung((source, target))]
        self.links: dict[LeafPath, list[Link]] = {}
        for link in self.left:
            path = self.of(link)
            if path is not None:
                self.links.setdefault(path, []).append(link)

    def _is_witness(self, npu: int) -> bool:
        """Return True if the cells of this NPU prove something about a path."""
        return self._cleared[npu] and npu not in self._ignored

    def of(self, link: Link) -> LeafPath | None:
        """Return the path of a cell, None if a leaf is unknown."""
        one, other = self.table.leaves[link[0]], self.table.leaves[link[1]]
        return None if one is None or other is None else (one, other)

    def _hung(self, link: Link) -> bool:
        """Return True if the only errors of a cell are that an NPU of a silent host did not answer."""
        if self._silent.isdisjoint(self.table.npus[npu].host for npu in link):
            return False
        cells = self._classification.cells(*link)
        return any(map(self._classification.is_bad, cells)) and self.is_inferred(cells)

    def is_inferred(self, cells: Sequence[Cell]) -> bool:
        """Return True if all bad cells only report that a side did not answer."""
        return all(cell.code in INFERRED_CODES for cell in cells if self._classification.is_bad(cell))

    @cached_property
    def bad(self) -> set[LeafPath]:
        """The paths on which nearly all cells are bad."""
        likely = {path for path, links in self.links.items() if len(links) >= MOST * self._met(path) and self._is_whole(path)}
        return {path for path in likely if len(self.links[path]) >= MOST * self.totals[path]} if likely else set()

    @cached_property
    def good(self) -> set[LeafPath]:
        """The paths on which few cells are bad."""
        return {path for path in self.totals if len(self.links.get(path, ())) <= (1 - MOST) * self.totals[path]}

    def _is_whole(self, path: LeafPath) -> bool:
        """Return True if two hosts or more on each side have bad cells. The opposite direction counts as well if it is bad, too."""
        links, back = self.links[path], self.links.get((path[1], path[0]), [])
        if self._has_two_hosts(links):
            return True
        return len(back) >= MOST * self.totals[path[1], path[0]] and self._has_two_hosts([*links, *((target, source) for source, target in back)])

    def _has_two_hosts(self, links: Sequence[Link]) -> bool:
        return all(len({self.table.npus[link[side]].host for link in links}) > 1 for side in (0, 1))

    def _met(self, path: LeafPath) -> int:
        """Return the number of pairs of hosts measured on a path, without hosts that explain bad cells. It is at most the number of cells."""
        sides = [self._members[leaf] - self._ignored_hosts for leaf in path]
        return sum(len(sides[1] & self._classification.met.get(host, set())) for host in sides[0])

    @cached_property
    def totals(self) -> Counter[LeafPath]:
        """The number of cells on each path, without those of NPUs that explain bad cells."""
        totals: Counter[LeafPath] = Counter()
        leaves, ignored, failed = self.table.leaves, self._ignored, self._layer.state != SLOW
        for cell in self.table.cells:
            if (cell.worth is not None or failed) and cell.source not in ignored and cell.target not in ignored:
                one, other = leaves[cell.source], leaves[cell.target]
                if one is not None and other is not None:
                    totals[one, other] += 1
        for row in self.table.rows:
            one = leaves[row.source]
            if one is not None and row.source not in ignored:
                counted = Counter([leaves[target] for target, worth in zip(row.targets, row.worths) if worth is not None and target not in ignored])
                for other, count in counted.items():
                    if other is not None:
                        totals[one, other] += count
        return totals

    # -- NPUs that were measured with proven good ones over bad paths only

    def excuses(self, suspects: Iterable[int]) -> tuple[set[int], set[int]]:
        """Return the suspects that are excused, since all their bad cells with cleared NPUs are on bad paths, and those that are doubtful, since too few
        other NPUs show whether a leaf or a path is bad."""
        excused, doubtful = set(), set()
        for npu in suspects:
            links = [link for link in self._layer.links(npu) if self._is_witness(link[link[0] == npu])]
            paths = {self.of(link) for link in links}
            mine = {path for path in paths if path is not None and path[0] != path[1]}
            if not mine or mine != paths or self._is_alone(npu):
                continue
            if mine <= self.bad:
                excused.add(npu)
            elif any(self._may_be_bad(cause) for cause in self._possible_causes(npu, mine)):
                doubtful.add(npu)
        return excused, doubtful

    def _is_alone(self, npu: int) -> bool:
        """Return True if its host is the only one on the leaf. Then the host and the links of the leaf cannot be distinguished."""
        return len(self._members.get(str(self.table.leaves[npu]), ())) < 2

    def _possible_causes(self, npu: int, mine: Collection[LeafPath]) -> list[set[LeafPath]]:
        """Return the paths that would be bad if its leaf, the one path, or the one other leaf were the cause instead of the NPU."""
        leaf = self.table.leaves[npu]
        sends, receives = any(path[0] == leaf for path in mine), any(path[1] == leaf for path in mine)
        known = {path for path in self.totals if path[0] != path[1]}
        causes = [{path for path in known if (sends and path[0] == leaf) or (receives and path[1] == leaf)}]
        others = {other for path in mine for other in path} - {leaf}
        if len(others) == 1:
            causes.append(set(mine))
            causes.append({path for path in known if (sends and path[1] in others) or (receives and path[0] in others)})
        return causes

    def _may_be_bad(self, paths: Collection[LeafPath]) -> bool:
        """Return True unless other NPUs show that these paths are good."""
        return sum(len(self.links.get(path, ())) for path in paths) >= MOST * sum(self.totals[path] for path in paths)
