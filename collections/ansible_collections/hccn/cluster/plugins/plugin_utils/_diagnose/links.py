# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Bad cells both ends of which are good with others: a path between leaves, a leaf's uplinks, one direction of an NPU, something that comes and goes.

The fewest components again, the largest first. A path needs nearly all cells between two leaves, an NPU many more bad cells than any of its partners.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import exp
from statistics import median

from .blocks import Block, Blocks
from .cells import Table
from .ends import MOST, NEARLY_ALL, Ends
from .finding import BOTH, LEAF, NODE, NPU, PAIR, PATH, SHOWN, SOURCE, TARGET, Finding
from .noise import RISK
from .rating import SLOW, Link, Rating
from .shares import Shares

MOST_PAIRS = 16
"""Single pairs that are named; more of them are one finding."""

CLEARLY_MORE = 2
"""Times the bad cells that the partners of an NPU have in the middle."""

MOST_ONCE, SHARE_ONCE = 2, 0.01
"""Pairs that may have been slow once and good when measured again, and nobody is blamed: this many, or this share of all that was measured, or the spread of
a measurement where that is more, since what varies much is far out more often. What is slow now and then on more of them is no chance."""

EVEN = 0.5
"""Share of the mean of a node's NPUs that each of them has at least of its bad cells."""


