# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Bad cells that are explained by an end of theirs: an NPU, or the fewest nodes, leaves, rails, racks and super pods that hold the bad NPUs.

A pair is as good as the worst of its two ends and the path, so a good cell clears both ends. A bad cell with an end that is cleared elsewhere lies at
the other one, if that is not cleared, too. What both ends being cleared means is told in links.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from .finding import FABRIC, LEAF, NODE, NPU, RACK, RAIL, SHOWN, SUPER_POD, Finding
from .noise import cleared_by
from .rating import SLOW, Layer, Link
from .cells import Table

NEARLY_ALL = 0.9
"""Share of a group's NPUs that must be bad before the group is named instead of them."""

MOST = 0.75
"""Share of a group's cells."""

LEAST_HOSTS = 3
"""Of a group above the node; with two hosts it is as likely one of them."""


MOST_NPUS = 16
"""NPUs that are named where nobody is cleared; more of them are one finding."""

DOUBT = "either end or the path between, no other pair tells which"
DOUBT_OF_PATH = "or its leaf's links or the path between: too few others tell"
NOBODY_GOOD = "hardly a pair is good, so nothing tells them apart: look at what they have in common, such as MTU, PFC, TLS or the floor"


class Ends:
    """``cleared``: by end; ``blamed``: ends that are explained, also as part of a larger finding; ``suspects``: bad ones that are neither.
    ``explained``: suspects that are not proven, since a leaf or a path explains all that is bad with them."""

    def __init__(self, table: Table, layer: Layer, blamed: Collection[int] = ()) -> None:
        self.table = table
        self.layer = layer
        self.cleared = [self._is_cleared(end) for end in range(len(table.ends))]
        self.blamed: set[int] = set(blamed)
        self.findings: list[Finding] = []
        self.explained: frozenset[int] = frozenset()
        self._doubtful: frozenset[int] = frozenset()
        self._told()
        self.suspects = self._suspects()
        self._rails(self.suspects)
        self.suspects = self._suspects()

    def _is_cleared(self, end: int) -> bool:
        """By its good cells; where all its bad ones are far off, cells that are merely not bad do, too."""
        total = self.layer.total(end) - self.layer.lesser[end]
        least = cleared_by(total)
        return self.layer.good[end] >= least or (total - self.layer.bad(end) >= least and not any(link in self.layer.mild for link in self.layer.links(end)))

    def _suspects(self) -> list[int]:
        return [end for end in range(len(self.table.ends)) if not self.cleared[end] and end not in self.blamed and self.layer.bad(end)]

    def explain(self, explained: Collection[int] = (), doubtful: Collection[int] = ()) -> None:
        """From what their partners prove to what nobody can tell. ``explained`` and ``doubtful``: see blocks.py."""
        self.explained, self._doubtful = frozenset(explained), frozenset(doubtful)
        self._named([end for end in self.suspects if end not in self.explained and self._is_named(end)])
        self._open([end for end in self.suspects if end not in self.blamed])

    def _told(self) -> None:
        """Ends that told of a failure of their own, all NPUs of a node as one."""
        for members, finding in self._grouped(sorted(self.layer.sure), (NODE,)):
            links = [link for end in members for link in self.layer.sure[end]]
            finding.links, finding.bad = links[:SHOWN], len(links)
            self._take(finding, members)

    def _rails(self, suspects: Sequence[int]) -> None:
        """A rail in which nobody is cleared: there no end can clear another."""
        rails: dict[object, list[int]] = {}
        for end in suspects:
            rails.setdefault(self.table.rails[end], []).append(end)
        if not any(self.cleared):
            return
        for rail, ends in sorted(rails.items(), key=lambda item: str(item[0])):
            members = [end for end in range(len(self.table.ends)) if self.table.rails[end] == rail and self.layer.total(end)]
            bad, total = (sum(count(end) for end in members) for count in (self.layer.bad, self.layer.total))
            if len(ends) >= NEARLY_ALL * len(members) and self._hosts(ends) >= LEAST_HOSTS and bad >= MOST * total:
                self._take(self._finding(RAIL, f"rail {rail}", ends), ends)

    def _is_named(self, end: int) -> bool:
        """By two cleared partners, or by one where the cell is beyond doubt."""
        partners = {partner for partner in self.layer.partners(end) if self.cleared[partner]}
        return len(partners) > 1 or any(self._is_certain(end, partner) for partner in partners)

    def _is_certain(self, end: int, partner: int) -> bool:
        return (partner in self.layer.out[end] and (end, partner) not in self.layer.mild) or (
            partner in self.layer.into[end] and (partner, end) not in self.layer.mild)

    def _named(self, named: Sequence[int]) -> None:
        for members, finding in self._grouped(named, (SUPER_POD, RACK, LEAF, RAIL, NODE)):
            self._take(finding, members)

    def _grouped(self, named: Sequence[int], kinds: Sequence[str]) -> Iterator[tuple[list[int], Finding]]:
        """The fewest groups of these kinds that hold the ends, the largest first, and an NPU for each that is left."""
        if not named:
            return
        left = set(named)
        groups = [(kind, name, members) for kind in kinds for name, members in self._groups(kind).items()]
        groups = [group for group in groups if len(group[2]) > 1 and len(left.intersection(group[2])) >= NEARLY_ALL * len(group[2])]
        groups = [group for group in groups if group[0] == NODE or LEAST_HOSTS <= self._hosts(group[2]) < len(self.table.hosts())]
        for kind, name, members in sorted(groups, key=lambda group: -len(group[2])):
            mine = sorted(left.intersection(members))
            if len(mine) > 1 and len(mine) >= NEARLY_ALL * len(members):
                left.difference_update(mine)
                yield mine, self._finding(kind, name, mine)
        for end in sorted(left):
            yield [end], self._finding(NPU, str(self.table.ends[end]), [end])

    def _groups(self, kind: str) -> dict[str, list[int]]:
        """Ends that took part, by the name of their group."""
        found: dict[str, list[int]] = {}
        for number, end in enumerate(self.table.ends):
            about = self.table.about(end.host)
            value = {NODE: end.host, LEAF: self.table.leaves[number], RAIL: self.table.rails[number],
                     SUPER_POD: about.get("super_pod"), RACK: about.get("rack")}[kind]
            if value is not None and (self.layer.total(number) or number in self.layer.sure):
                found.setdefault(str(value) if kind == NODE else f"{kind.replace('_', ' ')} {value}", []).append(number)
        return found

    def _finding(self, kind: str, name: str, members: Sequence[int]) -> Finding:
        """With the bad cells of the members and how many of the cleared partners saw them."""
        links = _first(link for end in members for link in self.layer.links(end))
        proven = {partner for end in members[:SHOWN] for partner in self.layer.partners(end) if self.cleared[partner]}
        bad, spoilt = sum(map(self.layer.bad, members)), sum(map(self._spoilt, members))
        mine = set(members) if len(members) > 1 else ()
        inside = sum(source in mine for end in mine for source in self.layer.into[end])
        certain = kind not in (NODE, NPU) or self._doubtful.isdisjoint(members)
        return Finding(kind, name, self.layer.state, list(members), links, bad - inside, sorted(proven), bad - spoilt,
                       sum(map(self.layer.total, members)) - spoilt, certain=certain, note="" if certain else DOUBT_OF_PATH)

    def _spoilt(self, end: int) -> int:
        """Bad cells of which the other end is not cleared."""
        return self.layer.bad(end) - sum(map(self.cleared.__getitem__, self.layer.out[end])) - sum(map(self.cleared.__getitem__, self.layer.into[end]))

    def _take(self, finding: Finding, members: Iterable[int]) -> None:
        self.findings.append(finding)
        self.blamed.update(members)

    def _open(self, suspects: Sequence[int]) -> None:
        """Cells between two ends of which neither is cleared nor blamed: who has more of them, or is accused by the other, or both."""
        if self._is_whole(suspects):
            links = _first(link for end in suspects for link in self.layer.links(end))[:1]
            self._take(Finding(FABRIC, "the whole fabric", self.layer.state, list(suspects), links, sum(map(self.layer.bad, suspects)), [], certain=False,
                               note=NOBODY_GOOD), suspects)
            return
        for end in suspects:
            accusers = [link for link in self.layer.links(end) if self.layer.accused.get(link) == end and not self.blamed.intersection(link)]
            if accusers and end not in self.blamed and end not in self.explained:
                self._take(Finding(NPU, str(self.table.ends[end]), self.layer.state, [end], accusers[:SHOWN], len(accusers), []), [end])
        shared: dict[int, list[Link]] = {}
        alone: dict[int, list[Link]] = {}
        for link in sorted({link for end in suspects for link in self.layer.links(end)}):
            ends = [end for end in link if not self.cleared[end]]
            if self.blamed.intersection(link) or len(ends) < 2 or not self._counts(link):
                continue
            more = [len(self.layer.partners(end)) for end in link]
            guilty = list(link) if more[0] == more[1] else [link[more.index(max(more))]]
            for end in guilty:
                (alone if len(guilty) == 1 else shared).setdefault(end, []).append(link)
        for end, links in sorted({**shared, **alone}.items()):
            doubt = end not in alone
            self._take(Finding(NPU, str(self.table.ends[end]), self.layer.state, [end], links[:SHOWN], len(links), [], certain=not doubt,
                               note=DOUBT if doubt else ""), [end])

    def _is_whole(self, suspects: Sequence[int]) -> bool:
        """Is nearly everybody bad, and nobody cleared who could tell one from another?"""
        if len(suspects) <= MOST_NPUS or any(self.cleared) or self._hosts(suspects) < LEAST_HOSTS:
            return False
        measured = sum(self.layer.total(end) > 0 and end not in self.blamed for end in range(len(self.table.ends)))
        bad, total = (sum(map(count, suspects)) for count in (self.layer.bad, self.layer.total))
        return len(suspects) >= NEARLY_ALL * measured and bad >= MOST * total

    def _counts(self, link: Link) -> bool:
        """A slow cell without a second one must be beyond doubt."""
        return self.layer.state != SLOW or link not in self.layer.mild or min(self.layer.bad(end) for end in link) > 1

    def _hosts(self, ends: Iterable[int]) -> int:
        return len({self.table.ends[end].host for end in ends})


def _first(links: Iterable[Link]) -> list[Link]:
    found: list[Link] = []
    for link in links:
        found.append(link)
        if len(found) == SHOWN:
            break
    return found
