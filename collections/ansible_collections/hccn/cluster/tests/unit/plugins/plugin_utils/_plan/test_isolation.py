from __future__ import annotations

import random

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import parse_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import extended, pairs_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.isolation import crossing_rounds, isolation_rounds, retest, retest_qps
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan


PROVEN_NPUS = [("n%d" % number, 0) for number in range(8)]


def hosts(count, devices=1, **fields):
    return [{"host": "n%d" % number, "control_address": "192.168.%d.%d" % divmod(number, 250), "control_port": 18514, **fields,
             "devices": [{"id": device, "address": "10.%d.%d.%d" % (device, *divmod(number, 250))} for device in range(devices)]}
            for number in range(count)]


def ends(rounds):
    return [[tuple((entry[side]["host"], entry[side]["device"]) for side in ("source", "target")) for entry in one] for one in rounds]


def measured(plan, bad):
    """Return the states of all pairs of a plan in which these NPUs are bad."""
    return {name: "good" if not bad & set(pair) else "missing" if sum(end[1] for end in pair) % 3 else "bad" for name, pair in pairs_of(plan)}


def four(states):
    """Return a plan of the pairs n0-n1, n2-n3 and n4-n5, and their states."""
    plan = make_plan(hosts(6), pairs=[["n0", "n1"], ["n2", "n3"], ["n4", "n5"]])
    return plan, dict(zip(("p0001", "p0002", "p0003"), states))


def test_each_npu_of_a_bad_pair_meets_a_proven_partner():
    plan, states = four(["good", "bad", "good"])
    (only,) = isolation_rounds(plan, states, seed=1)
    assert [entry["id"] for entry in only] == ["p0004", "p0005"]
    assert {name for pair in ends([only])[0] for name, _device in pair} & {"n2", "n3"} == {"n2", "n3"}
    assert len({end for pair in ends([only])[0] for end in pair}) == 4
    assert ends(isolation_rounds(plan, states, seed=1)) == ends([only])
    whole = extended(plan, [only])
    assert [pair.id for pair in parse_plan(whole, "n2", "r1").pairs] in (["p0002", "p0004"], ["p0002", "p0005"])
    assert isolation_rounds(whole, {**states, "p0004": "bad", "p0005": "good"}) == []
    assert isolation_rounds(whole, {**states, "p0004": "missing", "p0005": "bad"}) == []


def test_few_proven_npus_need_more_rounds():
    plan, states = four(["bad", "good", "missing"])
    rounds = ends(isolation_rounds(plan, states))
    assert [len(one) for one in rounds] == [2, 2]
    assert [len(one) for one in isolation_rounds(plan, states, limit=1)] == [2]
    assert {name for one in rounds for pair in one for name, _device in pair} == {"n%d" % number for number in range(6)}


@pytest.mark.parametrize("states", [["good", "good", "good"], ["bad", "bad", "missing"], []])
def test_without_bad_pairs_or_proven_npus_there_are_no_rounds(states):
    assert isolation_rounds(*four(states)) == []


def test_rails_are_measured_at_the_same_time():
    plan = make_plan(hosts(4, 2), pairs=[["n0", "n1"], ["n2", "n3"]])
    bad = {("n0", 0), ("n0", 1), ("n2", 1)}
    rounds = isolation_rounds(plan, measured(plan, bad), seed=2)
    assert [{source[1] for source, _target in one} for one in ends(rounds)] == [{0}], "rail 1 has no proven end"
    assert all(source[1] == target[1] for one in ends(rounds) for source, target in one)


