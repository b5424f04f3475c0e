# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Attribute bad cells between two NPUs that are good with others: to a path between leaves, a leaf's uplinks, one direction of an NPU, or an
intermittent fault.

Components are found the largest first. A path needs nearly all cells between two leaves, an NPU clearly more bad cells than its partners.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import exp
from statistics import median

from .classification import SLOW, Classification, Link
from .component import BOTH, LEAF, NODE, NPU, PAIR, PATH, SHOWN, SOURCE, TARGET, Component
from .leaf_paths import LeafPath, LeafPaths
from .link_counts import LinkCounts
from .measurement_table import Table
from .noise import RISK
from .npu_faults import MOST, NEARLY_ALL, NpuFaults

MOST_PAIRS = 16
"""Single pairs that are named. More of them are one component."""

CLEARLY_MORE = 2
"""Times the median number of bad cells of an NPU's partners."""

MOST_ONCE, SHARE_ONCE = 2, 0.01
"""Pairs that may have been slow once and good when measured again without a component being blamed: this many, or this share of all measurements, or the spread
of a measurement if it is larger, since values that vary more are outliers more often. More slow pairs than that are not chance."""

EVEN = 0.5
"""Share of the mean number of bad cells of a node's NPUs that each of them must have."""


class PathFaults:
    """Attributes the bad cells that NpuFaults left: those between cleared NPUs.

    ``slow_once``: pairs that were slow once, and good when measured again with the same options.
    """

    def __init__(self, classification: Classification, npu_faults: NpuFaults, leaf_paths: LeafPaths) -> None:
        self._classification, self._npu_faults, self._leaf_paths = classification, npu_faults, leaf_paths
        self._table: Table = classification.table
        self._layer = npu_faults.layer
        self._left: list[Link] = list(leaf_paths.left)
        self.components: list[Component] = []
        self.slow_once: list[Link] = []

    def attribute(self) -> None:
        """Attribute all cells, and remove from ``_left`` those that are explained."""
        if self._left and any(leaf is not None for leaf in self._table.leaves):
            self._attribute_to_leaves_and_paths()
        if self._left:
            self._attribute_to_npus_and_nodes()
        if self._left:
            self._attribute_to_pairs()

    # -- between leaves

    def _attribute_to_leaves_and_paths(self) -> None:
        if not self._leaf_paths.bad:
            return
        links = self._links_by_path()
        taken = self._name_leaves(links)
        taken |= self._name_paths(links, self._leaf_paths.bad - taken)
        self._left = [link for link in self._left if self._leaf_paths.of(link) not in taken]

    def _links_by_path(self) -> dict[LeafPath, list[Link]]:
        """Return the bad cells of each path, with those of the NPUs that are excused by a bad path."""
        links = {path: list(mine) for path, mine in self._leaf_paths.links.items()}
        for npu in sorted(self._npu_faults.excused):
            for link in self._layer.links(npu):
                path = self._leaf_paths.of(link)
                if path in self._leaf_paths.bad and self._npu_faults.cleared[link[link[0] == npu]]:
                    links[path].append(link)
        return links

    def _name_leaves(self, links: dict[LeafPath, list[Link]]) -> set[LeafPath]:
        """Name each leaf of which nearly all paths to other leaves are bad, in both directions or in one. Return their bad paths."""
        bad = self._leaf_paths.bad
        taken: set[LeafPath] = set()
        for leaf in sorted({leaf for path in bad for leaf in path}):
            for direction in (BOTH, SOURCE, TARGET):
                paths = self._paths_of_leaf(leaf, direction)
                if self._is_leaf_bad(leaf, direction, paths):
                    self._add_component(LEAF, f"leaf {leaf}", paths & bad, links, direction, "check its links to the other leaves")
                    taken |= paths & bad
                    break
        return taken

    def _paths_of_leaf(self, leaf: str, direction: str) -> set[LeafPath]:
        """Return the measured paths between a leaf and other leaves."""
        known = {path for path in self._leaf_paths.totals if path[0] != path[1]}
        if direction == SOURCE:
            return {path for path in known if path[0] == leaf}
        if direction == TARGET:
            return {path for path in known if path[1] == leaf}
        return {path for path in known if leaf in path}

    def _is_leaf_bad(self, leaf: str, direction: str, paths: set[LeafPath]) -> bool:
        """Return True if nearly all these paths are bad, and they lead to more than one other leaf. For both directions, no path may be good."""
        bad = paths & self._leaf_paths.bad
        others = {other for path in bad for other in path} - {leaf}
        if len(others) < 2 or (direction == BOTH and paths & self._leaf_paths.good):
            return False
        whole, hit = (len(set(map(frozenset, one))) if direction == BOTH else len(one) for one in (paths, bad))
        return hit >= NEARLY_ALL * whole

    def _name_paths(self, links: dict[LeafPath, list[Link]], bad: set[LeafPath]) -> set[LeafPath]:
        """Name each of these paths, with both directions as one path if both are bad. Return all bad paths that are named."""
        taken: set[LeafPath] = set()
        for path in sorted(bad):
            if path in taken:
                continue
            back = (path[1], path[0])
            name, paths = "path {}-{}".format(*sorted(path)), {path, back} & self._leaf_paths.bad
            one_way = back in self._leaf_paths.good and back != path
            if path[0] == path[1]:
                name = f"path inside {path[0]}"
            elif one_way:
                name = f"path {path[0]} to {path[1]}"
            self._add_component(PATH, name, paths, links, SOURCE if one_way else BOTH, "the opposite direction is good" if one_way else "")
            taken |= paths
        return taken

    def _add_component(self, kind: str, name: str, paths: Iterable[LeafPath], links: dict[LeafPath, list[Link]], direction: str, note: str) -> None:
        mine = [link for path in sorted(paths) for link in links[path]]
        self.components.append(Component(kind, name, self._layer.state, sorted({npu for link in mine for npu in link}), mine[:SHOWN], len(mine), [],
                                         direction=direction, note=note))

    # -- at an NPU, in one direction or intermittent

    def _attribute_to_npus_and_nodes(self) -> None:
        """Name NPUs and nodes that have clearly more bad cells left than their partners, the one with the most cells first."""
        nodes = LinkCounts(self._left, lambda npu: self._table.npus[npu].host)
        npus = LinkCounts(self._left, lambda npu: npu)
        count = len(self._left)
        while count:
            best = max((found for found in (self._worst(NODE, nodes, count), self._worst(NPU, npus, count)) if found),
                       key=lambda found: found[0].bad, default=None)
            if best is None:
                break
            self.components.append(best[0])
            for counts in (nodes, npus):
                counts.remove(best[1])
            count -= len(best[1])
        self._left = [link for link in self._left if link not in npus.removed]

    def _worst(self, kind: str, counts: LinkCounts, count: int) -> tuple[Component, list[Link]] | None:
        """Return the NPU or node that explains the most of ``count`` bad cells, and these cells."""
        owner = counts.owner
        for key in counts.largest(MOST_PAIRS):
            links = counts.links(key)
            partners = {owner(npu) for link in links for npu in link} - {key}
            npus = sorted({npu for link in links for npu in link if owner(npu) == key})
            if len(partners) < 2 or (kind == NODE and not self._is_shared_by_node(links, str(key), count)):
                continue
            if len(links) < CLEARLY_MORE * median(counts.counts[partner] for partner in partners):
                continue
            if self._is_significant(links, npus, self._chance(count)):
                return self._component_of(kind, links, npus), links
        return None

    def _component_of(self, kind: str, links: Sequence[Link], npus: Sequence[int]) -> Component:
        name = str(self._table.npus[npus[0]]) if kind == NPU else self._table.npus[npus[0]].host
        direction = self._direction(links, npus)
        note = {SOURCE: "only as source", TARGET: "only as target"}.get(direction, "the fault is intermittent")
        proven = sorted({npu for link in links for npu in link} - set(npus))
        counted = {SOURCE: self._layer.sent.__getitem__, TARGET: self._layer.received.__getitem__}.get(direction, self._layer.total)
        return Component(kind, name, self._layer.state, list(npus), list(links[:SHOWN]), len(links), proven, len(links), sum(map(counted, npus)), direction,
                         note=note)

    def _chance(self, bad: int) -> float:
        """Return the probability that a healthy cell is bad, if nothing explains this many bad cells."""
        return max(self._layer.chance, bad / max(1, sum(self._layer.sent))) if self._layer.state == SLOW else 0.0

    def _is_shared_by_node(self, links: Sequence[Link], host: str, count: int) -> bool:
        """Return True if every NPU of the host has its share of the bad cells, and the cells without the worst NPU are not chance either. One bad NPU and
        some noise are not a bad node."""
        counts = Counter(npu for link in links for npu in link if self._table.npus[npu].host == host)
        mine = [npu for npu in self._table.of_host[host] if self._layer.total(npu) and npu not in self._npu_faults.blamed]
        if len(mine) < 2 or min(counts[npu] for npu in mine) < EVEN * len(links) / len(mine):
            return False
        worst = max(mine, key=lambda npu: counts[npu])
        rest = [link for link in links if worst not in link]
        return self._is_significant(rest, [npu for npu in mine if npu != worst], self._chance(count - len(links) + len(rest)))

    def _is_significant(self, links: Sequence[Link], npus: Sequence[int], chance: float) -> bool:
        """Return True if the cells are not bad by chance.

        Failures never are. Slow cells must be more than an NPU with as many cells has by chance (Poisson), or all of one direction and all certain.
        """
        if self._layer.state != SLOW or (self._layer.uncertain.isdisjoint(links) and self._direction(links, npus) != BOTH):
            return True
        expected = chance * sum(map(self._layer.total, npus))
        return _poisson_tail(len(links), expected) < RISK / max(1, len(self._table.npus))

    def _direction(self, links: Sequence[Link], npus: Sequence[int]) -> str:
        """Return the direction of which nearly all cells are bad while none of the other is."""
        mine = set(npus)
        out = sum(link[0] in mine for link in links)
        sent, received = (sum(counts[npu] for npu in npus) for counts in (self._layer.sent, self._layer.received))
        if out == len(links) and received and out >= MOST * sent:
            return SOURCE
        return TARGET if out == 0 and sent and len(links) >= MOST * received else BOTH

    # -- single pairs

    def _attribute_to_pairs(self) -> None:
        """Name the path between two NPUs for each cell that is certain or was bad twice."""
        once = [link for link in self._left if self._was_slow_once(link)]
        if len(once) <= max(MOST_ONCE, max(SHARE_ONCE, self._classification.spread) * sum(self._layer.sent)):
            self.slow_once = once
        excused = set(self.slow_once)
        by_hosts: dict[frozenset[str], list[Link]] = {}
        for link in [link for link in self._left if link not in excused]:
            if self._layer.state != SLOW or link not in self._layer.uncertain or self._times_bad(link) > 1:
                by_hosts.setdefault(frozenset(self._table.npus[npu].host for npu in link), []).append(link)
        if len(by_hosts) > MOST_PAIRS:
            self._add_many_pairs(by_hosts)
            return
        for links in by_hosts.values():
            self._add_pair(links)

    def _add_many_pairs(self, by_hosts: dict[frozenset[str], list[Link]]) -> None:
        links = [link for found in by_hosts.values() for link in found]
        npus = sorted({npu for link in links for npu in link})
        self.components.append(Component(PAIR, f"{len(links)} pairs of {len(set().union(*by_hosts))} hosts", self._layer.state, npus, links[:SHOWN], len(links),
                                         [], certain=False, note="no NPU, host, rail or known leaf explains them; declare the leaves of the hosts"))

    def _add_pair(self, links: Sequence[Link]) -> None:
        one, other = links[0]
        npus = sorted({npu for link in links for npu in link})
        name = f"path {self._table.npus[one]} to {self._table.npus[other]}"
        if len(npus) > 2:
            name = f"path {self._table.npus[one].host} to {self._table.npus[other].host}"
        note, certain = self._conclusion_of_retries(links[0])
        self.components.append(Component(PAIR, name, self._layer.state, npus, list(links[:SHOWN]), len(links), npus, certain=certain, note=note))

    def _times_bad(self, link: Link) -> int:
        """Return how often the pair was bad, in either direction."""
        return sum(self._classification.is_bad(cell) for cell in (*self._classification.cells(*link), *self._classification.cells(link[1], link[0])))

    def _was_slow_once(self, link: Link) -> bool:
        """Return True if a cell was slow a single time, and good when measured again with the same options."""
        return self._layer.state == SLOW and self._times_bad(link) == 1 and self._is_good_with_same_options(link)

    def _is_good_with_same_options(self, link: Link) -> bool:
        """Return True if a cell was both bad and good with the same source port and number of queue pairs."""
        bad: set[tuple[str, str]] = set()
        good: set[tuple[str, str]] = set()
        for cell in self._classification.cells(*link):
            (bad if self._classification.is_bad(cell) else good).add(cell.path_options)
        return not bad.isdisjoint(good)

    def _conclusion_of_retries(self, link: Link) -> tuple[str, bool]:
        """Return the conclusion from the repeated measurements of a pair, and whether it is certain."""
        cells = [*self._classification.cells(*link), *self._classification.cells(link[1], link[0])]
        good = [cell for cell in cells if not self._classification.is_bad(cell)]
        if good and self._leaf_paths.is_inferred(cells):
            return "a runner did not answer, and the pair was good at another time: the fault is intermittent", False
        same_options_good = self._is_good_with_same_options(link)
        if len({cell.path_options for cell in cells}) > 1 and not same_options_good:
            if good:
                return "good with another source port or number of queue pairs: one of several links of the path is bad, not the host", True
            return "also bad with another source port or number of queue pairs: the path is bad, not the host", True
        if not same_options_good and any((cell.source, cell.target) == (link[1], link[0]) for cell in good):
            return "the opposite direction is good, and both NPUs are good with others", True
        if good:
            return "good at another time: the fault is intermittent", False
        if len(cells) > 1:
            return "bad each time, and both NPUs are good with others: the path is bad, not the host", True
        return ("both NPUs are good with others: the path between them is bad, or the fault is intermittent; "
                "measure the pair again with another source port"), False


def _poisson_tail(count: int, expected: float) -> float:
    """Return the probability of ``count`` or more."""
    term, below = exp(-expected), 0.0
    for number in range(count):
        below += term
        term *= expected / (number + 1)
    return max(0.0, 1.0 - below) if below < 1 - 1e-9 else term
