"""NPUs and hosts that cannot be measured are left out by name and do not affect other hosts."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.measurable import _Npu, context, line, measurable
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan

HOSTS = ["n1", "n2", "n3"]


def answer(place, **changed):
    """Return an answer with two NPUs; ``changed`` replaces values of NPU 0."""
    devices = [{"id": device, "address": "10.1.%d.%d" % (device, place), "errors": [], "processes": []} for device in (0, 1)]
    devices[0].update(changed)
    return {"devices": devices, "product": "A2"}


def measurable_of(first, **options):
    """Return the measurable NPUs of three hosts, the first of which returns ``first``."""
    variables = {"n1": {"npus": first}, "n2": {"npus": answer(2)}, "n3": {"npus": answer(3)}}
    return measurable(HOSTS, variables.__getitem__, "npus", 18514, **options)


def npus(found):
    return {entry["host"]: [device["id"] for device in entry["devices"]] for entry in found.hosts}


def test_sound_npus_can_be_measured():
    found = measurable_of(answer(1))
    assert found.left_out == []
    assert found.hosts[0] == {"host": "n1", "devices": [{"id": 0, "address": "10.1.0.1"}, {"id": 1, "address": "10.1.1.1"}], "leaf": None, "labels": {},
                              "super_pod": None, "rack": None, "control_address": "n1", "control_port": 18514}


@pytest.mark.parametrize("changed, code, message", [
    ({"address": "10.1.1.999"}, "address_invalid", "its address '10.1.1.999' is not an IP address"),
    ({"address": None}, "address_not_set", "it has no address"),
    ({"address": ""}, "address_not_set", "it has no address"),
    ({"address": ["10.1.0.1"]}, "address_invalid", "its address \"['10.1.0.1']\" is not an IP address"),
    ({"address": "x" * 900}, "address_invalid", "its address '%s' is not an IP address" % ("x" * 57 + "...")),
    ({"errors": [{"topic": "address", "code": "device_not_found", "message": "there is no such device"}]}, "device_not_found", "there is no such device"),
    ({"errors": [{"topic": "address", "code": "{{ 1 }}", "message": "a\x1bb"}]}, "device_error", "a?b"),
    ({"link": "down"}, "link_down", "its link is down"),
    ({"link": "down", "address": None, "processes": [{"pid": 1}]}, "link_down", "its link is down"),
    ({"link": None, "errors": [{"topic": "address", "code": "x", "message": "y"}]}, "x", "y"),
    ({"errors": "broken"}, "device_error", "broken"),
    ({"errors": ["broken"]}, "device_error", "broken"),
    ({"processes": [{"pid": 4711}, {"pid": 4712}]}, "device_busy", "it is at work, pid 4711, 4712"),
    ({"processes": "yes"}, "device_busy", "it is at work, pid ?"),
])
def test_an_npu_is_left_out_by_name(changed, code, message):
    found = measurable_of(answer(1, **changed))
    assert found.left_out == [{"host": "n1", "device": 0, "code": code, "message": message}]
    assert [line(reason) for reason in found.left_out] == ["Left out: n1 NPU 0: " + message]
    assert npus(found) == {"n1": [1], "n2": [0, 1], "n3": [0, 1]}


@pytest.mark.parametrize("changed", [{"errors": [{"topic": "link", "code": "x"}, {"topic": "lldp", "code": "y"}]}, {"errors": None}, {"id": "0"},
                                     {"errors": [{"topic": "conf", "code": "template_in_name"}]}, {"link": "up"}, {"link": "partial"}, {"link": None},
                                     {"link": ["down"]}])
def test_errors_of_harmless_topics_do_not_exclude_an_npu(changed):
    assert (npus(measurable_of(answer(1, **changed)))["n1"], measurable_of(answer(1, **changed)).left_out) == ([0, 1], [])


def test_a_host_whose_links_are_all_down_has_no_npu_to_measure():
    down = {"devices": [dict(device, link="down") for device in answer(1)["devices"]]}
    found = measurable_of(down)
    assert npus(found) == {"n2": [0, 1], "n3": [0, 1]}
    assert [(reason["host"], reason["device"], reason["code"]) for reason in found.left_out] == [("n1", 0, "link_down"), ("n1", 1, "link_down")]


def test_busy_npus_can_be_allowed():
    assert npus(measurable_of(answer(1, processes=[{"pid": 1}]), allow_busy=True))["n1"] == [0, 1]


@pytest.mark.parametrize("number", [None, "x", -1, 64, 1.5, True, {"a": 1}])
def test_an_npu_without_a_valid_id_is_left_out(number):
    found = measurable_of(answer(1, id=number))
    assert npus(found) == {"n1": [1], "n2": [0, 1], "n3": [0, 1]}
    assert [(reason["device"], reason["code"]) for reason in found.left_out] == [(None, "answer_not_understood")]


def test_an_npu_listed_twice_is_left_out():
    found = measurable_of(answer(1, id=1))
    assert npus(found) == {"n2": [0, 1], "n3": [0, 1]}
    assert found.left_out == [{"host": "n1", "device": 1, "code": "answer_not_understood", "message": "the probe names NPU 1 twice"}]


@pytest.mark.parametrize("given", [None, "text", 5, [], {}, {"devices": None}, {"devices": "0-7"}, {"devices": {"id": 0}}, {"devices": [{}] * 1000}])
def test_a_malformed_answer_leaves_the_host_out(given):
    found = measurable_of(given)
    assert npus(found) == {"n2": [0, 1], "n3": [0, 1]}
    assert [(reason["host"], reason["device"], reason["code"]) for reason in found.left_out] == [("n1", None, "answer_not_understood")]
    assert line(found.left_out[0]).startswith("Left out: n1: the probe answered ")


def test_the_same_address_on_two_hosts_leaves_both_npus_out():
    found = measurable_of(answer(1, address="10.1.0.2"))
    assert [(reason["host"], reason["device"], reason["code"], reason["message"]) for reason in found.left_out] == [
        ("n1", 0, "address_duplicate", "its address 10.1.0.2 is also that of n2 NPU 0; it is unknown which of them is right"),
        ("n2", 0, "address_duplicate", "its address 10.1.0.2 is also that of n1 NPU 0; it is unknown which of them is right")]
    assert npus(found) == {"n1": [1], "n2": [1], "n3": [0, 1]}


def test_the_same_address_in_different_notation_leaves_both_npus_out():
    variables = {"n1": {"npus": {"devices": [{"id": 0, "address": "fd00::1"}, {"id": 1, "address": "FD00:0::1"}]}}}
    found = measurable(["n1"], variables.__getitem__, "npus")
    assert [reason["message"][:40] for reason in found.left_out] == ["its address fd00::1 is also that of n1 N"] * 2


def test_an_address_of_many_npus_names_a_few_of_them(monkeypatch):
    hosts = ["n%d" % place for place in range(1, 1001)]
    shown = []
    monkeypatch.setattr(_Npu, "__str__", lambda npu: shown.append(npu.host) or npu.host)
    found = measurable(hosts, lambda host: {"npus": {"devices": [{"id": 0, "address": "192.168.100.1"}]}}, "npus")
    assert (found.hosts, len(found.left_out)) == ([], 1000)
    assert found.left_out[1]["message"] == "its address 192.168.100.1 is also that of n1, n3, n4, n5 and 995 more; it is unknown which of them is right"
    assert found.left_out[999]["message"] == "its address 192.168.100.1 is also that of n1, n2, n3, n4 and 995 more; it is unknown which of them is right"
    assert len(shown) <= 5 * len(hosts)


def test_topology_variables_of_the_inventory_are_used():
    own = {"npus": answer(1), "check_fabric_leaf": "L1", "check_fabric_labels": {"a": "b"}, "check_fabric_super_pod": 3, "check_fabric_rack": "r",
           "ansible_host": "192.0.2.1", "check_fabric_control_port": 1234}
    entry = measurable(["n1"], {"n1": own}.__getitem__, "npus", 18514).hosts[0]
    assert {key: value for key, value in entry.items() if key != "devices"} == {
        "host": "n1", "leaf": "L1", "labels": {"a": "b"}, "super_pod": 3, "rack": "r", "control_address": "192.0.2.1", "control_port": 1234}


def test_only_leaf_and_super_pod_of_an_npu_are_used():
    answered = {"lldp": {"system_name": "leaf-1", "chassis": ["x"], "more": "y"}, "super_pod": {"super_pod_id": 4, "sdid": 1}, "rail": "x", "leaf": ["y"]}
    assert measurable_of(answer(1, **answered)).hosts[0]["devices"][0] == {"id": 0, "address": "10.1.0.1", "lldp": {"system_name": "leaf-1"},
                                                                           "super_pod": {"super_pod_id": 4}}


@pytest.mark.parametrize("odd", [{"lldp": 5}, {"lldp": {"system_name": {"a": 1}}}, {"super_pod": "x"}, {"super_pod": {"super_pod_id": [1]}}, {"rail": "x"}])
def test_malformed_wiring_does_not_break_the_plan(odd):
    plan = make_plan(measurable_of(answer(1, **odd)).hosts, "quick")
    assert plan["summary"]["hosts"] == 3


def test_context_of_the_records():
    answered = {"product": "A2", "devices": [{"id": 0, "speed": 200000}, {"id": 1, "speed": None}, {"id": "x", "speed": 1}, {"id": 2, "speed": float("inf")},
                                             {"id": 3, "speed": True}, {"id": 4, "speed": "fast"}, 5]}
    assert context(answered, "L1") == {"leaf": "L1", "line_rate_gbit_s": {"0": 200.0}, "product": "A2"}
    assert context("text") == context({"devices": 5, "product": {}}) == {"leaf": None, "line_rate_gbit_s": {}, "product": None}
