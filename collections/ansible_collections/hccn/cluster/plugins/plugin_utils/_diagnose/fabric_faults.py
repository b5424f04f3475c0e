# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Attribute bad cells to what NpuFaults cannot see: leaves, uplinks, spines and paths, one direction of an NPU, intermittent faults, and single pairs.

inference.py finds the components. A suspect whose bad cells a component of the fabric explains better is excused: the confirmation run measures it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from math import sqrt

from ...module_utils._core.words import some
from .classification import SLOW, Classification, Link
from .component import BOTH, CERTAIN, LEAF, NODE, NPU, PAIR, PATH, POSSIBLE, PROBABLE, SHOWN, SOURCE, SPINE, TARGET, UPLINK, Component
from .inference import LEAST_CERTAIN, LEAST_PROBABLE, Cause, Explanation, Inference
from .measurement_table import INFERRED_CODES, Cell, Table
from .npu_faults import MOST, NEARLY_ALL, NpuFaults
from .path_counts import PathCounts

MOST_PAIRS = 16
"""Single pairs that are named. More of them are one component."""

LEAST_GOOD = 2
"""Good measurements between two leaves that show that not the whole path between them is bad."""

LEAST_EXPECTED = 0.03
"""Pairs that other traffic is expected to slow down again when they are measured again, from which on one that is slow twice may be such a pair."""

MOST_ONCE, SHARE_ONCE, SIGMAS = 2, 0.01, 3.0
"""Pairs that may have been slow once and good when measured again without a component being blamed: this many, or as many as other traffic on this share of
all measurements explains (or on the spread of a measurement, if that is larger, since values that vary more are outliers more often)."""


