from __future__ import annotations

import copy

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Control, Endpoint, Pair, check_name, parse_plan

PLAN = {
    "run_id": "r1",
    "rounds": [
        [
            {"id": "p0001", "source": {"host": "a", "device": 0, "address": "10.0.0.1"}, "target": {"host": "b", "device": 0, "address": "10.0.0.2"}},
            {"id": "p0002", "source": {"host": "b", "device": 1, "address": "10.0.1.2"}, "target": {"host": "a", "device": "1", "address": "10.0.1.1"}},
        ],
        [{"id": "p0003", "source": {"host": "c", "device": 2, "address": "fd00::3"}, "target": {"host": "b", "device": 0, "address": "10.0.0.2"}}],
    ],
    "hosts": {
        "a": {"control_address": "192.168.0.1", "control_port": 18514},
        "b": {"control_address": "node-b.example", "control_port": "18515"},
        "c": {"control_address": "fd00::1", "control_port": 18514},
    },
}


def test_a_host_gets_its_own_pairs():
    plan = parse_plan(PLAN, "a", "r1")
    first = Pair("p0001", 1, 0, Endpoint("a", 0, "10.0.0.1"), Endpoint("b", 0, "10.0.0.2"))
    second = Pair("p0002", 1, 1, Endpoint("b", 1, "10.0.1.2"), Endpoint("a", 1, "10.0.1.1"))
    assert plan.pairs == (first, second)
    assert plan.initiated == (first,)
    assert plan.devices == (0, 1)
    assert plan.controls["b"] == Control("node-b.example", 18515)
    assert str(plan.controls["b"]) == "node-b.example port 18515"


def test_endpoints_of_a_pair():
    pair = parse_plan(PLAN, "c", "r1").pairs[0]
    assert (pair.round, pair.order, pair.rail) == (2, 2, None)
    assert pair.endpoint("c").device == 2
    assert pair.partner("c").host == "b"
    assert pair.partner("b").host == "c"
    assert str(pair.source) == "c NPU 2"
    assert pair.source.as_dict() == {"host": "c", "device": 2, "address": "fd00::3"}
    assert parse_plan(PLAN, "a", "r1").pairs[1].rail == 1


def test_devices_of_this_host_may_be_left_out():
    assert [pair.id for pair in parse_plan(PLAN, "b", "r1").limited([0]).pairs] == ["p0001", "p0003"]


def test_a_pair_may_have_options():
    plan = copy.deepcopy(PLAN)
    plan["rounds"][0][0]["options"] = {"source_port": 50000, "qps": "4"}
    assert parse_plan(plan, "a", "r1").pairs[0].options == (("qps", 4), ("source_port", 50000))
    assert parse_plan(plan, "a", "r1").pairs[1].options == ()


@pytest.mark.parametrize("options", [[], {"qps": 0}, {"qps": "many"}, {"mtu": 4096}])
def test_invalid_options_of_a_pair_are_refused(options):
    plan = copy.deepcopy(PLAN)
    plan["rounds"][0][1]["options"] = options
    with pytest.raises(InputError) as raised:
        parse_plan(plan, "c", "r1")
    assert raised.value.message == "plan: the options of pair p0002 are %r, but only positive numbers for qps and source_port are allowed" % (options,)


def test_a_plan_without_run_id_fits_every_run():
    plan = {key: value for key, value in PLAN.items() if key != "run_id"}
    assert parse_plan(plan, "a", "other").run_id == "other"


def changed(**places):
    """PLAN with one value replaced: the key is the path, joined by two underscores."""
    plan = copy.deepcopy(PLAN)
    for path, value in places.items():
        *folders, last = [int(part) if part.isdigit() else part for part in path.split("__")]
        place = plan
        for folder in folders:
            place = place[folder]
        place[last] = value
    return plan


@pytest.mark.parametrize("plan, message", [
    ([], "plan is not a pair plan: it needs rounds (a list) or a schedule, and hosts (a dictionary)"),
    ({"rounds": {}, "hosts": {}}, "plan is not a pair plan: it needs rounds (a list) or a schedule, and hosts (a dictionary)"),
    ({"hosts": {}}, "plan is not a pair plan: it needs rounds (a list) or a schedule, and hosts (a dictionary)"),
    (changed(run_id="r2"), "plan belongs to the run 'r2', not to 'r1'"),
    (changed(hosts={"b": PLAN["hosts"]["b"]}), "plan does not contain the host 'a'"),
    (changed(hosts__a=[]), "plan: the entry of host a is not a dictionary"),
    (changed(hosts__a__control_address=""), "plan: host a has the control_address '', which is not an address"),
    (changed(hosts__a__control_port=0), "plan: host a has the control_port 0, which is not a port"),
    (changed(hosts__a__control_port=True), "plan: host a has the control_port True, which is not a port"),
    (changed(hosts__a__control_port="x"), "plan: host a has the control_port 'x', which is not a port"),
    (changed(rounds__0={}), "plan: round 1 is not a list of pairs"),
    (changed(rounds__0__0="p"), "plan: round 1 contains an entry that is not a pair: 'p'"),
    (changed(rounds__1__0__id="p0001"), "plan: the pair id p0001 occurs twice"),
    (changed(rounds__0__0__id="../x"),
     "plan: the pair id '../x' is not a name of up to 64 letters, digits, '.', '_' and '-', starting with a letter or digit"),
    (changed(rounds__0__1__source={"host": "b", "device": 0, "address": "10.0.1.2"}), "plan: b NPU 0 is in two pairs of round 1, the second is p0002"),
    (changed(rounds__0__0__target__host="a"), "plan: both NPUs of pair p0001 are on a"),
    (changed(rounds__0__0__target__host="z"), "plan: the target of pair p0001 is 'z', which is not among the hosts of the plan"),
    (changed(rounds__0__0__target=None), "plan: the target of pair p0001 names no host"),
    (changed(rounds__0__0__source__device=64), "plan: the source of pair p0001 has the device 64, which is not an id from 0 to 63"),
    (changed(rounds__0__0__source__device=None), "plan: the source of pair p0001 has the device None, which is not an id from 0 to 63"),
    (changed(rounds__0__0__source__address="10.0.0"), "plan: the source of pair p0001 has the address '10.0.0', which is not an IP address"),
])
def test_invalid_plans_are_refused(plan, message):
    with pytest.raises(InputError) as raised:
        parse_plan(plan, "a", "r1")
    assert raised.value.message == message


def test_an_error_lists_only_a_few_hosts():
    hosts = {"h%02d" % number: {"control_address": "10.0.0.1", "control_port": 1} for number in range(10)}
    with pytest.raises(InputError) as raised:
        parse_plan({"rounds": [], "hosts": hosts}, "z", "r1")
    assert raised.value.hint == "its hosts are h00, h01, h02, h03, h04, h05, h06, h07 and 2 more"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-a", "a b", "a\n", "x" * 65, None, 7])
def test_names_that_are_unsafe_in_paths_are_refused(name):
    with pytest.raises(InputError):
        check_name("run_id", name)
