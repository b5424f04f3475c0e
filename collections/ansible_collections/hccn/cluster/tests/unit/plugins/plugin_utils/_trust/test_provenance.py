from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.action import fabric_verdict
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import provenance


def rdma(host, target="n2", status="ok", name="r/1/forward/0", **more):
    return {"kind": "rdma", "id": name, "status": status, "source": {"host": host, "device": 0}, "target": {"host": target, "device": 0},
            "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 190.0}], **more}


@pytest.mark.parametrize("record, expected", [
    (rdma("n1"), None), (rdma("n3"), "n3"), ({"kind": "device", "source": {"device": 3}}, None), ({"kind": "device"}, None),
    ({"kind": "collective", "hosts": ["n1", "n3"]}, None), ({"kind": "verdict", "source": {"host": "n1"}}, "the controller"),
    ({"kind": "plan"}, "the controller"), ({"kind": "conclusion", "id": "conclusion/run"}, "the controller"), ({"kind": "conclusion"}, "the controller"),
    ({"kind": "finding", "id": "conclusion/finding/1", "samples": [{"cause": "collective_slow"}]}, "the controller"), ({"kind": "device", "id": 7}, None),
    ({"kind": "device", "id": "conclusion/"}, "the controller"), ({"kind": "finding", "samples": 3}, "the controller"),
    ({"kind": "finding", "id": "r/finding/collective/1", "samples": [{"cause": "collective_slow", "hosts": ["n3"]}]}, None),
    ({"kind": "finding", "samples": [{"cause": "collective_slow"}, {"cause": "failed_host", "hosts": ["n3"]}]}, "the controller"),
    ({"kind": "rdma", "source": {"host": ["n3"]}}, "['n3']"), ({"kind": "ping", "source": "n3"}, None)])
def test_the_owner_of_a_record(record, expected):
    assert provenance.foreign_owner(record, "n1") == expected


def test_a_host_may_return_only_its_own_measurements():
    foreign = {}
    own, row = rdma("n1"), {"kind": "matrix", "source": {"host": "n1", "device": 1}}
    result = {"state": "finished", "measurements": [own, rdma("n3", status="failed"), row, {"kind": "rdma"}, "odd", {"kind": "verdict"}, rdma("n3")]}
    assert provenance.measured_by("n1", result, foreign) == {"state": "finished", "measurements": [own, row]}
    assert foreign == {"n1": {"n3": 2, "no host": 2, "the controller": 1}}
    assert provenance.sentences(foreign) == [
        "n1 returned 5 records in the name of n3, no host, the controller. They are not used: a host may return only its own measurements."]


def test_conclusions_of_hosts_are_dropped():
    foreign = {}
    result = {"measurements": [rdma("n1"), {**rdma("n1"), "id": "conclusion/finding/1"}, {"kind": "conclusion", "id": "conclusion/run"}]}
    assert provenance.measured_by("n1", result, foreign) == {"measurements": [rdma("n1")]}
    assert foreign == {"n1": {"the controller": 2}}


def test_the_conclusion_is_an_action_of_the_controller():
    assert provenance.CONTROLLER_ACTIONS == ("hccn.cluster.conclude", "hccn.cluster.fabric_plan", "hccn.cluster.fabric_verdict")
    assert [provenance.of_conclusion({"id": name}) for name in ("conclusion/run", "conclusion/finding/7", "r/conclusion/1", None)] == [True, True, False, False]


def test_a_valid_result_is_not_changed():
    foreign = {}
    result = {"measurements": [rdma("n1")]}
    assert provenance.measured_by("n1", result, foreign) is result
    assert provenance.measured_by("n1", {"msg": "x"}, foreign) == {"msg": "x"}
    assert foreign == {}


def test_equal_ids_of_different_hosts_do_not_collide():
    results = {host: {"measurements": [rdma(host, target, name="r/7/forward/0")]} for host, target in (("n1", "n2"), ("n3", "n4"))}
    found = diagnose(["n1", "n2", "n3", "n4"], results)
    assert found.coverage["pairs_good"] == 2
    assert found.by_class()["not_measured"] == []


def test_the_action_passes_given_results_on_unfiltered():
    options = {"nodes": {"n1": {"measurements": [rdma("n3")]}}}
    assert fabric_verdict.ActionModule._results(options, {}) == {"n1": {"measurements": [rdma("n3")]}}
