"""The action fabric_verdict. tests/integration/check_fabric tests the whole."""

from __future__ import annotations

import pytest

from ansible.errors import AnsibleError

from ansible_collections.hccn.cluster.plugins.action import fabric_verdict
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection import packed_result
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.host_classes import Verdict
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import Diagnosis


def test_result_of_a_diagnosis():
    rail = {"kind": "rail", "name": "rail 1", "class": "slow", "certain": True, "hosts": ["n1", "n2"], "message": "rail 1: slow", "evidence": []}
    npu = {"kind": "npu", "name": "n2 NPU 3", "class": "slow", "certain": True, "hosts": ["n2"], "message": "n2: NPU 3 is slow with n1"}
    found = Diagnosis([Verdict("n1", "good", "fine", []), Verdict("n2", "slow", "NPU 3 is slow with n1", ["x"])], {"hosts": 2}, [rail, npu], {"samples": 2})
    result = fabric_verdict._returned(found, "r1")
    moments = {entry.pop("started_at") for entry in result["measurements"]}
    assert len(moments) == 1
    assert result == {
        "changed": False, "run_id": "r1", "coverage": {"hosts": 2}, "components": [rail, npu], "detection_limit": {"samples": 2}, "regressions": [],
        "problems": [], "suspects": ["n2"],
        "verdicts": [{"host": "n1", "class": "good", "certainty": "certain", "message": "fine", "evidence": []},
                     {"host": "n2", "class": "slow", "certainty": "certain", "message": "NPU 3 is slow with n1", "evidence": ["x"]}],
        "hosts": {"good": ["n1"], "slow": ["n2"], "failed": [], "busy": [], "unreachable": [], "not_measured": []},
        "measurements": [
            {"schema": "hccn.cluster/measurement/1", "id": "r1/verdict/n1", "kind": "verdict", "status": "ok", "source": {"host": "n1"},
             "samples": [{"class": "good", "certainty": "certain", "message": "fine", "evidence": []}]},
            {"schema": "hccn.cluster/measurement/1", "id": "r1/verdict/n2", "kind": "verdict", "status": "failed", "source": {"host": "n2"},
             "samples": [{"class": "slow", "certainty": "certain", "message": "NPU 3 is slow with n1", "evidence": ["x"]}]},
            {"schema": "hccn.cluster/measurement/1", "id": "r1/verdict/fabric/1", "kind": "verdict", "status": "failed", "hosts": ["n1", "n2"],
             "samples": [rail]},
        ],
    }


@pytest.mark.parametrize("given, results, run_id", [
    ("r9", {"n1": {"run_id": "r1"}}, "r9"),
    (None, {"n1": {"run_id": "other"}, "n2": {"run_id": "r1"}, "n3": {"run_id": "r1"}, "n4": {"run_id": ["r2"]}, "n5": 5}, "r1"),
    (None, {"n1": None, "n2": {}, "n3": {"run_id": "r1"}}, "r1"),
    (None, {}, "unnamed"),
])
def test_the_run_id_defaults_to_that_of_the_results(given, results, run_id):
    assert fabric_verdict._run_id(given, results) == run_id


def test_results_are_read_from_the_hosts_variables():
    options = {"nodes": None, "hosts": ["n1", "n2", "n3"], "register_name": ["rdma"], "start_register_name": []}
    hostvars = {"n1": {"rdma": {"state": "finished"}}, "n2": {"rdma": "nonsense"}}
    assert fabric_verdict.ActionModule._results(options, {"hostvars": hostvars}) == {"n1": {"state": "finished"}, "n2": "nonsense", "n3": None}


def test_packed_results_are_unpacked():
    result = {"state": "finished", "measurements": [{"id": "r/n1-n2/forward/0", "status": "ok"}]}
    options = {"nodes": None, "hosts": ["n1"], "register_name": ["check_fabric_result"], "start_register_name": []}
    kept = packed_result.to_register(result, "check_fabric_result")
    assert sorted(kept) == ["hccn_packed", "state"]
    assert fabric_verdict.ActionModule._results(options, {"hostvars": {"n1": {"check_fabric_result": kept}}}) == {"n1": result}


