from __future__ import annotations

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.pair_plan import FilterModule

HOSTS = [
    {"host": "n%d" % number, "control_address": "192.168.0.%d" % number, "control_port": 18514, "devices": [{"id": 0, "address": "10.0.0.%d" % number}]}
    for number in (1, 2)
]


def test_the_filter_returns_a_plan():
    plan = FilterModule().filters()["pair_plan"](HOSTS, plan="full", seed=1, rails=[0], run_id="r1")
    assert (plan["run_id"], plan["summary"]["pairs"]) == ("r1", 1)


def test_the_filter_accepts_all_options():
    plan = FilterModule().filters()["pair_plan"](HOSTS, "leaves", groups={"n1": {"leaf": "a"}, "n2": {"leaf": "b"}}, budget="1", seconds_per_pair="30")
    assert (plan["plan"], plan["summary"]["leaves"], plan["summary"]["minutes"]) == ("leaves", 2, 0.5)
    plan = FilterModule().filters()["pair_plan"](HOSTS, pairs=[["n2", "n1"]], compact=True)
    assert [(entry["source"]["host"], entry["target"]["host"]) for entry in plan["rounds"][0]] == [("n2", "n1")]
    assert "schedule" in FilterModule().filters()["pair_plan"](HOSTS, compact=True)


def test_an_error_is_one_sentence():
    with pytest.raises(AnsibleFilterError) as raised:
        FilterModule().filters()["pair_plan"](HOSTS, "trees")
    assert str(raised.value) == "pair_plan: plan 'trees' is not known (known plans are devices, full, leaves, pairs, quick)"
