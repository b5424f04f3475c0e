from __future__ import annotations

import copy
import json
import random
from collections import Counter

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import parse_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import extended, pairs_of, rounds_of, topology_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan


def host(number, devices=2, **fields):
    return {"host": "n%d" % number, "control_address": "192.168.%d.%d" % (number // 250, number % 250), "control_port": 18514,
            "devices": [{"id": device, "address": "10.%d.%d.%d" % (number // 250, device, number % 250)} for device in range(devices)], **fields}


def hosts(count, devices=2):
    return [host(number, devices) for number in range(1, count + 1)]


def on_leaves(*sizes, devices=1):
    """Hosts n1, n2, ... on leaves of these sizes, one after the other."""
    leaves = ["leaf-%d" % leaf for leaf, size in enumerate(sizes) for _host in range(size)]
    return [host(number, devices, leaf=leaf) for number, leaf in enumerate(leaves, 1)]


def numbers(plan, *keys):
    return {key: plan["summary"][key] for key in keys or ("hosts", "rails", "rounds", "pairs", "coverage")}


def pairs_by_round(plan):
    return [[(entry["source"]["host"], entry["target"]["host"], entry["source"]["device"]) for entry in one] for one in plan["rounds"]]


def test_a_plan_of_two_hosts():
    plan = make_plan(hosts(2), "full", run_id="r1")
    assert plan["run_id"] == "r1"
    assert numbers(plan) == {"hosts": 2, "rails": [0, 1], "rounds": 1, "pairs": 2, "coverage": 1.0}
    assert plan["hosts"] == {
        "n1": {"control_address": "192.168.0.1", "control_port": 18514}, "n2": {"control_address": "192.168.0.2", "control_port": 18514}}
    (first, second), = plan["rounds"]
    assert (first["id"], second["id"]) == ("p0001", "p0002")
    assert (first["source"]["host"], second["source"]["host"]) in (("n1", "n2"), ("n2", "n1"))
    assert {end["address"] for entry in (first, second) for end in (entry["source"], entry["target"])} == {
        "10.0.0.1", "10.0.0.2", "10.0.1.1", "10.0.1.2"}


@pytest.mark.parametrize("count, devices", [(2, 1), (3, 2), (4, 8), (7, 3), (16, 8)])
@pytest.mark.parametrize("kind", ["quick", "full"])
def test_the_runner_accepts_the_plan(count, devices, kind):
    plan = make_plan(hosts(count, devices), kind)
    for name in plan["hosts"]:
        mine = parse_plan(plan, name, "r1").pairs
        assert all(pair.rail is not None for pair in mine)
    assert plan["summary"]["pairs"] == sum(map(len, plan["rounds"])) == len(plan["rounds"]) * (count // 2) * devices
    assert [entry["id"] for one in plan["rounds"] for entry in one] == ["p%04d" % number for number in range(1, plan["summary"]["pairs"] + 1)]


def test_quick_consists_of_the_first_rounds_of_full():
    quick, full = make_plan(hosts(6), "quick", seed=3), make_plan(hosts(6), "full", seed=3)
    assert len(quick["rounds"]) == 2
    assert quick["rounds"] == full["rounds"][:2]
    assert (quick["summary"]["coverage"], full["summary"]["coverage"]) == (0.4, 1.0)


@pytest.mark.parametrize("count", range(4, 20, 2))
def test_in_quick_every_host_is_a_source(count):
    plan = make_plan(hosts(count, 1), "quick")
    assert {source for one in pairs_by_round(plan) for source, _target, _device in one} == {"n%d" % number for number in range(1, count + 1)}


def test_every_device_is_a_source_in_quick():
    ends = [(source, device) for one in pairs_by_round(make_plan(hosts(8, 8))) for source, _target, device in one]
    assert len(set(ends)) == len(ends) == 64


def test_only_the_seed_decides_the_partners():
    plans = [make_plan(hosts(8), seed=seed) for seed in range(5)]
    assert plans[0] == make_plan(hosts(8), seed=0)
    assert plans[0] == make_plan(list(reversed(hosts(8))), seed=0)
    assert len({str(pairs_by_round(plan)) for plan in plans}) == 5


def test_the_order_of_a_seed_never_changes():
    assert pairs_by_round(make_plan(hosts(4, 1), "full", seed=7)) == [
        [("n4", "n3", 0), ("n2", "n1", 0)], [("n1", "n4", 0), ("n3", "n2", 0)], [("n4", "n2", 0), ("n1", "n3", 0)]]


def test_rails_can_be_chosen():
    plan = make_plan(hosts(2, 8), rails=[1, "5"])
    assert numbers(plan) == {"hosts": 2, "rails": [1, 5], "rounds": 1, "pairs": 2, "coverage": 1.0}
    assert {entry["source"]["device"] for entry in plan["rounds"][0]} == {1, 5}


def test_a_device_without_counterpart_is_not_measured():
    plan = make_plan([host(1, 2), host(2, 3), host(3, 3)], "full")
    assert numbers(plan) == {"hosts": 3, "rails": [0, 1, 2], "rounds": 3, "pairs": 7, "coverage": 1.0}


def test_numbers_given_as_text_are_accepted():
    entry = host(1)
    entry["control_port"] = "18514"
    entry["devices"][0]["id"] = "0"
    assert make_plan([entry, host(2)])["hosts"]["n1"]["control_port"] == 18514


@pytest.mark.parametrize("given", [[], [host(1)], [host(1, 1), {**host(2), "devices": [{"id": 3, "address": "10.0.1.9"}]}]])
@pytest.mark.parametrize("kind", ["quick", "full", "devices"])
def test_allow_empty_returns_an_empty_plan(given, kind):
    if kind == "devices" and len(given) == 2:
        assert make_plan(given, kind, allow_empty=True)["summary"]["pairs"] == 1, "it measures NPUs of different ids"
        return
    plan = make_plan(given, kind, allow_empty=True)
    assert (plan["hosts"], plan["rounds"]) == ({}, [])
    assert (plan["summary"]["pairs"], plan["summary"]["rounds"], plan["summary"]["minutes"]) == (0, 0, 0.0)
    assert plan["summary"]["sees"] == {"classes": [], "not": dict.fromkeys(["node", "device", "rail", "leaf", "path"], "no pair is measured")}


def test_allow_empty_returns_an_empty_plan_of_pairs():
    plan = make_plan([host(1)], pairs=[["n1", "n2"]], absent=["n2"], allow_empty=True)
    assert (plan["hosts"], plan["rounds"], plan["summary"]["unmeasured"]) == ({}, [], ["n1 and n2: n2 cannot be measured"])


def test_pair_ids_have_as_many_digits_as_the_plan_needs():
    plan = make_plan(hosts(142, 1), "full")
    assert plan["rounds"][0][0]["id"] == "p00001"
    assert plan["rounds"][-1][-1]["id"] == "p10011"


def without(number, *keys):
    entry = copy.deepcopy(host(number))
    for key in keys:
        del entry[key]
    return entry


@pytest.mark.parametrize("given, message", [
    ("n1,n2", "pair_plan takes a list of hosts, each with host, devices, control_address and control_port"),
    ({}, "pair_plan takes a list of hosts, each with host, devices, control_address and control_port"),
    ([], "a pair plan needs two hosts or more, not 0"),
    ([host(1)], "a pair plan needs two hosts or more, not 1"),
    ([host(1), host(1, control_port=1)], "host n1 is used twice: n1 and n1"),
    ([host(1), {**host(2), "control_address": "192.168.0.1"}], "control address 192.168.0.1 port 18514 is used twice: n1 and n2"),
    ([host(1), {**host(2), "devices": [{"id": 3, "address": "10.0.1.1"}]}], "address 10.0.1.1 is used twice: n1 NPU 1 and n2 NPU 3"),
    ([host(1), without(2, "devices")], "host n2 has no devices"),
    ([host(1), host(2, 0)], "host n2 has no devices"),
    ([host(1), {**host(2), "devices": ["0"]}], "host n2: a device is not a dictionary: '0'"),
    ([host(1), {**host(2), "devices": [{"id": "x"}]}], "host n2: device id is 'x', not a whole number"),
    ([host(1), {**host(2), "devices": [{"id": 64}]}], "host n2: device id 64 is listed twice, or is not in 0 to 63"),
    ([host(1), {**host(2), "devices": host(2)["devices"] * 2}], "host n2: device id 0 is listed twice, or is not in 0 to 63"),
    ([host(1), {**host(2), "devices": [{"id": 3, "address": None}]}], "host n2 NPU 3 has no IP address: None"),
    ([host(1), without(2, "host")], "an entry of the hosts has no name"),
    ([host(1), "n2"], "an entry of the hosts has no name: 'n2'"),
    ([host(1), without(2, "control_address")], "host n2 has no control_address"),
    ([host(1), without(2, "control_port")], "host n2: control_port is None, not a whole number"),
    ([host(1), host(2, control_port=70000)], "host n2 has the control_port 70000, which is not in 1 to 65535"),
    ([host(1), {**host(2), "devices": [{"id": 7, "address": "10.9.9.9"}]}], "no two of the hosts have a device with the same id"),
])
def test_invalid_hosts_are_refused_with_one_sentence(given, message):
    with pytest.raises(InputError) as raised:
        make_plan(given)
    assert raised.value.message.startswith(message)


def test_unknown_plans_are_refused():
    with pytest.raises(InputError) as raised:
        make_plan(hosts(2), "trees")
    assert raised.value.sentence() == "plan 'trees' is not known (known plans are devices, full, leaves, pairs, quick)"


def test_rails_without_devices_are_refused():
    with pytest.raises(InputError) as raised:
        make_plan(hosts(2), rails=[9])
    assert raised.value.message == "no two of the hosts have a device with the same id among the requested rails"


def test_a_seed_must_be_a_number():
    with pytest.raises(InputError) as raised:
        make_plan(hosts(2), seed=True)
    assert raised.value.message == "seed is True, not a whole number"


def test_summary_of_a_plan():
    plan = make_plan(on_leaves(2, 2, 2, devices=2), "leaves", seconds_per_pair=10)
    assert plan["plan"] == "leaves"
    assert plan["summary"] == {
        "hosts": 6, "rails": [0, 1], "rounds": 3, "pairs": 18, "coverage": 0.6, "seconds_per_pair": 10.0, "minutes": 0.5, "adaptive": False, "leaves": 3,
        "covers": {"host_pairs": {"planned": 9, "possible": 15, "share": 0.6}, "device_pairs": {"planned": 18, "possible": 30, "share": 0.6},
                   "leaf_pairs": {"planned": 6, "possible": 6, "share": 1.0}},
        "leaf_unknown": {"hosts": 0, "names": []}, "sees": {"classes": ["node", "device", "rail", "leaf", "path"], "not": {}}}
    assert plan["topology"]["n3"] == {"devices": {
        "0": {"rail": 0, "address": "10.0.0.3", "leaf": "leaf-1", "leaf_from": "inventory"},
        "1": {"rail": 1, "address": "10.0.1.3", "leaf": "leaf-1", "leaf_from": "inventory"}}}


@pytest.mark.parametrize("given, options, blind", [
    (hosts(4, 1), {}, {"rail": "there is no other rail to compare with", "leaf": "no leaf is known",
                       "path": "no two leaves are known, and not all pairs of hosts are measured"}),
    (hosts(4), {"plan": "full"}, {"leaf": "no leaf is known"}),
    (hosts(2), {"plan": "full"}, {**dict.fromkeys(("node", "device"), "with two hosts, it cannot be determined which one is slow"),
                                  "leaf": "no leaf is known"}),
    (on_leaves(2, 2, devices=2), {"plan": "full"}, {"leaf": "with two leaves, a leaf cannot be distinguished from the path between them"}),
    (on_leaves(2, 2, 2, devices=2), {"plan": "leaves", "budget": 0.2}, {
        "node": "one round cannot distinguish the two NPUs of a pair", "device": "one round cannot distinguish the two NPUs of a pair",
        "leaf": "2 of 6 pairs of leaves are measured", "path": "2 of 6 pairs of leaves are measured"}),
    (on_leaves(4, devices=2), {}, {"leaf": "only one leaf is known", "path": "no two leaves are known, and not all pairs of hosts are measured"}),
    (on_leaves(9, 9, devices=2), {"budget": 0.1, "seconds_per_pair": 6}, {
        "node": "one round cannot distinguish the two NPUs of a pair", "device": "one round cannot distinguish the two NPUs of a pair",
        "leaf": "with two leaves, a leaf cannot be distinguished from the path between them"}),
    (hosts(4), {"adaptive": True}, {"leaf": "no leaf is known", "path": "no two leaves are known, and not all pairs of hosts are measured"}),
    (hosts(3), {"plan": "pairs", "pairs": [["n1", "n2"], ["n2", "n3"]]}, {
        "node": "a given list need not have a second partner for each NPU", "device": "a given list need not have a second partner for each NPU",
        "leaf": "no leaf is known", "path": "no two leaves are known, and not all pairs of hosts are measured"}),
])
def test_the_summary_names_undetectable_faults(given, options, blind):
    sees = make_plan(given, **options)["summary"]["sees"]
    assert sees["not"] == blind
    assert sees["classes"] == [name for name in ("node", "device", "rail", "leaf", "path") if name not in blind]


def test_the_caller_can_extend_sees():
    plan = make_plan(hosts(4), sees=lambda summary: {"smallest_drop": 0.2 / summary["rounds"]})
    assert plan["summary"]["sees"]["smallest_drop"] == 0.1


def test_a_budget_cuts_rounds_and_the_summary_has_them():
    plan = make_plan(hosts(8), "full", budget=1, seconds_per_pair="20")
    assert plan["rounds"] == make_plan(hosts(8), "full")["rounds"][:3]
    assert plan["summary"]["left_out"] == {"rounds": 4, "minutes": 1.3, "pairs": 32}
    assert numbers(plan, "rounds", "minutes", "pairs", "coverage") == {"rounds": 3, "minutes": 1.0, "pairs": 24, "coverage": 0.4286}
    assert "left_out" not in make_plan(hosts(8), "full", budget=3, seconds_per_pair=20)["summary"]
    listed = make_plan(hosts(3), pairs=[["n1", "n2"], ["n2", "n3"]], budget=0.1, seconds_per_pair=6)
    assert listed["summary"]["left_out"] == {"rounds": 1, "minutes": 0.1, "pairs": 2}


@pytest.mark.parametrize("options, message", [
    ({"budget": 0.1}, "a budget of 0.1 minutes is less than one round of 8 s takes"),
    ({"budget": "ten"}, "budget is 'ten', not a number above 0"),
    ({"budget": True}, "budget is True, not a number above 0"),
    ({"seconds_per_pair": 0}, "seconds_per_pair is 0, not a number above 0"),
    ({"plan": "leaves"}, "the plan leaves needs the leaves of the hosts, but knows none"),
    ({"plan": "pairs"}, "the plan pairs needs the option pairs, and no other plan takes it"),
    ({"plan": "full", "pairs": [["n1", "n2"]]}, "the plan pairs needs the option pairs, and no other plan takes it"),
    ({"groups": ["n1"]}, "groups is not a dictionary with an entry for each host"),
])
def test_invalid_combinations_of_options_are_refused(options, message):
    with pytest.raises(InputError) as raised:
        make_plan(hosts(4), **options)
    assert raised.value.message == message


def test_adaptive_quick_has_one_round_of_its_own():
    plan = make_plan(hosts(6), seed=4, adaptive=True)
    assert plan["rounds"] == make_plan(hosts(6), seed=4)["rounds"][:1]
    assert plan["summary"]["adaptive"] is True


@pytest.mark.parametrize("kind", ["quick", "leaves", "full", "devices"])
@pytest.mark.parametrize("sizes, devices", [((4, 4, 4), 4), ((3, 2, 2), 2), ((1, 5, 3), 3), ((3, 3, 2, 1), 1)])
def test_listed_and_compact_form_are_the_same_plan(kind, sizes, devices):
    given = on_leaves(*sizes, devices=devices)
    given[1]["devices"] = given[1]["devices"][:1]
    given[2].update(super_pod="pod-1", rack=7)
    given[0]["devices"][0]["rail"] = 5
    options = {"plan": kind, "seed": 3, "run_id": "r1"}
    listed, compact = (json.loads(json.dumps(make_plan(given, compact=form, **options))) for form in (False, True))
    assert set(listed) - set(compact) == {"rounds", "topology"}
    assert list(rounds_of(compact)) == listed["rounds"]
    assert topology_of(compact) == listed["topology"] == topology_of(listed)
    assert compact["summary"] == listed["summary"]
    assert list(pairs_of(compact)) == list(pairs_of(listed))
    for name in listed["hosts"]:
        mine = parse_plan(compact, name, "r1")
        assert [replaced(pair) for pair in mine.pairs] == [replaced(pair) for pair in parse_plan(listed, name, "r1").pairs]
        assert [pair.order for pair in mine.pairs] == sorted({pair.order for pair in mine.pairs})


def replaced(pair):
    return pair.id, pair.round, pair.source, pair.target


def test_added_rounds_come_last_in_both_forms():
    more = [[{"id": "p0099", "source": {"host": "n1", "device": 0, "address": "10.0.0.1"}, "target": {"host": "n2", "device": 0, "address": "10.0.0.2"}}]]
    for compact in (False, True):
        plan = extended(make_plan(hosts(3), "full", compact=compact), more)
        assert [len(one) for one in rounds_of(plan)] == [2, 2, 2, 1]
        last = parse_plan(plan, "n2", "r1").pairs[-1]
        assert (last.id, last.round, last.order) == ("p0099", 4, 6)
        assert "p0099" not in [pair.id for pair in parse_plan(plan, "n3", "r1").pairs]
    more[0][0]["id"] = "p0001"
    first = make_plan(hosts(3, 1), "full", compact=True)["schedule"]["order"]
    with pytest.raises(InputError) as raised:
        parse_plan(extended(make_plan(hosts(3), "full", compact=True), more), first[1], "r1")
    assert raised.value.message == "plan: the pair id p0001 occurs twice"


def test_large_plans_are_compact_by_default():
    assert "rounds" in make_plan(hosts(16, 4), "full", compact=None)
    assert "schedule" in make_plan(hosts(24, 2), "full", compact=None)


def test_a_plan_of_a_thousand_hosts_is_small():
    leaves = [{device: "pod-%d-leaf-%d" % (number // 32, device) for device in range(8)} for number in range(1024)]
    plan = make_plan([host(number + 1, 8, leaf=leaf) for number, leaf in enumerate(leaves)], "full", compact=None)
    assert numbers(plan) == {"hosts": 1024, "rails": list(range(8)), "rounds": 1023, "pairs": 4190208, "coverage": 1.0}
    assert plan["summary"]["covers"]["leaf_pairs"] == {"planned": 4224, "possible": 4224, "share": 1.0}
    assert len(json.dumps(plan)) < 250_000
    mine = parse_plan(plan, "n77", "r1").pairs
    assert len({pair.partner("n77") for pair in mine}) == len(mine) == 8184


def test_a_plan_of_four_thousand_hosts_is_small():
    plan = make_plan([host(number, 8) for number in range(1, 4097)], compact=None)
    assert numbers(plan, "rounds", "pairs") == {"rounds": 2, "pairs": 32768}
    assert [pair.round for pair in parse_plan(plan, "n4096", "r1").pairs] == [1] * 8 + [2] * 8


def ends_of(one):
    return [end for pair in one for end in pair]


def leaf_pairs(rounds, leaf_of):
    return {tuple(sorted(leaf_of[end[0]] for end in pair)) for one in rounds for pair in one}


def grouped(plan):
    """Return the pairs of NPUs, round by round."""
    return [[((entry["source"]["host"], entry["source"]["device"]), (entry["target"]["host"], entry["target"]["device"])) for entry in one]
            for one in rounds_of(plan)]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 9, 31, 64, 130])
def test_full_measures_every_pair_of_hosts_once(count):
    rounds = grouped(make_plan(hosts(count, 2), "full", seed=count, compact=True))
    assert len(rounds) == (count - 1 if count % 2 == 0 else count)
    pairs = [frozenset(pair) for one in rounds for pair in one]
    assert len(set(pairs)) == len(pairs) == count * (count - 1)
    assert all(len(set(ends_of(one))) == len(ends_of(one)) == 4 * (count // 2) for one in rounds)


@pytest.mark.parametrize("count, devices, expected", [
    (2, 8, 8), (3, 2, 4), (3, 8, 16), (4, 3, 9), (5, 4, 16), (6, 1, 5), (9, 8, 64), (16, 8, 120), (23, 2, 44), (3, 3, 9), (7, 1, 7), (33, 4, 128)])
def test_devices_measures_every_pair_of_npus_once(count, devices, expected):
    rounds = grouped(make_plan(hosts(count, devices), "devices", seed=count))
    assert len(rounds) == expected, "N R - R, or N R where both are odd"
    pairs = [frozenset(pair) for one in rounds for pair in one]
    assert len(set(pairs)) == len(pairs) == count * (count - 1) // 2 * devices ** 2
    assert all(len(set(ends_of(one))) == len(ends_of(one)) for one in rounds)
    assert all(source[0] != target[0] for one in rounds for source, target in one)
    sources = Counter(source for one in rounds for source, _target in one)
    uneven = (max(sources.values()) - min(sources.values())) / len(rounds)
    assert count == 2 or uneven <= 0.45


@pytest.mark.parametrize("seed", range(12))
def test_leaves_measures_every_pair_of_leaves(seed):
    generator = random.Random(seed)
    sizes = [generator.randint(1, 9) for _leaf in range(generator.randint(2, 12))]
    given = on_leaves(*sizes)
    leaf_of = {entry["host"]: entry["leaf"] for entry in given}
    rounds = grouped(make_plan(given, "leaves", seed=seed))
    names = sorted(set(leaf_of.values()))
    alone = [name for name, size in zip(["leaf-%d" % place for place in range(len(sizes))], sizes) if size == 1]
    assert len(rounds) in (len(sizes), len(sizes) - 1)
    assert leaf_pairs(rounds, leaf_of) == {(one, other) for one in names for other in names if one <= other} - {(name, name) for name in alone}
    assert all(len(set(ends_of(one))) == len(ends_of(one)) for one in rounds)
    used = Counter(end[0] for one in rounds for end in ends_of(one))
    for leaf in names:
        mine = [used[name] for name in leaf_of if leaf_of[name] == leaf]
        assert max(mine) - min(mine) <= 1


@pytest.mark.parametrize("sizes", [(8,) * 8, (16,) * 16, (4,) * 16, (32,) * 4, (11,) * 9, (31, 32, 32, 30)])
@pytest.mark.parametrize("kind", ["full", "devices"])
def test_the_first_rounds_cover_every_pair_of_leaves(kind, sizes):
    given = on_leaves(*sizes, devices=2)
    leaf_of = {entry["host"]: entry["leaf"] for entry in given}
    plan = make_plan(given, kind, seed=1, budget=len(sizes) + 1, seconds_per_pair=60, compact=True)
    rounds = grouped(plan)
    assert len(rounds) == len(sizes) + 1
    assert len(leaf_pairs(rounds, leaf_of)) == len(sizes) * (len(sizes) + 1) // 2
    for length in range(1, len(rounds) + 1):
        used = Counter(end for one in rounds[:length] for end in ends_of(one))
        assert set(used.values()) <= {length, length - 1, length - 2}


def test_hosts_of_unknown_leaf_are_reported_and_measured():
    given = on_leaves(3, 3)
    del given[0]["leaf"], given[4]["leaf"]
    plan = make_plan(given, "leaves")
    assert plan["summary"]["leaf_unknown"] == {"hosts": 2, "names": ["n1", "n5"]}
    assert {name for one in pairs_by_round(plan) for pair in one for name in pair[:2]} == {"n%d" % number for number in range(1, 7)}
    assert "leaf" not in plan["topology"]["n1"]["devices"]["0"]


def test_pairs_may_be_hosts_or_devices():
    plan = make_plan(hosts(3), pairs=[["n1", "n2"], {"source": {"host": "n3", "device": "1"}, "target": {"host": "n1", "device": 0}}])
    assert plan["plan"] == "pairs"
    assert grouped(plan) == [[(("n1", 0), ("n2", 0)), (("n2", 1), ("n1", 1))], [(("n3", 1), ("n1", 0))]]
    assert numbers(plan, "rounds", "pairs", "coverage") == {"rounds": 2, "pairs": 3, "coverage": 0.25}
    assert parse_plan(plan, "n1", "r1").pairs[-1].rail is None


def test_both_directions_of_a_pair_are_two_rounds():
    assert grouped(make_plan(hosts(2, 1), pairs=[["n1", "n2"], ["n2", "n1"]])) == [[(("n1", 0), ("n2", 0))], [(("n2", 0), ("n1", 0))]]


@pytest.mark.parametrize("pairs, message", [
    ([], "pairs is not a list of pairs, such as [[n1, n2], [n1, n3]]"), ("n1,n2", "pairs is not a list of pairs, such as [[n1, n2], [n1, n3]]"),
    (["n1"], "pairs: 'n1' is not a pair"), ([["n1", "n2", "n3"]], "pairs: ['n1', 'n2', 'n3'] is not a pair"),
    ([["n1", "n9"]], "pairs: 'n9' is not among the hosts"), ([["n1", "n1"]], "pairs: n1 is paired with itself"),
    ([["n1", "n2"], ["n1", "n2"]], "pairs: n1 NPU 0 to n2 NPU 0 is listed twice"),
    ([{"source": {"host": "n1", "device": 0}}], "pairs: a target is not a dictionary with host and device: None"),
    ([{"source": {"host": "n1", "device": 0}, "target": {"host": "n1", "device": 1}}], "pairs: both NPUs are on n1"),
    ([{"source": {"host": "n1", "device": 0}, "target": {"host": "n2", "device": 7}}], "pairs: n2 has no NPU 7"),
    ([{"source": {"host": "n1", "device": 0}, "target": {"host": "n2"}}], "pairs: the device of n2 is None, not a whole number"),
])
def test_invalid_pairs_are_refused(pairs, message):
    with pytest.raises(InputError) as raised:
        make_plan(hosts(3), pairs=pairs)
    assert raised.value.message == message


def test_pairs_with_absent_hosts_are_listed_as_unmeasured():
    far = {"source": {"host": "n1", "device": "1"}, "target": {"host": "n3", "device": 0}}
    plan = make_plan(hosts(3), pairs=[["n1", "n9"], ["n1", "n2"], far], absent=["n9", {"host": "n1", "device": 1, "code": "device_busy"}])
    assert grouped(plan) == [[(("n1", 0), ("n2", 0)), (("n2", 1), ("n1", 1))]]
    assert plan["summary"]["unmeasured"] == ["n1 and n9: n9 cannot be measured", "n1 NPU 1 and n3 NPU 0: n1 NPU 1 cannot be measured"]
    assert "unmeasured" not in make_plan(hosts(3), pairs=[["n1", "n2"]], absent=["n9"])["summary"]


@pytest.mark.parametrize("pairs, message", [
    ([["n1", "n9"], ["n9", "n2"]], "pairs: none can be measured; n1 and n9: n9 cannot be measured"), ([["n1", "n8"]], "pairs: 'n8' is not among the hosts"),
    (["n9"], "pairs: 'n9' is not a pair"), ("n9", "pairs is not a list of pairs, such as [[n1, n2], [n1, n3]]"),
    ([{"source": "n9", "target": None}], "pairs: a source is not a dictionary with host and device: 'n9'"),
])
def test_invalid_pairs_are_refused_despite_absent_hosts(pairs, message):
    with pytest.raises(InputError) as raised:
        make_plan(hosts(3), pairs=pairs, absent=["n9"])
    assert raised.value.message == message


def test_pairs_of_hosts_without_a_common_device_are_refused():
    with pytest.raises(InputError) as raised:
        make_plan([host(1, 1), {**host(2), "devices": [{"id": 7, "address": "10.9.9.9"}]}], pairs=[["n1", "n2"]])
    assert raised.value.message == "pairs: n1 and n2 have no device with the same id"
