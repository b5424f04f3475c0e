# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Attribute bad cells to NPUs, or to the fewest nodes, leaves, rails, racks and super pods that contain the bad NPUs.

A pair is as good as the worst of its two NPUs and the path, so a good cell clears both NPUs. If one NPU of a bad cell is cleared and the other is not, the
other one is bad. fabric_faults.py attributes bad cells between two cleared NPUs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from .classification import SLOW, Layer, Link
from .component import CERTAIN, CERTAINTIES, FABRIC, LEAF, NODE, NPU, POSSIBLE, PROBABLE, RACK, RAIL, SHOWN, SUPER_POD, Component
from .measurement_table import Table
from .noise import cleared_by

NEARLY_ALL = 0.9
"""Share of a group's NPUs that must be bad for the group to be named instead of them."""

MOST = 0.75
"""Share of a group's cells that must be bad."""

MOST_OF_HOST = 0.5
"""Share of the NPUs of a host above which a fault of the host is more likely than one of each."""

LEAST_HOSTS = 3
"""Of a group larger than a node. With two hosts, one of them is as likely the cause."""

MOST_NPUS = 16
"""NPUs that are named one by one if no NPU is cleared. More of them are one component."""

DOUBT = "the cause is this NPU, its partner or the path between them; no other pair shows which"
DOUBT_OF_PATH = "the links of its leaf or the path may be the cause instead; too few other pairs show which"
NO_GOOD_PAIRS = "hardly any pair is good, so the cause cannot be located. Check what the hosts have in common, such as MTU, PFC, TLS or the floor"


