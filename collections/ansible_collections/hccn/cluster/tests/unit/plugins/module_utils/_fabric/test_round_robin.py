from __future__ import annotations

from collections import Counter

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._fabric.round_robin import Devices, Halves, Hosts, Leaves, Meeting, RoundRobin

GOLDEN = {
    2: [[(0, 1)]],
    3: [[(1, 2)], [(2, 0)], [(0, 1)]],
    4: [[(0, 3), (1, 2)], [(2, 0), (3, 1)], [(0, 1), (2, 3)]],
    5: [[(1, 4), (3, 2)], [(4, 0), (2, 1)], [(0, 3), (4, 2)], [(2, 0), (3, 1)], [(0, 1), (4, 3)]],
    6: [[(0, 5), (1, 4), (3, 2)], [(4, 0), (5, 3), (2, 1)], [(0, 3), (4, 2), (1, 5)], [(2, 0), (3, 1), (5, 4)], [(0, 1), (2, 5), (4, 3)]],
    7: [[(1, 6), (5, 2), (3, 4)], [(6, 0), (4, 1), (2, 3)], [(0, 5), (6, 4), (1, 2)], [(4, 0), (5, 3), (2, 6)], [(0, 3), (4, 2), (1, 5)],
        [(2, 0), (3, 1), (5, 6)], [(0, 1), (6, 3), (4, 5)]],
    8: [[(0, 7), (1, 6), (5, 2), (3, 4)], [(6, 0), (7, 5), (4, 1), (2, 3)], [(0, 5), (6, 4), (3, 7), (1, 2)], [(4, 0), (5, 3), (2, 6), (7, 1)],
        [(0, 3), (4, 2), (1, 5), (6, 7)], [(2, 0), (3, 1), (7, 4), (5, 6)], [(0, 1), (2, 7), (6, 3), (4, 5)]],
}


def turns(count, first=0):
    round_robin = RoundRobin(count, first)
    return [round_robin.pairs(number) for number in range(round_robin.turns)]


@pytest.mark.parametrize("count", sorted(GOLDEN))
def test_the_turns_of_few_members(count):
    assert turns(count) == GOLDEN[count]


def test_the_first_turn_rotates_the_ring():
    assert turns(4, 1) == [[(0, 2), (3, 1)], [(1, 0), (2, 3)], [(0, 3), (1, 2)]]


def test_every_pair_meets_once_in_the_fewest_turns():
    for count in range(2, 131):
        found = turns(count, count // 3)
        assert len(found) == (count - 1 if count % 2 == 0 else count)
        pairs = [frozenset(pair) for one in found for pair in one]
        assert len(pairs) == len(set(pairs)) == count * (count - 1) // 2, count
        for one in found:
            assert len(one) == count // 2
            assert len({member for pair in one for member in pair}) == 2 * (count // 2)


@pytest.mark.parametrize("first", [0, 5])
def test_directions_are_fair(first):
    for count in range(2, 65):
        found = turns(count, first)
        for start in range(0, len(found) - 1, 2):
            sources = Counter(source for one in found[start:start + 2] for source, _target in one)
            assert set(sources.values()) == {1}, count
            assert len(sources) == (count if count % 2 == 0 else count - 1), count
        total = Counter(source for one in found for source, _target in one)
        assert count == 2 or (count, first) == (3, 5) or all(total[member] >= 1 for member in range(count)), count


@pytest.mark.parametrize("count, turn, resting", [(5, 0, 0), (5, 1, 3), (5, 4, 2), (6, 0, None), (1, 0, 0)])
def test_the_resting_member(count, turn, resting):
    assert RoundRobin(count).resting(turn) == resting


RULES = {
    "hosts": lambda: Hosts(RoundRobin(7, 2), 3), "hosts, even": lambda: Hosts(RoundRobin(8), 2), "devices": lambda: Devices(RoundRobin(8, 3), 3, 2),
    "devices, odd": lambda: Devices(RoundRobin(7), 3, 2), "halves": lambda: Halves(7, 4, 2, 5), "leaves": lambda: Leaves([0, 1, 0, 2, 1, 3, 0, 0, 1], 2),
    "an odd number of leaves": lambda: Leaves([2, 1, 0, 2, 1, 0, 0], 2),
}


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_host_finds_its_own_meetings(name):
    rule = RULES[name]()
    whole = list(rule.walk(rule.rounds))
    for host in range(7):
        for one, own in zip(whole, rule.walk(rule.rounds, host)):
            assert own.start == one.start
            assert list(own.meetings) == [meeting for meeting in one.meetings if host in (meeting.source, meeting.target)]
    assert [meeting.place for one in whole for meeting in one.meetings] == [place for one in whole for place in range(len(one.meetings))]
    assert [one.start for one in whole] == [rule.places(number) for number in range(rule.rounds)]


def test_three_hosts_of_two_devices_need_four_rounds():
    halves = Halves(3, 2, 2)
    ends = [[((one.source, one.source_slot), (one.target, one.target_slot)) for one in each.meetings] for each in halves.walk(halves.rounds)]
    assert ends == [
        [((0, 0), (1, 1)), ((0, 1), (2, 0)), ((2, 1), (1, 0))], [((2, 0), (0, 0)), ((1, 1), (2, 1)), ((1, 0), (0, 1))],
        [((0, 0), (2, 1)), ((2, 0), (1, 0)), ((0, 1), (1, 1))], [((1, 0), (0, 0)), ((2, 1), (0, 1)), ((1, 1), (2, 0))]]
    pairs = [frozenset(pair) for one in ends for pair in one]
    assert len(set(pairs)) == len(pairs) == 12
    assert all(one[0] != other[0] for one, other in pairs)


def test_leaves_meet_in_turns():
    assert [[tuple(one)[:3] for one in each.meetings] for each in Leaves([0, 0, 0, 1, 1, 2], 1).walk(3)] == [
        [(0, 3, 5), (1, 0, 1)], [(0, 5, 2), (1, 4, 3)], [(0, 0, 4), (1, 3, 1)]]


def test_two_leaves_first_meet_themselves():
    assert [each.meetings for each in Leaves([0, 0, 1, 1], 1).walk(2)] == [
        [Meeting(0, 0, 1), Meeting(1, 2, 3)], [Meeting(0, 0, 2), Meeting(1, 3, 1)]]


@pytest.mark.parametrize("groups, rounds", [([0, 0], 1), ([0, 1], 1), ([0, 1, 2], 3), ([0, 1, 2, 3], 3), ([0, 1, 2, 3, 3], 4), ([0, 1, 1, 2, 2], 3)])
def test_there_are_as_many_rounds_as_leaves(groups, rounds):
    assert Leaves(groups, 1).rounds == rounds
