# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
from collections import Counter

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import parse_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.rounds import circle, make_plan

GOLDEN = {
    2: [[(0, 1)]],
    3: [[(2, 1)], [(0, 2)], [(1, 0)]],
    4: [[(0, 3), (1, 2)], [(2, 0), (3, 1)], [(0, 1), (2, 3)]],
    5: [[(4, 1), (2, 3)], [(0, 4), (1, 2)], [(3, 0), (2, 4)], [(0, 2), (1, 3)], [(0, 1), (3, 4)]],
    6: [[(0, 5), (1, 4), (3, 2)], [(4, 0), (5, 3), (2, 1)], [(0, 3), (4, 2), (1, 5)], [(2, 0), (3, 1), (5, 4)], [(0, 1), (2, 5), (3, 4)]],
    7: [[(6, 1), (2, 5), (4, 3)], [(0, 6), (1, 4), (3, 2)], [(0, 5), (6, 4), (1, 2)], [(4, 0), (5, 3), (2, 6)], [(0, 3), (4, 2), (1, 5)],
        [(2, 0), (3, 1), (5, 6)], [(0, 1), (3, 6), (5, 4)]],
    8: [[(0, 7), (1, 6), (5, 2), (3, 4)], [(6, 0), (7, 5), (4, 1), (2, 3)], [(0, 5), (6, 4), (3, 7), (1, 2)], [(4, 0), (5, 3), (2, 6), (7, 1)],
        [(0, 3), (4, 2), (1, 5), (6, 7)], [(2, 0), (3, 1), (7, 4), (5, 6)], [(0, 1), (2, 7), (3, 6), (4, 5)]],
}


@pytest.mark.parametrize("count", sorted(GOLDEN))
def test_the_rounds_of_few_hosts(count):
    assert circle(count) == GOLDEN[count]


