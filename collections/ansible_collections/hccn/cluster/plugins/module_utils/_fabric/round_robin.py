# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Round-robin schedules by the circle method, in closed form: a host computes its own pairs without those of the others.

Members are numbers from 0. A rule yields rounds of meetings. A meeting is between two hosts, or two halves of hosts, and stands for ``span`` pairs of
devices that are measured at the same time.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple


class Meeting(NamedTuple):
    """``place``: position in its round. Slot ``source_slot + n`` meets slot ``target_slot + (n + shift) % span``, for n from 0 to span - 1."""

    place: int
    source: int
    target: int
    source_slot: int = 0
    target_slot: int = 0
    shift: int = 0


class Round(NamedTuple):
    """``start``: number of places of all previous rounds."""

    start: int
    meetings: Sequence[Meeting]


class RoundRobin:
    """Every two of ``count`` members meet once, in ``turns`` turns of disjoint pairs: count - 1, or count if it is odd, and one member rests in each turn.

    Member 0 is fixed, the others move along a ring, and opposite places meet. In two consecutive turns of which the first is even, no member is the source
    twice. ``first``: the turn to begin with.
    """

    def __init__(self, count: int, first: int = 0) -> None:
        self.count = count
        self.turns = count - 1 + count % 2
        self.places = count // 2
        self._first = first

    def pairs(self, number: int) -> List[Tuple[int, int]]:
        """Return (source, target) of the pairs of a turn, by place."""
        turn = self._first + number
        found = [self._middle(turn, number)]
        for place in range(1, (self.turns + 1) // 2):
            found.append(self._opposite(turn, place))
        return [pair for pair in found if self.count not in pair]

    def pair_of(self, number: int, member: int) -> Optional[Tuple[int, int, int]]:
        """Return (place, source, target) of a member's pair in a turn, None if the member rests."""
        turn = self._first + number
        place = 0 if member == 0 else self._place(turn, member)
        source, target = self._opposite(turn, place) if place else self._middle(turn, number)
        if self.count in (source, target):
            return None
        return place - int(self.count % 2 == 1 and self._place(turn, self.count) < place), source, target

    def resting(self, number: int) -> Optional[int]:
        """Return the member without a partner in a turn, None if ``count`` is even."""
        if self.count % 2 == 0:
            return None
        place = self._place(self._first + number, self.count)
        pair = self._opposite(self._first + number, place) if place else self._middle(self._first + number, number)
        return pair[0] if pair[1] == self.count else pair[1]

    def _middle(self, turn: int, number: int) -> Tuple[int, int]:
        partner = self._at(turn, 0)
        return (0, partner) if number % 2 == 0 else (partner, 0)

    def _opposite(self, turn: int, place: int) -> Tuple[int, int]:
        """The member at the odd place is the source: places increase by one in each turn, and the sum of two opposite places is odd."""
        one, other = self._at(turn, place), self._at(turn, self.turns - place)
        return (one, other) if place % 2 else (other, one)

    def _at(self, turn: int, position: int) -> int:
        return (position - 1 - turn) % self.turns + 1

    def _place(self, turn: int, member: int) -> int:
        position = (member + turn) % self.turns
        return min(position, self.turns - position)


class Hosts:
    """Whole hosts meet, each slot with the equal slot: ``round_robin.turns`` rounds, all pairs of equal slots once."""

    def __init__(self, round_robin: RoundRobin, span: int) -> None:
        self.span = span
        self.rounds = round_robin.turns
        self._round_robin = round_robin

    def places(self, rounds: int) -> int:
        """Meetings of the first ``rounds`` rounds."""
        return rounds * self._round_robin.places

    def walk(self, rounds: int, host: Optional[int] = None) -> Iterator[Round]:
        """Yield the first ``rounds`` rounds, with all meetings or with those of one host."""
        for number in range(rounds):
            if host is None:
                meetings = [Meeting(place, source, target) for place, (source, target) in enumerate(self._round_robin.pairs(number))]
            else:
                pair = self._round_robin.pair_of(number, host)
                meetings = [Meeting(*pair)] if pair else []
            yield Round(number * self._round_robin.places, meetings)


class Devices:
    """Whole hosts meet, each slot with every slot of the other: ``round_robin.turns`` times ``span`` rounds, all pairs of slots once.

    That is the minimum of (N - 1) R rounds for an even number N of hosts and R slots. If N and R are odd, it is N R, and the minimum is (N - 1) R + 1, since
    one slot rests in every round. For odd N and even R see Halves. The shift remains the same for ``stride`` rounds.
    """

    def __init__(self, round_robin: RoundRobin, span: int, stride: int) -> None:
        self.span = span
        self.rounds = round_robin.turns * span
        self._round_robin = round_robin
        self._stride = stride

    def places(self, rounds: int) -> int:
        """Meetings of the first ``rounds`` rounds."""
        return rounds * self._round_robin.places

    def walk(self, rounds: int, host: Optional[int] = None) -> Iterator[Round]:
        """As in Hosts."""
        for number in range(rounds):
            lap, turn = divmod(number, self._round_robin.turns)
            shift = (turn // self._stride + lap) % self.span
            if host is None:
                meetings = [Meeting(place, source, target, shift=shift) for place, (source, target) in enumerate(self._round_robin.pairs(turn))]
            else:
                pair = self._round_robin.pair_of(turn, host)
                meetings = [Meeting(*pair, shift=shift)] if pair else []
            yield Round(number * self._round_robin.places, meetings)


class Halves:
    """All pairs of slots once, in (N - 1) R rounds also for an odd number N of hosts, if the number R of slots is even.

    Each host consists of two halves, and the halves meet by the circle method. Two members that would meet in the last turn are the halves of one host, and
    that turn is omitted: 2 N - 2 turns, in each of which every half meets another, R / 2 times.
    """

    def __init__(self, count: int, slots: int, stride: int, first: int = 0) -> None:
        self._round_robin = RoundRobin(2 * count, first)
        self._turns = self._round_robin.turns - 1
        self._stride = stride
        self.span = slots // 2
        self.rounds = self._turns * self.span
        self._halves = self._round_robin.pairs(self._turns)
        self._owner: Dict[int, Tuple[int, int]] = {
            member: (host, half * self.span) for host, pair in enumerate(self._halves) for half, member in enumerate(pair)}

    def places(self, rounds: int) -> int:
        """Meetings of the first ``rounds`` rounds."""
        return rounds * self._round_robin.places

    def walk(self, rounds: int, host: Optional[int] = None) -> Iterator[Round]:
        """As in Hosts."""
        for number in range(rounds):
            lap, turn = divmod(number, self._turns)
            shift = (turn // self._stride + lap) % self.span
            if host is None:
                found = [(place, source, target) for place, (source, target) in enumerate(self._round_robin.pairs(turn))]
            else:
                found = sorted(pair for pair in (self._round_robin.pair_of(turn, member) for member in self._halves[host]) if pair)
            yield Round(number * self._round_robin.places, [self._meeting(place, source, target, shift) for place, source, target in found])

    def _meeting(self, place: int, source: int, target: int, shift: int) -> Meeting:
        (one, one_slot), (other, other_slot) = self._owner[source], self._owner[target]
        return Meeting(place, one, other, one_slot, other_slot, shift)


class _Block(NamedTuple):
    """``pairs`` pairs of hosts of two groups, or of one group (``other`` is ``one``), from these offsets on. The first pair is at ``place``."""

    place: int
    pairs: int
    one: int
    one_offset: int
    other: int
    other_offset: int


class Leaves:
    """``groups``: the group of each host, numbers from 0 without a gap. Hosts of a group are connected to the same leaves.

    G rounds for G groups, one less if each group has only one host: the groups meet by the circle method. Each group meets itself in the round in which it
    rests, or, if the number of groups is even, in an additional first round. The n-th host of one group meets the n-th host of the other. In a larger group,
    the hosts that were left over longest go first, so that all of its hosts are used equally often.
    """

    def __init__(self, groups: Sequence[int], span: int) -> None:
        self.span = span
        self._groups = groups
        self._members: List[List[int]] = [[] for _group in range(max(groups) + 1)]
        self._index: List[int] = []
        for host, group in enumerate(groups):
            self._index.append(len(self._members[group]))
            self._members[group].append(host)
        self._round_robin = RoundRobin(len(self._members))
        self._apart = self._round_robin.count % 2 == 0 and any(len(members) > 1 for members in self._members)
        self.rounds = self._round_robin.turns + int(self._apart)

    def places(self, rounds: int) -> int:
        """Meetings of the first ``rounds`` rounds."""
        return sum(block.pairs for blocks in self._blocks(rounds) for block in blocks)

    def walk(self, rounds: int, host: Optional[int] = None) -> Iterator[Round]:
        """As in Hosts."""
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
                couples = self._round_robin.pairs(turn)
                resting = self._round_robin.resting(turn)
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
        """Return a meeting of a block. Every second one has the opposite direction."""
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
