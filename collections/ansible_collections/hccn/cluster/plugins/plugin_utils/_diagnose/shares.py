# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Links by what has a part in them, an NPU or a node, of which some are taken away again and again: a walk over all each time would take minutes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import nsmallest

from .rating import Link


class Shares:
    """``of`` tells what an end belongs to; ``counts``: what is left of each, ``gone``: the links that were taken. A link that occurs twice counts twice,
    and goes as a whole."""

    def __init__(self, links: Iterable[Link], of: Callable[[int], Hashable]) -> None:
        self.of = of
        self._links: dict[Hashable, list[Link]] = {}
        for link in links:
            for key in self._keys(link):
                self._links.setdefault(key, []).append(link)
        self.counts = {key: len(mine) for key, mine in self._links.items()}
        self.gone: set[Link] = set()

    def _keys(self, link: Link) -> tuple[Hashable, ...]:
        one, other = self.of(link[0]), self.of(link[1])
        return (one,) if one == other else (one, other)

    def largest(self, count: int) -> list[Hashable]:
        """Those with the most links that are left."""
        return nsmallest(count, (key for key, left in self.counts.items() if left), key=lambda key: (-self.counts[key], str(key)))

    def links(self, key: Hashable) -> list[Link]:
        """What is left of one, in the order in which it came."""
        return [link for link in self._links[key] if link not in self.gone]

    def take(self, links: Sequence[Link]) -> None:
        """Away with them: ``links`` holds one of them as often as it occurs."""
        for link in links:
            for key in self._keys(link):
                self.counts[key] -= 1
        self.gone.update(links)