@pytest.mark.parametrize("count", range(2, 65))
def test_every_pair_once_in_the_fewest_rounds(count):
    rounds = circle(count)
    assert len(rounds) == (count - 1 if count % 2 == 0 else count)
    pairs = [frozenset(pair) for one in rounds for pair in one]
    assert len(pairs) == len(set(pairs)) == count * (count - 1) // 2
    for one in rounds:
        assert len(one) == count // 2
        assert len({host for pair in one for host in pair}) == 2 * (count // 2)


@pytest.mark.parametrize("count", range(2, 65))
def test_directions_are_fair(count):
    rounds = circle(count)
    for start in range(0, len(rounds) - 1, 2):
        sources = Counter(source for one in rounds[start:start + 2] for source, _target in one)
        assert set(sources.values()) == {1}
        assert len(sources) == (count if count % 2 == 0 else count - 1)
    total = Counter(source for one in rounds for source, _target in one)
    assert count == 2 or all(total[host] >= 1 for host in range(count))


@pytest.mark.parametrize("count", [2, 3, 8, 33, 64])
def test_the_first_rounds_are_the_same_alone(count):
    assert circle(count, 2) == circle(count)[:2]


def host(number, devices=2, **fields):
    return {"host": "n%d" % number, "control_address": "192.168.0.%d" % number, "control_port": 18514,
            "devices": [{"id": device, "address": "10.0.%d.%d" % (device, number)} for device in range(devices)], **fields}


def hosts(count, devices=2):
    return [host(number, devices) for number in range(1, count + 1)]


def who(plan):
    return [[(entry["source"]["host"], entry["target"]["host"], entry["source"]["device"]) for entry in one] for one in plan["rounds"]]


def test_a_plan_of_two_hosts():
    plan = make_plan(hosts(2), "full", run_id="r1")
    assert plan["run_id"] == "r1"
    assert plan["summary"] == {"hosts": 2, "rails": [0, 1], "rounds": 1, "pairs": 2, "coverage": 1.0}
    assert plan["hosts"] == {
        "n1": {"control_address": "192.168.0.1", "control_port": 18514}, "n2": {"control_address": "192.168.0.2", "control_port": 18514}}
    (first, second), = plan["rounds"]
    assert (first["id"], second["id"]) == ("p0001", "p0002")
    assert (first["source"]["host"], second["source"]["host"]) in (("n1", "n2"), ("n2", "n1"))
    assert {end["address"] for entry in (first, second) for end in (entry["source"], entry["target"])} == {
        "10.0.0.1", "10.0.0.2", "10.0.1.1", "10.0.1.2"}


@pytest.mark.parametrize("count, devices", [(2, 1), (3, 2), (4, 8), (7, 3), (16, 8)])
@pytest.mark.parametrize("kind", ["quick", "full"])
def test_a_plan_is_what_the_runner_takes(count, devices, kind):
    plan = make_plan(hosts(count, devices), kind)
    for name in plan["hosts"]:
        mine = parse_plan(plan, name, "r1").pairs
        assert all(pair.rail is not None for pair in mine)
    assert plan["summary"]["pairs"] == sum(map(len, plan["rounds"])) == len(plan["rounds"]) * (count // 2) * devices
    assert [entry["id"] for one in plan["rounds"] for entry in one] == ["p%04d" % number for number in range(1, plan["summary"]["pairs"] + 1)]


def test_quick_is_the_beginning_of_full():
    quick, full = make_plan(hosts(6), "quick", seed=3), make_plan(hosts(6), "full", seed=3)
    assert len(quick["rounds"]) == 2
    assert quick["rounds"] == full["rounds"][:2]
    assert (quick["summary"]["coverage"], full["summary"]["coverage"]) == (0.4, 1.0)


@pytest.mark.parametrize("count", range(4, 20, 2))
def test_in_quick_every_host_is_a_source(count):
    plan = make_plan(hosts(count, 1), "quick")
    assert {source for one in who(plan) for source, _target, _device in one} == {"n%d" % number for number in range(1, count + 1)}


def test_every_device_is_a_source_in_quick():
    ends = [(source, device) for one in who(make_plan(hosts(8, 8))) for source, _target, device in one]
    assert len(set(ends)) == len(ends) == 64


def test_the_seed_decides_the_partners_and_nothing_else_does():
    plans = [make_plan(hosts(8), seed=seed) for seed in range(5)]
    assert plans[0] == make_plan(hosts(8), seed=0)
    assert plans[0] == make_plan(list(reversed(hosts(8))), seed=0)
    assert len({str(who(plan)) for plan in plans}) == 5


def test_the_order_of_a_seed_is_kept_for_ever():
    assert who(make_plan(hosts(4, 1), "full", seed=7)) == [
        [("n4", "n3", 0), ("n2", "n1", 0)], [("n1", "n4", 0), ("n3", "n2", 0)], [("n4", "n2", 0), ("n1", "n3", 0)]]


def test_rails_can_be_chosen():
    plan = make_plan(hosts(2, 8), rails=[1, "5"])
    assert plan["summary"] == {"hosts": 2, "rails": [1, 5], "rounds": 1, "pairs": 2, "coverage": 1.0}
    assert {entry["source"]["device"] for entry in plan["rounds"][0]} == {1, 5}


def test_a_device_that_only_one_has_is_not_measured():
    plan = make_plan([host(1, 2), host(2, 3), host(3, 3)], "full")
    assert plan["summary"] == {"hosts": 3, "rails": [0, 1, 2], "rounds": 3, "pairs": 7, "coverage": 1.0}


def test_strings_of_templates_are_taken_as_numbers():
    entry = host(1)
    entry["control_port"] = "18514"
    entry["devices"][0]["id"] = "0"
    assert make_plan([entry, host(2)])["hosts"]["n1"]["control_port"] == 18514


def test_ids_grow_with_the_plan():
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
    ([host(1), host(1, control_port=1)], "host n1 stands twice: n1 and n1"),
    ([host(1), {**host(2), "control_address": "192.168.0.1"}], "control address 192.168.0.1 port 18514 stands twice: n1 and n2"),
    ([host(1), {**host(2), "devices": [{"id": 3, "address": "10.0.1.1"}]}], "address 10.0.1.1 stands twice: n1 npu 1 and n2 npu 3"),
    ([host(1), without(2, "devices")], "host n2 has no devices"),
    ([host(1), host(2, 0)], "host n2 has no devices"),
    ([host(1), {**host(2), "devices": ["0"]}], "host n2: a device is not a dictionary: '0'"),
    ([host(1), {**host(2), "devices": [{"id": "x"}]}], "host n2: device id is 'x', not a whole number"),
    ([host(1), {**host(2), "devices": [{"id": 64}]}], "host n2: device id 64 stands twice, or is not in 0 to 63"),
    ([host(1), {**host(2), "devices": host(2)["devices"] * 2}], "host n2: device id 0 stands twice, or is not in 0 to 63"),
    ([host(1), {**host(2), "devices": [{"id": 3, "address": None}]}], "host n2 npu 3 has no IP address: None"),
    ([host(1), without(2, "host")], "an entry of the hosts has no name"),
    ([host(1), "n2"], "an entry of the hosts has no name: 'n2'"),
    ([host(1), without(2, "control_address")], "host n2 has no control_address"),
    ([host(1), without(2, "control_port")], "host n2: control_port is None, not a whole number"),
    ([host(1), host(2, control_port=70000)], "host n2 has the control_port 70000, which is none"),
    ([host(1), {**host(2), "devices": [{"id": 7, "address": "10.9.9.9"}]}], "no two of the hosts have a device with the same id"),
])
def test_what_is_wrong_is_one_sentence(given, message):
    with pytest.raises(InputError) as raised:
        make_plan(given)
    assert raised.value.message.startswith(message)


def test_plans_that_are_not_known():
    with pytest.raises(InputError) as raised:
        make_plan(hosts(2), "leaves")
    assert raised.value.sentence() == "plan 'leaves' is not known (known plans are full, quick)"


def test_rails_that_nobody_has():
    with pytest.raises(InputError) as raised:
        make_plan(hosts(2), rails=[9])
    assert raised.value.message == "no two of the hosts have a device with the same id among the rails asked for"


def test_a_seed_is_a_number():
    with pytest.raises(InputError) as raised:
        make_plan(hosts(2), seed=True)
    assert raised.value.message == "seed is True, not a whole number"
