# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The rule of the plan ``leaves``: every two leaves meet once, and every leaf meets itself."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Sequence

from .circle import Circle, Meeting, Round


class _Block(NamedTuple):
    """``pairs`` pairs of hosts of two groups, or of one (``other`` is ``one``), from these offsets on; the first is at ``place``."""

    place: int
    pairs: int
    one: int
    one_offset: int
    other: int
    other_offset: int


class Leaves:
    """``groups``: the group of each host, numbers from 0 without a gap; hosts of a group hang on the same leaves.

    G rounds for G groups, one less where each has one host only: the groups meet by the circle method, and each meets itself in the round in which it
    rests, for an even number of groups in a round before. The n-th host of one meets the n-th of the other; of a larger group those go first
    that were left over longest, so that its hosts serve equally often.
    """

    def __init__(self, groups: Sequence[int], span: int) -> None:
        self.span = span
        self._groups = groups
        self._members: List[List[int]] = [[] for _group in range(max(groups) + 1)]
        self._index: List[int] = []
        for host, group in enumerate(groups):
            self._index.append(len(self._members[group]))
            self._members[group].append(host)
        self._circle = Circle(len(self._members))
        self._apart = self._circle.count % 2 == 0 and any(len(members) > 1 for members in self._members)
        self.rounds = self._circle.turns + int(self._apart)

    def places(self, rounds: int) -> int:
        """Meetings of the first ``rounds`` rounds."""
        return sum(block.pairs for blocks in self._blocks(rounds) for block in blocks)

    def walk(self, rounds: int, host: Optional[int] = None) -> Iterator[Round]:
        """The first ``rounds`` rounds, of all hosts or with the meetings of one only."""
        start = 0
        for blocks in self._blocks(rounds):
            if host is None:
                meetings = [meeting for block in blocks for meeting in self._all(block)]
            else:
                group = self._groups[host]
                own = (self._of(block, host) for block in blocks if group in (block.one, block.other))
                meetings = [meeting for meeting in own if meeting]
            yield Round(start, meetings)
            start += sum(block.pairs for block in blocks)

    def _blocks(self, rounds: int) -> Iterator[List[_Block]]:
        offsets = [0] * len(self._members)
        for number in range(rounds):
            if self._apart and number == 0:
                couples = [(group, group) for group in range(len(self._members))]
            else:
                turn = number - int(self._apart)
                couples = self._circle.pairs(turn)
                resting = self._circle.resting(turn)
                couples += [] if resting is None else [(resting, resting)]
            blocks: List[_Block] = []
            place = 0
            for one, other in couples:
                sizes = len(self._members[one]), len(self._members[other])
                pairs = sizes[0] // 2 if one == other else min(sizes)
                blocks.append(_Block(place, pairs, one, offsets[one], other, offsets[other]))
                place += pairs
                offsets[one] = (offsets[one] + (2 * pairs if one == other else pairs)) % sizes[0]
                if one != other:
                    offsets[other] = (offsets[other] + pairs) % sizes[1]
            yield blocks

    def _all(self, block: _Block) -> Iterator[Meeting]:
        for number in range(block.pairs):
            yield self._meeting(block, number)

    def _of(self, block: _Block, host: int) -> Optional[Meeting]:
        group = self._groups[host]
        offset = block.one_offset if group == block.one else block.other_offset
        number = (self._index[host] - offset) % len(self._members[group])
        number = number // 2 if block.one == block.other else number
        return self._meeting(block, number) if number < block.pairs else None

    def _meeting(self, block: _Block, number: int) -> Meeting:
        """Every second pair runs the other way."""
        if block.one == block.other:
            one = self._member(block.one, block.one_offset + 2 * number)
            other = self._member(block.one, block.one_offset + 2 * number + 1)
        else:
            one = self._member(block.one, block.one_offset + number)
            other = self._member(block.other, block.other_offset + number)
        return Meeting(block.place + number, one, other) if number % 2 == 0 else Meeting(block.place + number, other, one)

    def _member(self, group: int, index: int) -> int:
        members = self._members[group]
        return members[index % len(members)]
