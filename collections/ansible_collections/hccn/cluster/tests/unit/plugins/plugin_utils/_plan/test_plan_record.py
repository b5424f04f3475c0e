"""The record of a plan: its content, its size, and the data that can be read from it."""

from __future__ import annotations

import json
import re

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan import plan_record as plan_records
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import pairs_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_record import PlanRecord, plan_record
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan


def hosts(count, devices=2, a_leaf=4, name="n%d", **more):
    return [{"host": name % number, "control_address": "192.168.%d.%d" % divmod(number, 250), "control_port": 18514, "super_pod": number // (2 * a_leaf),
             "leaf": {device: "leaf-%d-%d" % (number // a_leaf, device) for device in range(devices)},
             "devices": [{"id": device, "address": "10.%d.%d.%d" % (device, *divmod(number, 250))} for device in range(devices)], **more}
            for number in range(count)]


def test_record_of_a_small_plan():
    given = [*hosts(2), {**hosts(3)[2], "leaf": None, "devices": [{"id": 1, "address": "10.9.9.9", "lldp": {"system_name": "s1", "chassis": None}}]}]
    plan = make_plan(given, "full", budget=0.3, seconds_per_pair=8)
    left_out = [{"host": "n%d" % number, "device": 7, "code": "device_busy", "message": "it is at work, pid %d" % number} for number in range(20)]
    found = plan_record("r1", plan, ["n0", "n1", "n2", "n3"],
                        [*left_out, {"host": "n2", "device": 0, "code": "address_not_set", "message": "it has no address"}],
                        ["two lines", "of text"])
    sample = found["samples"][0]
    assert (found.pop("started_at")[-1], found["id"], found["hosts"], sorted(found)) == (
        "Z", "r1/plan", ["n0", "n1", "n2"], ["hosts", "id", "kind", "samples", "schema", "status"])
    assert sample == {
        "plan": "full", "tool": "roce_test", "text": ["two lines", "of text"], "pairs": 3, "rounds": 2, "minutes": 0.3, "seconds_per_pair": 8.0,
        "leaves": 3, "covers": plan["summary"]["covers"], "sees": plan["summary"]["sees"], "cut": {"rounds": 1, "minutes": 0.1, "pairs": 1},
        "left_out": [
            {"code": "device_busy", "message": "it is at work, pid 0", "count": 20, "npus": [["n%d" % number, 7] for number in range(8)]},
            {"code": "address_not_set", "message": "it has no address", "count": 1, "npus": [["n2", 0]]}],
        "hosts_left_out": {"count": 1, "names": ["n3"]},
        "topology": {"leaves": ["leaf-0-0", "leaf-0-1", "s1"], "of": [0, 0, 1],
                     "kinds": [{"0": [0, 0, "inventory"], "1": [1, 1, "inventory"]}, {"1": [1, 2, "lldp"]}]},
        "super_pod": {"names": ["0"], "of": [0, 0, 0]}, "pairs_listed": sample["pairs_listed"]}
    assert PlanRecord(found).pairs(10) == [ends for _name, ends in pairs_of(plan)]
    assert PlanRecord(found).wired() == [("n0", 0, "leaf-0-0", "inventory"), ("n0", 1, "leaf-0-1", "inventory"), ("n1", 0, "leaf-0-0", "inventory"),
                                         ("n1", 1, "leaf-0-1", "inventory"), ("n2", 1, "s1", "lldp")]


@pytest.mark.parametrize("plan", ["quick", "full", "leaves", "devices"])
def test_a_recorded_rule_expands_to_the_pairs_of_the_plan(plan):
    given = hosts(9, devices=3)
    given[4]["devices"] = given[4]["devices"][:1]
    made = make_plan(given, plan, compact=True)
    found = json.loads(json.dumps(plan_record("r1", made)))
    assert "pairs_listed" not in found["samples"][0]
    pairs = PlanRecord(found).pairs(10000)
    assert pairs == [ends for _name, ends in pairs_of(made)] and len(pairs) == made["summary"]["pairs"]
    assert PlanRecord(found).pairs(len(pairs) - 1) is None


def test_a_confirmation_run_names_its_run():
    plan = {"plan": "pairs", "hosts": {"n1": {}, "n2": {}}, "topology": {}, "rounds": [
        [{"id": "p0009", "source": {"host": "n2", "device": 0}, "target": {"host": "n1", "device": 1}}]]}
    found = plan_record("r1-confirmation", plan, confirmation_of="r1")
    assert (found["samples"][0]["pairs"], found["samples"][0]["confirmation_of"], PlanRecord(found).is_confirmation_run) == (1, "r1", True)
    assert PlanRecord(found).pairs(9) == [(("n2", 0), ("n1", 1))]


@pytest.mark.parametrize("plan", ["quick", "leaves"])
def test_the_plan_of_4096_hosts_is_small(plan):
    """Planning takes a second, so the same plan gets longer names of hosts afterwards."""
    planned = json.dumps(make_plan(hosts(4096, devices=8, a_leaf=32, name="node%04d"), plan, compact=True))
    for name, most in (("node%04d", 125_000), ("worker-%04d.rack.cluster.example.org", 239_000)):
        made = json.loads(re.sub("node([0-9]{4})", name.replace("%04d", r"\1"), planned))
        left_out = [{"host": name % number, "device": 0, "code": "device_busy", "message": "pid %d" % number} for number in range(4096)]
        found = plan_record("r1", made, [name % number for number in range(5000)], left_out)
        assert len(plan_records.compact(found)) < most
        assert "shortened" not in found["samples"][0]
        assert len(PlanRecord(found).wired()) == 8 * 4096


def test_a_large_record_is_shortened_and_names_the_missing_parts(monkeypatch):
    plan = make_plan(hosts(4096, devices=8, a_leaf=32, name="n%04d"), "quick", compact=True)
    plan["wiring"]["leaf"] = {"names": ["leaf-%d" % number for number in range(8 * 4096)], "of": [list(range(8 * host, 8 * host + 8)) for host in range(4096)]}
    found = plan_record("r1", plan)
    assert found["samples"][0]["shortened"] == ["super_pod", "schedule", "topology"]
    assert (PlanRecord(found).wired(), PlanRecord(found).pairs(10**6), found["samples"][0]["pairs"]) == ([], None, 32768)
    assert len(plan_records.compact(found)) < plan_records.MOST_BYTES
    found = plan_record("r1", make_plan(hosts(4096, devices=1, name="%063d"), "quick", compact=True))
    assert found["samples"][0]["shortened"] == ["super_pod", "schedule", "topology", "hosts"] and len(found["hosts"]) == 50
    given = hosts(4, devices=1)
    monkeypatch.setattr(plan_records, "MOST_PAIRS", 1)
    found = plan_record("r1", make_plan(given, "pairs", pairs=[["n0", "n1"], ["n2", "n3"]]))
    assert "pairs_listed" not in found["samples"][0] and PlanRecord(found).pairs(10) is None


@pytest.mark.parametrize("strange", [
    {}, {"hosts": 7, "samples": 7}, {"hosts": ["a"], "samples": ["x"]}, {"hosts": ["a"], "samples": [{"topology": 7, "pairs": 1, "schedule": []}]},
    {"hosts": ["a"], "samples": [{"pairs": 1, "pairs_listed": [[0, 0, 9, 0]], "topology": {"leaves": [], "kinds": [{"0": [0, 3]}], "of": [0]}}]},
    {"hosts": ["a", "b"], "samples": [{"pairs": 1, "topology": {"leaves": [], "kinds": [{}], "of": [0, 5]},
                                       "schedule": {"method": "none", "rails": ["x"], "rounds": "many", "first": None}}]},
    {"hosts": ["a", "b"], "samples": [{"pairs": "1", "topology": {"kinds": [{"x": []}], "of": [0]}}]},
])
def test_malformed_records_have_no_data(strange):
    assert (PlanRecord(strange).wired(), PlanRecord(strange).pairs(10)) == ([], None)
