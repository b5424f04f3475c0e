# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Count links by their owner, an NPU or a node, while links are removed again and again. Counting all links anew each time would take minutes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import nsmallest

from .classification import Link


class LinkCounts:
    """Links by owner. ``owner`` returns what an NPU belongs to. ``counts``: links left of each owner. ``removed``: links that were removed.

    A link that occurs twice counts twice, and is removed as a whole.
    """

    def __init__(self, links: Iterable[Link], owner: Callable[[int], Hashable]) -> None:
        self.owner = owner
        self._links: dict[Hashable, list[Link]] = {}
        for link in links:
            for key in self._owners(link):
                self._links.setdefault(key, []).append(link)
        self.counts = {key: len(mine) for key, mine in self._links.items()}
        self.removed: set[Link] = set()

    def _owners(self, link: Link) -> tuple[Hashable, ...]:
        one, other = self.owner(link[0]), self.owner(link[1])
        return (one,) if one == other else (one, other)

    def largest(self, count: int) -> list[Hashable]:
        """Return the owners with the most links left."""
        return nsmallest(count, (key for key, left in self.counts.items() if left), key=lambda key: (-self.counts[key], str(key)))

    def links(self, key: Hashable) -> list[Link]:
        """Return the links left of an owner, in the order in which they were given."""
        return [link for link in self._links[key] if link not in self.removed]

    def remove(self, links: Sequence[Link]) -> None:
        """Remove links. ``links`` contains each of them as often as it occurs."""
        for link in links:
            for key in self._owners(link):
                self.counts[key] -= 1
        self.removed.update(links)