def test_a_failed_start_is_the_reason():
    options = {"nodes": None, "hosts": ["n1", "n2"], "register_name": ["rdma"], "start_register_name": ["start"]}
    hostvars = {"n1": {"start": {"msg": "port in use", "measurements": []}, "rdma": {"state": "unknown"}},
                "n2": {"start": {"run_id": "r1"}, "rdma": {"state": "finished"}}}
    assert fabric_verdict.ActionModule._results(options, {"hostvars": hostvars}) == {
        "n1": {"msg": "port in use", "measurements": [], "failed": True}, "n2": {"state": "finished"}}


def test_a_host_lost_before_the_measurement_is_unreachable():
    """Failures of hosts that answered are not failures of the connection."""
    options = {"nodes": None, "hosts": ["n1", "n2", "n3"], "register_name": ["rdma"], "start_register_name": "start", "probe_register_name": "probe"}
    lost = {"unreachable": True, "msg": "no answer within 30 s"}
    hostvars = {"n1": {"probe": lost}, "n2": {"probe": {"failed": True, "msg": "no driver"}}, "n3": {"probe": lost, "rdma": {"state": "finished"}}}
    assert fabric_verdict.ActionModule._results(options, {"hostvars": hostvars}) == {"n1": lost, "n2": None, "n3": {"state": "finished"}}


def test_results_may_be_passed_as_nodes():
    assert fabric_verdict.ActionModule._results({"nodes": {"n1": {}}}, {}) == {"n1": {}}


def test_an_unreadable_variable_is_a_problem_of_its_host():
    class Broken(dict):
        def get(self, name, default=None):
            raise AnsibleError("undefined")

    options = {"nodes": None, "hosts": ["n1", "n2"], "register_name": ["rdma"], "start_register_name": []}
    found = fabric_verdict.ActionModule._results(options, {"hostvars": {"n1": Broken(), "n2": {"rdma": {"state": "finished"}}}})
    assert found == {"n1": "the variable rdma cannot be read: undefined", "n2": {"state": "finished"}}


def test_measurements_of_a_confirmation_run_are_added():
    options = {"nodes": None, "hosts": ["n1", "n2", "n3"], "register_name": ["first", "second"], "start_register_name": []}
    hostvars = {"n1": {"first": {"state": "finished", "measurements": [1]}, "second": {"measurements": [2]}},
                "n2": {"first": {"state": "finished", "measurements": [3]}, "second": {"skipped": True}},
                "n3": {"second": {"measurements": [4]}}}
    assert fabric_verdict.ActionModule._results(options, {"hostvars": hostvars}) == {
        "n1": {"state": "finished", "measurements": [1, 2]}, "n2": {"state": "finished", "measurements": [3]}, "n3": None}


def test_a_confirmation_run_blocked_by_another_run_blames_no_host():
    """The listener of the other run answers the partners of n2; n2 itself reports that it was in use."""
    pair = {"kind": "rdma", "status": "failed", "source": {"host": "n1"}, "target": {"host": "n2"}, "error": {"code": "wrong_run"}}
    good = {**pair, "status": "ok", "target": {"host": "n3"}}
    options = {"nodes": None, "hosts": ["n1", "n2"], "register_name": ["first", "second"], "start_register_name": ["start", "again"]}
    hostvars = {
        "n1": {"start": {"state": "running"}, "again": {"state": "running"}, "first": {"state": "finished", "measurements": [1]},
               "second": {"state": "finished", "measurements": [pair, good]}},
        "n2": {"start": {"state": "running"}, "again": {"msg": "in use", "error": {"code": "host_in_use"}, "measurements": []},
               "first": {"state": "finished", "measurements": [2]}, "second": {"skipped": True}}}
    assert fabric_verdict.ActionModule._results(options, {"hostvars": hostvars}) == {
        "n1": {"state": "finished", "measurements": [1, good]}, "n2": {"state": "finished", "measurements": [2]}}
