"""The action fabric_plan. plugin_utils/_plan/test_plan_record.py tests the record, tests/integration/demo the whole."""

from __future__ import annotations

import pytest

from ansible.errors import AnsibleActionFail

from ansible_collections.hccn.cluster.plugins.action.fabric_plan import ActionModule
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan

PLAN = make_plan([{"host": name, "control_address": name, "control_port": 1, "devices": [{"id": 0, "address": address}]}
                  for name, address in (("n1", "10.0.0.1"), ("n2", "10.0.0.2"))])


class Keeps(ActionModule):
    """The action without Ansible."""

    def __init__(self, **options):
        self._options = {"run_id": "r1", "plan": PLAN, "hosts": [], "left_out": [], "text": [], "confirmation_of": None, "tool": "roce_test",
                         **options}
        self._display = self
        self.shown = []

    def display(self, line):
        self.shown.append(line)

    def validate_argument_spec(self, *_arguments, **_more):
        return None, self._options


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    monkeypatch.setattr("ansible.plugins.action.ActionBase.run", lambda self, tmp=None, task_vars=None: {})


def test_the_record_of_the_plan_is_returned():
    left_out = [{"host": "n3", "device": number, "code": "link_down", "message": "its link is down"} for number in range(12)]
    action = Keeps(hosts=["n1", "n2", "n3"], text=["said"], left_out=left_out)
    found = action.run()
    assert action.shown == ["said", *(f"Left out: n3 NPU {number}: its link is down" for number in range(10)), "... and 2 more"]
    (record,) = found.pop("measurements")
    assert found == {"changed": False, "run_id": "r1"}
    assert (record["kind"], record["id"], sorted(record["hosts"])) == ("plan", "r1/plan", ["n1", "n2"])
    assert (record["samples"][0]["text"], record["samples"][0]["hosts_left_out"]) == (["said"], {"count": 1, "names": ["n3"]})


def test_a_tool_of_the_host_measures_ports():
    action = Keeps(text=["3 pairs of NPUs"], left_out=[{"host": "n3", "device": 0, "code": "link_down", "message": "its link is down"}], tool="perftest")
    (record,) = action.run()["measurements"]
    assert action.shown == ["3 pairs of ports", "Left out: n3 port 0: its link is down"]
    assert (record["samples"][0]["tool"], record["samples"][0]["text"]) == ("perftest", ["3 pairs of ports"])


@pytest.mark.parametrize("plan, message", [
    ({"plan": "quick"}, "fabric_plan: plan is not a pair plan: create it with the filter hccn.cluster.pair_plan"),
    ({"hosts": {}, "schedule": 7}, "fabric_plan: plan: its schedule has no method of circle, devices, leaves"),
])
def test_input_that_is_not_a_plan_is_refused(plan, message):
    with pytest.raises(AnsibleActionFail, match=message):
        Keeps(plan=plan).run()