class NpuFaults:
    """Attributes the bad cells of a layer to NPUs and groups of NPUs.

    ``cleared``: by NPU, whether it is proven good. ``blamed``: NPUs that a component covers. ``suspects``: NPUs with bad cells that are neither. ``excused``:
    suspects whose bad cells a leaf or a path explains.
    """

    def __init__(self, table: Table, layer: Layer, blamed: Collection[int] = ()) -> None:
        self.table = table
        self.layer = layer
        self.cleared = [self._is_cleared(npu) for npu in range(len(table.npus))]
        self.blamed: set[int] = set(blamed)
        self.components: list[Component] = []
        self.excused: frozenset[int] = frozenset()
        self._doubtful: Mapping[int, str] = {}
        self._blame_self_reported()
        self._blame_rails(self._find_suspects())
        self.suspects = self._find_suspects()

    def attribute(self, excused: Collection[int] = (), doubtful: Mapping[int, str] | None = None) -> None:
        """Attribute the bad cells of the suspects: first proven faults, then the open cases. For the arguments see fabric_faults.py."""
        self.excused, self._doubtful = frozenset(excused), doubtful or {}
        self._blame_proven([npu for npu in self.suspects if npu not in self.excused and self.is_proven_bad(npu)])
        self._blame_open([npu for npu in self.suspects if npu not in self.blamed])

    # -- cleared NPUs and suspects

    def _is_cleared(self, npu: int) -> bool:
        """Return True if enough cells prove the NPU good. If all its bad cells are certain, cells that are merely not bad count, too. A pair that was bad again
        with other source ports is no reason to ask for more."""
        total = self.layer.total(npu) - self.layer.inconclusive[npu]
        least = cleared_by(total - (self.layer.bad_again(npu) if self.table.is_pinned else 0))
        if self.layer.good(npu) >= least:
            return True
        return total - self.layer.bad(npu) >= least and self.layer.uncertain.isdisjoint(self.layer.links(npu))

    def _find_suspects(self) -> list[int]:
        return [npu for npu in range(len(self.table.npus)) if not self.cleared[npu] and npu not in self.blamed and self.layer.bad(npu)]

    def is_proven_bad(self, npu: int) -> bool:
        """Return True if two cleared partners are bad with it, or one beyond doubt."""
        partners = {partner for partner in self.layer.partners(npu) if self.cleared[partner]}
        return len(partners) > 1 or any(self._is_certain(npu, partner) for partner in partners)

    def is_alone(self, npu: int) -> bool:
        """Return True if its host is the only one on its leaf. Then the host and the links of the leaf cannot be distinguished."""
        leaf = self.table.leaves[npu]
        return leaf is None or len({self.table.npus[other].host for other, of in enumerate(self.table.leaves) if of == leaf}) < 2

    def _is_certain(self, npu: int, partner: int) -> bool:
        return (partner in self.layer.out[npu] and (npu, partner) not in self.layer.uncertain) or (
            partner in self.layer.into[npu] and (partner, npu) not in self.layer.uncertain)

    # -- proven faults

    def _blame_self_reported(self) -> None:
        """Blame NPUs that reported a failure of their own; all NPUs of a node as the node."""
        for members, component in self._grouped(sorted(self.layer.self_reported), (NODE,)):
            links = [link for npu in members for link in self.layer.self_reported[npu]]
            component.links, component.bad = links[:SHOWN], len(links)
            self._take(component, members)

    def _blame_rails(self, suspects: Sequence[int]) -> None:
        """Blame rails on which no NPU is cleared, since no NPU there can clear another. If all bad cells have an NPU in common, it is the cause."""
        rails: dict[object, list[int]] = {}
        for npu in suspects:
            rails.setdefault(self.table.rails[npu], []).append(npu)
        if not any(self.cleared):
            return
        for rail, npus in sorted(rails.items(), key=lambda item: str(item[0])):
            members = [npu for npu in range(len(self.table.npus)) if self.table.rails[npu] == rail and self.layer.total(npu)]
            bad, total = (sum(count(npu) for npu in members) for count in (self.layer.bad, self.layer.total))
            in_common = 2 * max(map(self.layer.bad, npus)) >= bad  # each bad cell counts for both of its NPUs
            if len(npus) >= NEARLY_ALL * len(members) and self._host_count(npus) >= LEAST_HOSTS and bad >= MOST * total and not in_common:
                self._take(self._component(RAIL, f"rail {rail}", npus), npus)

    def _blame_proven(self, npus: Sequence[int]) -> None:
        for members, component in self._grouped(npus, (SUPER_POD, RACK, LEAF, RAIL, NODE)):
            self._take(component, members)

    def _grouped(self, npus: Sequence[int], kinds: Sequence[str]) -> Iterator[tuple[list[int], Component]]:
        """Return the fewest groups of these kinds that contain the NPUs, the largest first, and then each NPU that is left.

        If most NPUs of a host are bad, those that are excused are bad as well.
        """
        if not npus:
            return
        left = set(npus)
        groups = [(kind, name, set(members)) for kind in kinds for name, members in self._groups(kind).items()]
        groups = [group for group in groups if group[0] == NODE or LEAST_HOSTS <= self._host_count(group[2]) < len(self.table.hosts())]
        for kind, name, members in sorted(groups, key=lambda group: -len(group[2])):
            mine = members & left
            if kind == NODE and len(mine) > MOST_OF_HOST * len(members):
                mine |= members & self.excused
            if len(mine) > 1 and len(mine) >= NEARLY_ALL * len(members):
                left -= mine
                yield sorted(mine), self._component(kind, name, sorted(mine))
        for npu in sorted(left):
            yield [npu], self._component(NPU, str(self.table.npus[npu]), [npu])

    def _groups(self, kind: str) -> dict[str, list[int]]:
        """Return the NPUs that were measured or reported a failure, by the name of their group."""
        found: dict[str, list[int]] = {}
        for number, npu in enumerate(self.table.npus):
            about = self.table.about(npu.host)
            value = {NODE: npu.host, LEAF: self.table.leaves[number], RAIL: self.table.rails[number],
                     SUPER_POD: about.get("super_pod"), RACK: about.get("rack")}[kind]
            if value is not None and (self.layer.total(number) or number in self.layer.self_reported):
                found.setdefault(str(value) if kind == NODE else f"{kind.replace('_', ' ')} {value}", []).append(number)
        return found

    def _component(self, kind: str, name: str, members: Sequence[int]) -> Component:
        """Return a component with the bad cells of its members, and how many of the cells with cleared partners are bad."""
        links = _first_links(link for npu in members for link in self.layer.links(npu))
        proven = {partner for npu in members[:SHOWN] for partner in self.layer.partners(npu) if self.cleared[partner]}
        bad, inconclusive = sum(map(self.layer.bad, members)), sum(map(self._bad_with_uncleared, members))
        mine = set(members) if len(members) > 1 else ()
        inside = sum(source in mine for npu in mine for source in self.layer.into[npu])
        words = [self._doubtful.get(npu, CERTAIN) for npu in members] if kind in (NODE, NPU) else [CERTAIN]
        certainty = min(words, key=CERTAINTIES.index)
        return Component(kind, name, self.layer.state, list(members), links, bad - inside, sorted(proven), bad - inconclusive,
                         sum(map(self.layer.total, members)) - inconclusive, certainty=certainty, note=DOUBT_OF_PATH if certainty == POSSIBLE else "")

    def _bad_with_uncleared(self, npu: int) -> int:
        """Return the number of bad cells whose other NPU is not cleared."""
        return self.layer.bad(npu) - sum(map(self.cleared.__getitem__, self.layer.out[npu])) - sum(map(self.cleared.__getitem__, self.layer.into[npu]))

    def _take(self, component: Component, members: Iterable[int]) -> None:
        self.components.append(component)
        self.blamed.update(members)

    # -- open cases

    def _blame_open(self, suspects: Sequence[int]) -> None:
        """Attribute bad cells between two NPUs of which neither is cleared or blamed."""
        if self._is_whole_fabric(suspects):
            self._blame_whole_fabric(suspects)
            return
        self._blame_accused(suspects)
        self._blame_by_count(suspects)

    def _is_whole_fabric(self, suspects: Sequence[int]) -> bool:
        """Return True if nearly all NPUs are bad and none is cleared, so that nothing distinguishes them."""
        if len(suspects) <= MOST_NPUS or any(self.cleared) or self._host_count(suspects) < LEAST_HOSTS:
            return False
        measured = sum(self.layer.total(npu) > 0 and npu not in self.blamed for npu in range(len(self.table.npus)))
        bad, total = (sum(map(count, suspects)) for count in (self.layer.bad, self.layer.total))
        return len(suspects) >= NEARLY_ALL * measured and bad >= MOST * total

    def _blame_whole_fabric(self, suspects: Sequence[int]) -> None:
        links = _first_links(link for npu in suspects for link in self.layer.links(npu))[:1]
        self._take(Component(FABRIC, "the whole fabric", self.layer.state, list(suspects), links, sum(map(self.layer.bad, suspects)), [],
                             certainty=POSSIBLE, note=NO_GOOD_PAIRS), suspects)

    def _blame_accused(self, suspects: Sequence[int]) -> None:
        """Blame NPUs that the other NPU of a cell accuses."""
        for npu in suspects:
            accusing = [link for link in self.layer.links(npu) if self.layer.accused.get(link) == npu and not self.blamed.intersection(link)]
            if accusing and npu not in self.blamed and npu not in self.excused:
                self._take(Component(NPU, str(self.table.npus[npu]), self.layer.state, [npu], accusing[:SHOWN], len(accusing), []), [npu])

    def _blame_by_count(self, suspects: Sequence[int]) -> None:
        """Blame the NPU of each cell that has more bad partners; both NPUs, with doubt, if they have as many."""
        shared: dict[int, list[Link]] = {}
        alone: dict[int, list[Link]] = {}
        for link in self._open_links(suspects):
            partners = [len(self.layer.partners(npu)) for npu in link]
            guilty = list(link) if partners[0] == partners[1] else [link[partners.index(max(partners))]]
            for npu in guilty:
                (alone if len(guilty) == 1 else shared).setdefault(npu, []).append(link)
        for npu, links in sorted({**shared, **alone}.items()):
            doubt = npu not in alone
            self._take(Component(NPU, str(self.table.npus[npu]), self.layer.state, [npu], links[:SHOWN], len(links), [],
                                 certainty=POSSIBLE if doubt else PROBABLE, note=DOUBT if doubt else ""), [npu])

    def _open_links(self, suspects: Sequence[int]) -> list[Link]:
        """Return the bad cells of the suspects between two NPUs of which neither is cleared or blamed, without those that may be noise."""
        return [link for link in sorted({link for npu in suspects for link in self.layer.links(npu)})
                if not self.blamed.intersection(link) and not any(self.cleared[npu] for npu in link) and self._counts(link)]

    def _counts(self, link: Link) -> bool:
        """Return True if a cell is enough to blame an NPU. A slow cell that may be noise is not, unless both NPUs have another bad one."""
        return self.layer.state != SLOW or link not in self.layer.uncertain or min(self.layer.bad(npu) for npu in link) > 1

    def _host_count(self, npus: Iterable[int]) -> int:
        return len({self.table.npus[npu].host for npu in npus})


def _first_links(links: Iterable[Link]) -> list[Link]:
    """Return the first SHOWN links."""
    return list(islice(links, SHOWN))