class FabricFaults:
    """Attributes the bad cells that NpuFaults cannot attribute.

    ``excused``: suspects whose bad cells with cleared NPUs are explained by a leaf, a path or a spine. ``doubtful``: how sure it is that a suspect is bad
    itself. ``slow_once``: pairs that were slow once, and good when measured again with the same options, or not measured again while such ones were.
    """

    def __init__(self, classification: Classification, npu_faults: NpuFaults, silent: Collection[str] = ()) -> None:
        self._classification, self._npu_faults, self._layer = classification, npu_faults, npu_faults.layer
        self._table: Table = classification.table
        self._silent = frozenset(silent)
        self._cleared, self._suspects = npu_faults.cleared, set(npu_faults.suspects)
        self.components: list[Component] = []
        self.slow_once: list[Link] = []
        self.excused: set[int] = set()
        self.doubtful: dict[int, str] = {}
        whole = self._whole_leaves()
        ignored = npu_faults.blamed.union(npu for npu in npu_faults.suspects if self._table.leaves[npu] in whole or self._is_bad_nearby(npu))
        links = [(source, target) for source, targets in enumerate(self._layer.out) if targets and source not in ignored for target in targets
                 if target not in ignored and (self._cleared[source] or self._cleared[target]) and not self._hung((source, target))]
        self._paths = PathCounts(self._table, self._layer, ignored)
        self._links = links = self._without_repeats(links)
        self._explanations: list[Explanation] = []
        if links:
            self._inference = Inference(classification, self._layer, links, self._paths, self._follows_port)
            self._explanations = self._inference.explain()
            self._excuse()

    def _without_repeats(self, links: Sequence[Link]) -> list[Link]:
        """Return bad cells without those that were bad again with the same source port: the path was the same."""
        if not self._table.is_pinned:
            return list(links)
        repeats: dict[Link, int] = {}
        for link in set(links):
            options = [cell.path_options for cell in self._cells(link) if cell.has_port and self._classification.is_bad(cell)]
            repeats[link] = len(options) - len(set(options))
        found = []
        for link in links:
            if repeats[link] > 0:
                repeats[link] -= 1
            else:
                found.append(link)
        return found

    # -- suspects

    def _is_bad_nearby(self, npu: int) -> bool:
        """Return True if a suspect is proven bad by cells that cross no link between leaves."""
        leaves = self._table.leaves
        nearby = {partner for partner in self._layer.partners(npu) if self._cleared[partner] and (leaves[npu] is None or leaves[partner] == leaves[npu])}
        return bool(nearby) and (self._npu_faults.is_alone(npu) or self._npu_faults.is_proven_bad(npu))

    def _whole_leaves(self) -> set[str]:
        """Return the leaves on which nearly all NPUs are suspects that are also bad with each other, so that its links to other leaves are not the cause."""
        leaves = self._table.leaves
        measured = Counter(leaf for npu, leaf in enumerate(leaves) if leaf is not None and self._layer.total(npu))
        suspects = Counter(leaves[npu] for npu in self._suspects)
        bad_inside = {leaves[npu] for npu in self._suspects for partner in self._layer.partners(npu) & self._suspects if leaves[npu] == leaves[partner]}
        return {leaf for leaf in bad_inside if leaf is not None and suspects[leaf] >= NEARLY_ALL * measured[leaf]}

    def _excuse(self) -> None:
        """Excuse the suspects whose bad cells a component of the fabric explains, and note how sure the others are."""
        on_hosts: dict[int, str] = {}
        fabric: set[Cause] = set()
        for found in self._explanations:
            if found.cause[0] in (NPU, NODE):
                for npu in self._npus_of(found):
                    on_hosts.setdefault(npu, found.certainty)
            else:
                fabric.add(found.cause)
        for npu in self._suspects:
            if npu in on_hosts:
                self.doubtful[npu] = on_hosts[npu]
                continue
            links = [link for link in self._layer.links(npu) if self._cleared[link[link[0] == npu]]]
            if links and all(link in self._inference.path_only or not fabric.isdisjoint(self._inference.causes(link)) for link in links):
                self.excused.add(npu)
            elif links:
                self.doubtful[npu] = self._inference.certainty_of_npu(npu)

    def _npus_of(self, found: Explanation) -> list[int]:
        """Return the NPUs of an NPU or host that have bad cells."""
        _kind, owner, _direction = found.cause
        number: Callable[[int], object] = (lambda npu: npu) if found.cause[0] == NPU else self._classification.host_of.__getitem__
        return sorted({npu for link in found.links for npu in link if number(npu) == owner})

    def _hung(self, link: Link) -> bool:
        """Return True if the only errors of a cell are that an NPU of a silent host did not answer."""
        if not self._silent or self._silent.isdisjoint(self._table.npus[npu].host for npu in link):
            return False
        cells = self._classification.cells(*link)
        return any(map(self._classification.is_bad, cells)) and self._is_inferred(cells)

    def _is_inferred(self, cells: Sequence[Cell]) -> bool:
        """Return True if all bad cells only report that a side did not answer."""
        return all(cell.code in INFERRED_CODES for cell in cells if self._classification.is_bad(cell))

    # -- components

    def attribute(self) -> None:
        """Name a component for each explanation, and for each single pair that is left."""
        blamed = self._npu_faults.blamed
        taken: set[tuple[str, object]] = set()  # without directions: a bad cell in the other one may have the same cause
        for found in self._explanations:
            taken.add(found.cause[:2])
            if found.cause[0] in (NPU, NODE):
                npus = [npu for npu in self._npus_of(found) if npu not in blamed and npu not in self._suspects]
                links = [link for link in found.links if blamed.isdisjoint(link) and not set(npus).isdisjoint(link)]
                if npus and links:
                    self.components.append(self._on_host(found, npus, links))
            else:
                self.components.append(self._in_fabric(found))
        left = [link for link in self._links if self._cleared[link[0]] and self._cleared[link[1]] and blamed.isdisjoint(link)]
        self._attribute_to_pairs(self._inference.unexplained(left, taken) if taken else left)

    def _on_host(self, found: Explanation, npus: Sequence[int], links: Sequence[Link]) -> Component:
        kind, _owner, direction = found.cause
        name = self._table.npus[npus[0]].host if kind == NODE and len(npus) > 1 else str(self._table.npus[npus[0]])
        note = {SOURCE: "only as source", TARGET: "only as target"}.get(direction, "the fault is intermittent")
        proven = sorted({npu for link in links for npu in link} - set(npus))
        counted = {SOURCE: self._layer.sent.__getitem__, TARGET: self._layer.received.__getitem__}.get(direction, self._layer.total)
        return Component(NODE if len(npus) > 1 else NPU, name, self._layer.state, list(npus), list(links[:SHOWN]), len(links), proven, len(links),
                         sum(map(counted, npus)), direction, found.certainty, note)

    def _in_fabric(self, found: Explanation) -> Component:
        kind, name, direction, note = self._named(found)
        note = "; ".join(filter(None, [note, self._only_when_bad(found.links)]))
        npus = sorted({npu for link in found.links for npu in link})
        return Component(kind, name, self._layer.state, npus, found.links[:SHOWN], len(found.links), [], direction=direction, certainty=found.certainty,
                         note=note)

    def _named(self, found: Explanation) -> tuple[str, str, str, str]:
        """Return kind, name, direction and note of a component of the fabric."""
        kind, owner, direction = found.cause
        share = f"about {100 * len(found.links) / (len(found.links) + self._paths.good(*found.cause)):.0f} % of"
        if kind == SPINE:
            return SPINE, "spine" if owner is None else f"spine of rail {owner}", BOTH, (
                f"{share} the pairs between leaves are affected, on all leaves alike: one of the spines, or its links. Find it with the counters of the spines")
        if kind == LEAF:
            if found.rate >= MOST:
                return LEAF, f"leaf {owner}", direction, "check its links to the other leaves"
            return UPLINK, f"uplink of leaf {owner}", direction, (
                f"{share} its pairs with other leaves are affected: one of its uplinks. Find it with the counters of the leaf's ports")
        one, other = owner
        note = "" if found.rate >= MOST else f"{share} its pairs are affected: one of several links"
        if one == other:
            return PATH, f"path inside {one}", BOTH, note
        if direction == SOURCE:
            return PATH, f"path {one} to {other}", SOURCE, "; ".join(filter(None, ["the opposite direction is good", note]))
        return PATH, f"path {one}-{other}", BOTH, note

    def _only_when_bad(self, links: Sequence[Link]) -> str:
        """Name few routers of which each traced bad measurement of these cells passed one, and no good one of any cell did; nothing if there are none.

        They are several if measurements cross the component in both directions, or enter it by different links: a router answers with the address of the port
        at which a packet arrives.
        """
        bad = self._traced_bad(links)
        good = self._routers_of_good(bad)
        if good is None:
            return ""
        passed: dict[str, set[int]] = {}
        for number, cell in enumerate(bad):
            for router in sorted(set(cell.routers) - good):
                passed.setdefault(router, set()).add(number)
        named: list[str] = []
        left = set(range(len(bad)))
        while left and passed:
            most = max(passed.values(), key=lambda numbers: len(numbers & left))
            named.append("/".join(router for router, numbers in passed.items() if numbers == most))
            passed = {router: numbers for router, numbers in passed.items() if numbers != most and numbers & left - most}
            left -= most
        if left or not named or len(named) > max(1, len(bad) // 2):
            return ""
        return f"each bad measurement that was traced passed {'one of ' if named[1:] else ''}{some(named, 4)}, and no good one did"

    def _traced_bad(self, links: Iterable[Link]) -> list[Cell]:
        """Return the traced bad measurements of these cells."""
        return [cell for cell in self._cells(*dict.fromkeys(links)) if cell.routers and self._classification.is_bad(cell)]

    def _routers_of_good(self, bad: Sequence[Cell]) -> set[str] | None:
        """Return the routers that good measurements of any cells passed; None if too few were traced as far as the ``bad`` ones."""
        good = [cell.routers for cell in self._table.cells if cell.routers and not self._classification.is_bad(cell)]
        longest = max((len(cell.routers) for cell in bad), default=0)
        return {router for found in good for router in found} if sum(len(found) >= longest for found in good) >= LEAST_GOOD else None

    # -- single pairs

    def _attribute_to_pairs(self, left: Sequence[Link]) -> None:
        """Name the path between two NPUs for each cell that is certain or was bad twice."""
        once = [link for link in left if self._was_slow_once(link)]
        if once:  # those that were measured again also speak for the others, such as those of the confirmation run itself
            once += [link for link in left if self._is_untested(link)] + self._twice_by_chance(left, len(once))
        expected = max(SHARE_ONCE, self._classification.spread) * sum(self._layer.sent)
        if len(once) <= max(MOST_ONCE, expected + SIGMAS * sqrt(expected)):
            self.slow_once = once
        excused = set(self.slow_once)
        for found in self._traced_uplinks([link for link in left if link not in excused]):
            self.components.append(self._in_fabric(found))
            excused.update(found.links)
        by_hosts: dict[frozenset[str], list[Link]] = {}
        for link in [link for link in left if link not in excused]:
            if self._layer.state != SLOW or link not in self._layer.uncertain or self._times_bad(link) > 1:
                by_hosts.setdefault(frozenset(self._table.npus[npu].host for npu in link), []).append(link)
        if len(by_hosts) > MOST_PAIRS:
            self._add_many_pairs(by_hosts)
            return
        for links in by_hosts.values():
            self._add_pair(links)

    def _traced_uplinks(self, left: Sequence[Link]) -> list[Explanation]:
        """Return an uplink for each leaf whose bad paths, to different other leaves, passed the same router, if no good measurement did.

        It is certain if one of the paths follows its port. Otherwise, the paths may not have a host in common, which may be the cause.
        """
        traced = {link: self._traced_bad([link]) for link in left}
        good = self._routers_of_good(list(chain(*traced.values())))
        if good is None:
            return []
        passed: dict[str, list[Link]] = {}
        for link, bad in traced.items():
            for router in sorted({router for cell in bad for router in cell.routers} - good):
                passed.setdefault(router, []).append(link)
        found: dict[str, list[Link]] = {}
        for through in sorted(passed.values(), key=len, reverse=True):
            leaves = [{self._table.leaves[npu] for npu in link} for link in through]
            hosts = [{self._classification.host_of[npu] for npu in link} for link in through]
            common = set.intersection(*leaves).difference(found) if len(set.union(*leaves)) > 2 else ()
            if common and (not set.intersection(*hosts) or any(map(self._follows_port, through))):
                taken = {link for mine in found.values() for link in mine}
                for leaf in filter(None, common):  # with those in the other direction, which enter the link at its other end
                    found[leaf] = [link for link in dict.fromkeys(chain(*passed.values())) if link not in taken and leaf in (self._paths.path(link) or ())]
        return [Explanation((LEAF, leaf, BOTH), len(mine) / (len(mine) + self._paths.good(LEAF, leaf, BOTH)), mine,
                            LEAST_CERTAIN if any(map(self._follows_port, mine)) else LEAST_PROBABLE) for leaf, mine in found.items()]

    def _add_many_pairs(self, by_hosts: dict[frozenset[str], list[Link]]) -> None:
        links = [link for found in by_hosts.values() for link in found]
        npus = sorted({npu for link in links for npu in link})
        known = all(self._table.leaves[npu] is not None for npu in npus)
        note = "no NPU, host, rail, leaf, uplink or spine explains them; check for other traffic" if known else (
            "no NPU, host, rail or known leaf explains them; declare the leaves of the hosts")
        self.components.append(Component(PAIR, f"{len(links)} pairs of {len(set().union(*by_hosts))} hosts", self._layer.state, npus, links[:SHOWN], len(links),
                                         [], certainty=POSSIBLE, note=note))

    def _add_pair(self, links: Sequence[Link]) -> None:
        one, other = links[0]
        npus = sorted({npu for link in links for npu in link})
        name = f"path {self._table.npus[one]} to {self._table.npus[other]}"
        if len(npus) > 2:
            name = f"path {self._table.npus[one].host} to {self._table.npus[other].host}"
        note, conclusion, certainty = self._conclusion_of_retries(links[0])
        if certainty != POSSIBLE and self._may_be_larger(one, other):
            conclusion, certainty = "too little was measured to exclude a bad direction of an NPU or a bad path between the leaves", POSSIBLE
        note = "; ".join(filter(None, [f"{note}: {conclusion}", self._only_when_bad(links)]))
        self.components.append(Component(PAIR, name, self._layer.state, npus, list(links[:SHOWN]), len(links), npus, certainty=certainty, note=note))

    def _may_be_larger(self, source: int, target: int) -> bool:
        """Return True if too little was measured to exclude one direction of an NPU, or the whole path between two leaves."""
        leaves = {self._table.leaves[source], self._table.leaves[target]}
        if len(leaves) > 1 and None not in leaves and self._paths.good(PATH, tuple(sorted(map(str, leaves))), BOTH) < LEAST_GOOD:
            return True
        layer = self._layer
        return not layer.good_sent[source] + layer.inconclusive[source] or not layer.good_received[target] + layer.inconclusive[target]

    def _times_bad(self, link: Link) -> int:
        """Return how often the pair was bad, in either direction."""
        return self._layer.out[link[0]].count(link[1]) + self._layer.out[link[1]].count(link[0])

    def _was_slow_once(self, link: Link) -> bool:
        """Return True if a cell was slow a single time, and good when measured again with the same options."""
        return self._layer.state == SLOW and self._times_bad(link) == 1 and self._is_good_with_same_options(link)

    def _twice_by_chance(self, left: Sequence[Link], once: int) -> list[Link]:
        """Return the pairs that were slow again in one of their later measurements, if other traffic explains as many of them."""
        twice = [link for link in left if self._layer.state == SLOW and self._times_bad(link) == 2 and any(
            not self._classification.is_bad(cell) for cell in self._cells(link, link[::-1]))]
        expected = 2 * once * len(left) / max(1, sum(self._layer.sent))
        return twice if expected >= LEAST_EXPECTED and len(set(twice)) <= 1 + SIGMAS * expected else []

    def _is_untested(self, link: Link) -> bool:
        """Return True if a pair was measured once only."""
        return self._layer.state == SLOW and self._times_bad(link) == 1 and len(self._classification.cells(*link)) < 2 and (
            not self._is_good_with_same_options(link))

    def _is_good_with_same_options(self, link: Link) -> bool:
        """Return True if a cell was both bad and good with the same source port and number of queue pairs. A row has no options of its own."""
        bad: set[tuple[str, str]] = set()
        good: set[tuple[str, str]] = set()
        for cell in self._cells(link):
            (bad if self._classification.is_bad(cell) else good).add(cell.path_options)
        return not bad.isdisjoint(good) or (not bad and bool(good))

    def _cells(self, *links: Link) -> list[Cell]:
        """Return the single records of these cells that say whether they are bad in the way of this layer.

        A pair that was slow at another time does not fail each time, and its NPUs need not be good with others. That a runner did not answer says nothing
        about the speed of the pair.
        """
        cells = [cell for link in links for cell in self._classification.cells(*link)]
        if self._layer.state == SLOW:
            return [cell for cell in cells if cell.code not in INFERRED_CODES]
        return [cell for cell in cells if cell.worth is None or not self._classification.is_bad(cell)]

    def _follows_port(self, link: Link) -> bool:
        """Return True if a cell was bad again with the same source port and good with others, each time: the path that the port selects is bad, not a host.

        A port also selects a link of a bond and a queue of the target, so that only a trace shows that it selects a path: neither of these is traced.
        """
        if not self._table.is_pinned:
            return False
        states: dict[tuple[str, str], list[bool]] = {}
        for cell in self._cells(link):
            if not cell.has_port:
                return False
            states.setdefault(cell.path_options, []).append(self._classification.is_bad(cell))
        if any(len(set(found)) > 1 for found in states.values()) or not self._traced_bad([link]):
            return False
        return any(found[0] and found[1:] for found in states.values()) and sum(not found[0] for found in states.values()) >= LEAST_GOOD

    def _conclusion_of_retries(self, link: Link) -> tuple[str, str, str]:
        """Return what the repeated measurements of a pair showed, the conclusion, and how sure it is.

        A direction that is always good does not repeat the other one. A test that chooses its source port itself may take another path each time, so only a
        port that was set shows which path a test took.
        """
        directions = [way for way in (link, link[::-1]) if any(map(self._classification.is_bad, self._cells(way)))]
        cells = self._cells(*directions)
        good, bad = ([cell for cell in cells if self._classification.is_bad(cell) is is_bad] for is_bad in (False, True))
        if cells and self._is_inferred(cells) and any(self._classification.worth(*way) for way in (link, link[::-1])):
            return "a runner did not answer, and the pair was measured at another time", "the fault is intermittent", POSSIBLE
        same_options_good = self._is_good_with_same_options(link)
        if len({cell.path_options for cell in cells}) > 1 and not same_options_good:
            if not good:
                return "also bad with another source port or number of queue pairs", "the path is bad, not the host", CERTAIN
            pinned = all(cell.has_port for cell in cells)
            if len(bad) > 1:
                return ("good with another source port or number of queue pairs, bad again as before", "one of several links of the path is bad, not the host",
                        CERTAIN if pinned else PROBABLE)
            return ("good with another source port or number of queue pairs", "one of several links of the path is bad, or the fault is intermittent",
                    PROBABLE if pinned else POSSIBLE)
        bad_options = {cell.path_options for cell in bad}
        if directions == [link] and not same_options_good and any(cell.path_options in bad_options for cell in self._cells(link[::-1])):
            return "the opposite direction is good", "one direction of the path is bad, since both NPUs are good with others", PROBABLE
        if good:
            return "good at another time", "the fault is intermittent", POSSIBLE
        if len(cells) > 1:
            return "bad each time", "the path is bad, not the host, since both NPUs are good with others", CERTAIN
        return ("both NPUs are good with others", "the path between them is bad, or the fault is intermittent; measure the pair again with another source port",
                POSSIBLE)