class Links:
    """Takes over what Ends left: bad cells between ends that are cleared."""

    def __init__(self, rating: Rating, ends: Ends, blocks: Blocks) -> None:
        self.rating, self.ends, self.blocks = rating, ends, blocks
        self.table: Table = rating.table
        self.layer = ends.layer
        self.findings: list[Finding] = []
        self.once: list[Link] = []
        """Slow once, good when measured again as they were."""
        self.left: list[Link] = list(blocks.left)

    def explain(self) -> None:
        if self.left and any(leaf is not None for leaf in self.table.leaves):
            self._blocks()
        if self.left:
            self._ends()
        if self.left:
            self._pairs()

    # -- between leaves

    def _blocks(self) -> None:
        """Leaves and paths of which the blocks are bad."""
        bad = self.blocks.bad
        if not bad:
            return
        totals, good = self.blocks.totals, self.blocks.good
        found = self._with_explained()
        taken: set[Block] = set()
        for leaf in sorted({leaf for block in bad for leaf in block}):
            for direction, mine in ((BOTH, lambda block, leaf=leaf: leaf in block), (SOURCE, lambda block, leaf=leaf: block[0] == leaf),
                                    (TARGET, lambda block, leaf=leaf: block[1] == leaf)):
                blocks = {block for block in totals if block[0] != block[1] and mine(block)}
                others = {other for block in blocks & bad for other in block} - {leaf}
                whole = len({*map(frozenset, blocks)}) if direction == BOTH else len(blocks)
                hit = len({*map(frozenset, blocks & bad)}) if direction == BOTH else len(blocks & bad)
                if len(others) > 1 and hit >= NEARLY_ALL * whole and not (direction == BOTH and blocks & good):
                    self._take_blocks(LEAF, f"leaf {leaf}", blocks & bad, found, direction, "its links to the other leaves")
                    taken |= blocks & bad
                    break
        for block in sorted(bad - taken):
            if block in taken:
                continue
            back = (block[1], block[0])
            name, blocks = "path {}-{}".format(*sorted(block)), {block, back} & bad
            one_way = back in good and back != block
            if block[0] == block[1]:
                name = f"path inside {block[0]}"
            elif one_way:
                name = f"path {block[0]} to {block[1]}"
            self._take_blocks(PATH, name, blocks, found, SOURCE if one_way else BOTH, "the other way is good" if one_way else "")
            taken |= blocks
        self.left = [link for link in self.left if self.blocks.of(link) not in taken]

    def _take_blocks(self, kind: str, name: str, blocks: Iterable[Block], found: dict[Block, list[Link]], direction: str, note: str) -> None:
        links = [link for block in sorted(blocks) for link in found[block]]
        self.findings.append(Finding(kind, name, self.layer.state, sorted({end for link in links for end in link}), links[:SHOWN], len(links), [],
                                     direction=direction, note=note))

    def _with_explained(self) -> dict[Block, list[Link]]:
        """The bad cells of the blocks, with those of ends that are explained by them."""
        found = {block: list(links) for block, links in self.blocks.found.items()}
        for end in sorted(self.ends.explained):
            for link in self.layer.links(end):
                block = self.blocks.of(link)
                if block in self.blocks.bad and self.ends.cleared[link[link[0] == end]]:
                    found[block].append(link)
        return found

    # -- at an end, in one direction or now and then

    def _ends(self) -> None:
        """NPUs and nodes that have clearly more of what is left than their partners."""
        nodes = Shares(self.left, lambda end: self.table.ends[end].host)
        npus = Shares(self.left, lambda end: end)
        count = len(self.left)
        while count:
            best = max((found for found in (self._worst(NODE, nodes, count), self._worst(NPU, npus, count)) if found),
                       key=lambda found: found[0].bad, default=None)
            if best is None:
                break
            self.findings.append(best[0])
            for shares in (nodes, npus):
                shares.take(best[1])
            count -= len(best[1])
        self.left = [link for link in self.left if link not in npus.gone]

    def _worst(self, kind: str, shares: Shares, count: int) -> tuple[Finding, list[Link]] | None:
        """The one NPU or node that explains most of so many links."""
        of = shares.of
        for key in shares.largest(MOST_PAIRS):
            links = shares.links(key)
            partners = {of(end) for link in links for end in link} - {key}
            ends = sorted({end for link in links for end in link if of(end) == key})
            if len(partners) < 2 or (kind == NODE and not self._is_of_all(links, str(key), count)):
                continue
            if len(links) < CLEARLY_MORE * median(shares.counts[partner] for partner in partners):
                continue
            if not self._is_significant(links, ends, self._chance(count)):
                continue
            name = str(self.table.ends[ends[0]]) if kind == NPU else self.table.ends[ends[0]].host
            direction = self._direction(links, ends)
            note = {SOURCE: "only as source", TARGET: "only as target"}.get(direction, "it comes and goes")
            proven = sorted({end for link in links for end in link} - set(ends))
            counted = {SOURCE: self.layer.sent.__getitem__, TARGET: self.layer.received.__getitem__}.get(direction, self.layer.total)
            return Finding(kind, name, self.layer.state, ends, links[:SHOWN], len(links), proven, len(links), sum(map(counted, ends)), direction,
                           note=note), links
        return None

    def _chance(self, low: int) -> float:
        """Of a sound cell to be bad, where so many are that nothing explains."""
        return max(self.layer.chance, low / max(1, sum(self.layer.sent))) if self.layer.state == SLOW else 0.0

    def _is_of_all(self, links: Sequence[Link], host: str, count: int) -> bool:
        """Has every NPU of the host its part, and is it more than chance without the worst of them? One bad NPU and a bit of noise are no bad node."""
        counts = Counter(end for link in links for end in link if self.table.ends[end].host == host)
        mine = [end for end in self.table.of_host[host] if self.layer.total(end) and end not in self.ends.blamed]
        if len(mine) < 2 or min(counts[end] for end in mine) < EVEN * len(links) / len(mine):
            return False
        worst = max(mine, key=lambda end: counts[end])
        rest = [link for link in links if worst not in link]
        return self._is_significant(rest, [end for end in mine if end != worst], self._chance(count - len(links) + len(rest)))

    def _is_significant(self, links: Sequence[Link], ends: Sequence[int], chance: float) -> bool:
        """A failure does not come by chance; slow cells do, so there must be more than chance gives an NPU of so many cells (Poisson), or all of
        one direction, and each beyond doubt."""
        if self.layer.state != SLOW or (self.layer.mild.isdisjoint(links) and self._direction(links, ends) != BOTH):
            return True
        expected = chance * sum(map(self.layer.total, ends))
        return _poisson_tail(len(links), expected) < RISK / max(1, len(self.table.ends))

    def _direction(self, links: Sequence[Link], ends: Sequence[int]) -> str:
        """Nearly all cells of one direction are bad, and none of the other."""
        mine = set(ends)
        out = sum(link[0] in mine for link in links)
        sent, received = (sum(counts[end] for end in ends) for counts in (self.layer.sent, self.layer.received))
        if out == len(links) and received and out >= MOST * sent:
            return SOURCE
        return TARGET if out == 0 and sent and len(links) >= MOST * received else BOTH

    # -- single pairs

    def _pairs(self) -> None:
        """What remains: a path between two NPUs, where the cell is beyond doubt or was measured twice."""
        once = [link for link in self.left if self._was_once(link)]
        if len(once) <= max(MOST_ONCE, max(SHARE_ONCE, self.rating.spread) * sum(self.layer.sent)):
            self.once = once
        pairs: dict[frozenset[str], list[Link]] = {}
        told = set(self.once)
        for link in [link for link in self.left if link not in told]:
            if self.layer.state != SLOW or link not in self.layer.mild or self._times(link) > 1:
                pairs.setdefault(frozenset(self.table.ends[end].host for end in link), []).append(link)
        if len(pairs) > MOST_PAIRS:
            links = [link for found in pairs.values() for link in found]
            ends = sorted({end for link in links for end in link})
            self.findings.append(Finding(PAIR, f"{len(links)} pairs of {len(set().union(*pairs))} hosts", self.layer.state, ends, links[:SHOWN], len(links), [],
                                         certain=False, note="no NPU, node, rail or known leaf explains them; give the leaves of the hosts"))
            return
        for found in pairs.values():
            self._pair(found)

    def _pair(self, links: Sequence[Link]) -> None:
        one, other = links[0]
        ends = sorted({end for link in links for end in link})
        name = f"path {self.table.ends[one]} to {self.table.ends[other]}"
        if len(ends) > 2:
            name = f"path {self.table.ends[one].host} to {self.table.ends[other].host}"
        note, certain = self._retried(links[0])
        self.findings.append(Finding(PAIR, name, self.layer.state, ends, list(links[:SHOWN]), len(links), ends, certain=certain, note=note))

    def _times(self, link: Link) -> int:
        """How often the pair was found bad, in either direction."""
        return sum(self.rating.is_bad(cell) for cell in (*self.rating.cells(*link), *self.rating.cells(link[1], link[0])))

    def _was_once(self, link: Link) -> bool:
        """Was it slow a single time, and good each other time, also as it was?"""
        return self.layer.state == SLOW and self._times(link) == 1 and self._is_good_as_it_was(link)

    def _is_good_as_it_was(self, link: Link) -> bool:
        """Was the same end found bad and good with the same partner in the same way?"""
        cells = self.rating.cells(*link)
        return not {cell.way for cell in cells if self.rating.is_bad(cell)}.isdisjoint(cell.way for cell in cells if not self.rating.is_bad(cell))

    def _retried(self, link: Link) -> tuple[str, bool]:
        """What measuring the pair again told, and whether that settles it."""
        cells = [*self.rating.cells(*link), *self.rating.cells(link[1], link[0])]
        ways = {cell.way for cell in cells}
        good = [cell for cell in cells if not self.rating.is_bad(cell)]
        if good and self.blocks.is_inferred(cells):
            return "a runner did not answer then, good at another time: it comes and goes", False
        as_it_was = self._is_good_as_it_was(link)
        if len(ways) > 1 and not as_it_was:
            if good:
                return "good with another source port or number of queue pairs: where the packets are hashed to, not the node", True
            return "bad with another source port or number of queue pairs, too: the path, not the node", True
        if not as_it_was and any((cell.source, cell.target) == (link[1], link[0]) for cell in good):
            return "the other way is good; both ends are good with others", True
        if good:
            return "good at another time: it comes and goes", False
        if len(cells) > 1:
            return "bad each time, and both ends are good with others: the path, not the node", True
        return "both ends are good with others: the path between them, or it comes and goes; measure it again with another source port", False


def _poisson_tail(count: int, expected: float) -> float:
    """Probability of ``count`` or more."""
    term, below = exp(-expected), 0.0
    for number in range(count):
        below += term
        term *= expected / (number + 1)
    return max(0.0, 1.0 - below) if below < 1 - 1e-9 else term
