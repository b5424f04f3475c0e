from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Endpoint, Pair, parse_plan
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.schedule import Names, Planned, listed_numbers, parse_schedule

HOSTS = {name: {"control_address": "192.168.0.1", "control_port": port} for port, name in enumerate("abc", 1)}
SCHEDULE = {
    "method": "circle", "order": ["b", "c", "a"], "rails": [0, "4"], "rounds": 2,
    "addresses": [["10.0.0.2", "10.0.4.2"], ["10.0.0.3", None], ["10.0.0.1", "10.0.4.1"]],
}


def changed(**fields):
    return {key: value for key, value in {**SCHEDULE, **fields}.items() if value != "absent"}


def test_a_schedule_is_expanded():
    schedule = parse_schedule(SCHEDULE, HOSTS)
    assert list(schedule.pairs()) == [Planned(1, 1, (1, 0), (2, 0)), Planned(2, 3, (2, 0), (0, 0)), Planned(2, 4, (0, 1), (2, 1))]
    assert list(schedule.pairs(1)) == [Planned(1, 1, (1, 0), (2, 0))]
    assert schedule.last == 4


def test_a_host_gets_its_own_pairs():
    plan = {"hosts": HOSTS, "schedule": SCHEDULE}
    a, b, c = Endpoint("a", 0, "10.0.0.1"), Endpoint("b", 0, "10.0.0.2"), Endpoint("c", 0, "10.0.0.3")
    assert parse_plan(plan, "a", "r1").pairs == (
        Pair("p0001", 1, 0, c, a), Pair("p0003", 2, 2, a, b), Pair("p0004", 2, 3, Endpoint("b", 4, "10.0.4.2"), Endpoint("a", 4, "10.0.4.1")))
    assert parse_plan({**plan, "schedule": changed(order=["b", "c"], addresses=SCHEDULE["addresses"][:2], rounds=1)}, "a", "r1").pairs == ()


@pytest.mark.parametrize("schedule, message", [
    ([], "has no method of circle, devices, leaves"),
    (changed(method="star"), "has no method of circle, devices, leaves"),
    (changed(order="abc"), "has no order of two hosts or more, each once"),
    (changed(order=["a", "a", "b"]), "has no order of two hosts or more, each once"),
    (changed(order=["a", "b", "z"]), "names the host 'z', which is not among the hosts of the plan"),
    (changed(rails=[]), "has no rails"),
    (changed(rails=[0, 64]), "has 64 for rails, which is not a number from 0 to 63"),
    (changed(rails=[1, "1"]), "has the same rail twice"),
    (changed(rounds="absent"), "has None for rounds, which is not a number from 0 to 3"),
    (changed(rounds=4), "has 4 for rounds, which is not a number from 0 to 3"),
    (changed(rounds=True), "has True for rounds, which is not a number from 0 to 3"),
    (changed(first=-1), "has -1 for first, which is not a number from 0"),
    (changed(method="devices", stride=0), "has 0 for stride, which is not a number from 1"),
    (changed(method="leaves"), "has no groups, one number for each host"),
    (changed(method="leaves", groups=[0, 2, 2]), "has groups that are not numbered from 0 without a gap"),
    (changed(addresses=[]), "has no addresses, one list for each host"),
    (changed(addresses=[["10.0.0.1"], [], []]), "has not one address of b for each of its 2 rails"),
    (changed(addresses=[["10.0.0.1", "10.0.0"], [None, None], [None, None]]), "has the address '10.0.0' of b NPU 4, which is not an IP address"),
])
def test_invalid_schedules_are_refused(schedule, message):
    with pytest.raises(InputError) as raised:
        parse_schedule(schedule, HOSTS)
    assert raised.value.message == "plan: its schedule " + message


def test_pair_ids_have_a_fixed_width_and_can_be_parsed():
    assert [Names(7)(3), Names(123456)(3)] == ["p0003", "p000003"]
    assert listed_numbers(["p0003", "p000012", "mine", "px"]) == 12
    assert listed_numbers([]) == 0