def test_a_proven_partner_on_the_same_leaf_is_preferred():
    given = [{**entry, "leaf": "leaf-%d" % (number // 4)} for number, entry in enumerate(hosts(8))]
    plan = make_plan(given, pairs=[["n0", "n4"], ["n1", "n5"], ["n2", "n6"], ["n3", "n7"]])
    (only,) = ends(isolation_rounds(plan, measured(plan, {("n0", 0)})))
    assert [{int(name[1:]) // 4 for name, _device in pair} for pair in only] in ([{0}, {1}], [{1}, {0}])


def test_a_host_without_pair_is_measured_in_quick():
    plan = make_plan(hosts(5), seed=3, adaptive=True)
    states = dict.fromkeys(("p0001", "p0002"), "good")
    met = {name for one in ends(plan["rounds"]) for pair in one for name, _device in pair}
    (only,) = ends(isolation_rounds(plan, states))
    assert len(only) == 1
    assert {name for name, _device in only[0]} - met == set(plan["hosts"]) - met


def test_invalid_states_are_refused():
    plan, states = four(["good", "slow", "good"])
    with pytest.raises(InputError) as raised:
        isolation_rounds(plan, states)
    assert raised.value.message == "the state of pair p0002 is 'slow', not one of good, bad, missing"


def isolated(count, devices, share, seed, whole):
    """Return the number of rounds until exactly the bad NPUs are named."""
    generator = random.Random(seed)
    names = ["n%d" % number for number in range(count)]
    if whole:
        victims = set(generator.sample(names, int(share * count)))
        bad = {(name, device) for name in victims for device in range(devices)}
    else:
        bad = {(name, device) for device in range(devices) for name in generator.sample(names, int(share * count))}
    plan = make_plan(hosts(count, devices), seed=seed, adaptive=True, compact=bool(seed % 2))
    rounds = 1
    while True:
        states = measured(plan, bad)
        more = isolation_rounds(plan, states, seed)
        if not more:
            break
        for one in ends(more):
            used = [end for pair in one for end in pair]
            assert len(set(used)) == len(used)
        plan = extended(plan, more)
        rounds += len(more)
    proven = {end for name, pair in pairs_of(plan) if states[name] == "good" for end in pair}
    convicted = {end for name, pair in pairs_of(plan) for end, other in (pair, pair[::-1]) if states[name] != "good" and other in proven} - proven
    assert convicted == bad
    assert len(proven) == count * devices - len(bad)
    return rounds


def quarter(seed):
    """Return the number of rounds for a trial with this seed, in which at most a quarter of the NPUs is bad."""
    count, devices = ((64, 2), (65, 1), (96, 1), (128, 1), (97, 2))[seed % 5] if seed % 60 else (1024, 1)
    share = (0.01, 0.05, 0.1, 0.2, 0.25 if count % 2 == 0 else 0.23)[seed // 5 % 5]
    return isolated(count, devices, share, seed, whole=seed % 3 == 0)


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_a_quarter_of_bad_nodes_or_devices_takes_two_rounds(first):
    for seed in range(first, first + 50):
        assert quarter(seed) <= 2, seed


def test_a_random_seed_takes_at_most_two_rounds():
    seed = random.SystemRandom().randrange(10 ** 9)
    print("seed", seed)
    assert quarter(seed) <= 2, seed


@pytest.mark.parametrize("seed", range(12))
def test_more_bad_npus_take_more_rounds_and_are_all_named(seed):
    assert 3 <= isolated(64 + seed % 3, 1, 0.4, seed, whole=False) <= 5


def test_a_bad_pair_is_measured_again_and_its_npus_with_others():
    plan = make_plan(hosts(6), "full", seed=1)
    bad = next(name for name, pair in pairs_of(plan) if {end[0] for end in pair} == {"n0", "n1"})
    found = retest(plan, [dict(pairs_of(plan))[bad]], PROVEN_NPUS)
    assert [entry["options"] for one in found.again for entry in one] == [{"qps": 4}]
    assert not any("options" in entry for one in found.others for entry in one)
    (again,), others = ends(found.again), ends(found.others)
    assert [{name for name, _device in pair} for pair in again] == [{"n0", "n1"}]
    assert found.again[0][0]["id"] == "p0016"
    assert [[(entry["source"], entry["target"], entry.get("options")) for entry in one] for one in found.same] == [
        [(entry["source"], entry["target"], None) for entry in one] for one in found.again]
    assert found.same[0][0]["id"] == "p0019"
    named = [{name for name, _device in pair} for one in others for pair in one]
    assert len(named) == 2
    assert all(len(pair & {"n0", "n1"}) == 1 for pair in named)
    assert len({name for pair in named for name in pair}) == 4, "each end has a partner of its own"
    source, target = dict(pairs_of(plan))[bad]
    roles = [(entry["source"]["host"], entry["target"]["host"]) for one in found.others for entry in one]
    assert (sum(sender == source[0] for sender, _other in roles), sum(other == target[0] for _sender, other in roles)) == (1, 1)


@pytest.mark.parametrize("used, qps", [(1, 4), (2, 4), (3, 4), (4, 8), (8, 16), (50, 100), (51, 25), (100, 50), (16384, 100), (-5, 4)])
def test_a_retest_uses_another_number_of_queue_pairs(used, qps):
    assert retest_qps(used) == qps


def test_many_bad_pairs_of_a_path_are_measured_again():
    plan = make_plan(hosts(8), "full")
    wanted = [pair for _name, pair in pairs_of(plan) if {int(end[0][1:]) // 4 for end in pair} == {0, 1}]
    found = retest(plan, wanted, PROVEN_NPUS, others=[{"qps": 8}])
    assert (len(wanted), {entry["options"]["qps"] for one in found.again for entry in one}) == (16, {8})
    for rounds in (found.again, found.others):
        assert all(len({end for pair in one for end in pair}) == 2 * len(one) for one in ends(rounds))
    assert sum(map(len, found.again)) == 16
    assert len(found.again) <= 5
    assert ends(found.same) == ends(found.again)
    identifiers = [entry["id"] for one in found.again + found.others + found.same for entry in one]
    assert identifiers == ["p%04d" % number for number in range(29, 29 + len(identifiers))]


def test_a_pair_is_measured_with_several_source_ports():
    plan = make_plan(hosts(4), pairs=[["n0", "n1"], ["n2", "n3"], ["n0", "n2"]])
    wanted = [pair for _name, pair in pairs_of(plan)][:2]
    found = retest(plan, wanted, [], others=[{"source_port": 50001}, {"source_port": 50002}])
    assert [[entry["options"] for entry in one] for one in found.again] == [[{"source_port": 50001}] * 2, [{"source_port": 50002}] * 2]
    assert (found.others, [["options" in entry for entry in one] for one in found.same]) == ([], [[False, False]])


def test_proven_npus_of_a_bad_pair_meet_others_of_the_leaf_of_their_partner():
    """If these pairs are bad as well, the path between the leaves is. An NPU that is not proven is measured inside its leaf instead."""
    plan = make_plan([{**entry, "leaf": "L%d" % (number // 4)} for number, entry in enumerate(hosts(12))], "full")
    known = [("n%d" % number, 0) for number in range(1, 12)]
    (one, other) = ends(retest(plan, [(("n1", 0), ("n5", 0))], known).others)[0]
    assert (one[0], int(one[1][0][1:]) // 4, other[1], int(other[0][0][1:]) // 4) == (("n1", 0), 1, ("n5", 0), 0)
    pairs = [pair for found in ends(retest(plan, [(("n0", 0), ("n5", 0))], known).others) for pair in found]
    assert {int(pair[1][0][1:]) // 4 for pair in pairs if pair[0] == ("n0", 0)} == {0}


def test_the_npus_of_a_leaf_meet_those_of_other_leaves():
    given = [{**entry, "leaf": "L%d" % (number // 4)} for number, entry in enumerate(hosts(16, 2))]
    plan = make_plan(given, "leaves")
    rounds = ends(crossing_rounds(plan, {"L0"}, 3, without={"n5"}, seed=1))
    assert [len(one) for one in rounds] == [8, 8, 8]
    for one in rounds:
        assert len({end for pair in one for end in pair}) == 16
        assert all([int(name[1:]) // 4 for name, _device in pair].count(0) == 1 and pair[0][1] == pair[1][1] for pair in one)
        assert {int(name[1:]) // 4 for pair in one for name, _device in pair} == {0, 1, 2, 3}, "all other leaves"
        assert not any(name == "n5" for pair in one for name, _device in pair)
