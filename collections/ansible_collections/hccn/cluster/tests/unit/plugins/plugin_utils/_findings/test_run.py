from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.screen import line
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.run import of_run

UP = {"devices": [{"id": 0, "link": "up", "errors": []}, {"id": 1, "link": "up", "errors": []}]}
DOWN = {"devices": [{"id": 0, "link": "up", "errors": []}, {"id": 1, "link": "down", "errors": []}]}
LOST = {"unreachable": True, "msg": "connection refused"}


def of(**hosts):
    """Return the findings of ``of_run`` for these variables of hosts."""
    return of_run(list(hosts), lambda host, name: hosts[host].get(name))


def lines_of(run):
    return [line(one).partition(" -> ")[0] for one in run.findings]


def test_without_registered_results_there_are_no_findings():
    assert lines_of(of(n1={}, n2={})) == []


def test_devices_of_each_stage_have_findings():
    run = of(n1={"bring_up_devices": UP}, n2={"bring_up_devices": DOWN, "check_fabric_probe": DOWN})
    assert lines_of(run) == ["failed n2 NPU 1: the link is down"] * 2


def test_the_last_answer_decides_whether_a_host_is_lost():
    assert lines_of(of(n1={"bring_up_probe": UP, "check_fabric_probe": LOST})) == ["failed n1: Ansible did not reach it: connection refused"]
    assert lines_of(of(n1={"bring_up_probe": LOST, "check_fabric_probe": UP})) == []
    assert lines_of(of(n1={"bring_up_probe": LOST, "check_fabric_probe": {"skipped": True}})) == ["failed n1: Ansible did not reach it: connection refused"]
    assert lines_of(of(n1={"bring_up_devices": LOST, "tls_devices": {}})) == ["failed n1: Ansible did not reach it: connection refused"]


def test_a_host_without_the_result_that_the_others_have_was_lost():
    run = of(n1={"bring_up_devices": UP}, n2={})
    assert lines_of(run) == ["failed n2: Ansible did not reach it: it was lost during a task that registers no result"]
    failed = {"bring_up": {"task": "Verify", "msg": "no space left", "code": "", "whole_run": False}}
    assert lines_of(of(n1={"bring_up_devices": UP}, n2={"hccn_failures": failed})) == ["failed n2: Verify: no space left"]


def test_a_failed_run_once_task_is_a_finding_of_the_run():
    failed = {"rank_table": {"task": "Assemble", "msg": "two ranks", "code": "", "whole_run": True}}
    assert lines_of(of(n1={"hccn_failures": failed}, n2={})) == ["failed run: Assemble: two ranks"]


def test_the_fabric_verdict_is_read_from_any_host():
    verdict = {"verdicts": [{"host": "n2", "class": "slow", "message": "slow", "evidence": []}], "components": []}
    run = of(n1={}, n2={"check_fabric_verdict": verdict, "check_fabric_left_out": [{"host": "n2", "device": 3, "code": "device_busy", "message": "pid 7"}]})
    assert (run.classes, lines_of(run)[0]) == ({"n2": "slow"}, "failed n1: Ansible did not reach it: it was lost during a task that registers no result")
    assert "unknown n2 NPU 3: pid 7" in lines_of(run)


@pytest.mark.parametrize(("outcome", "result", "expected"), [
    ({"state": "skipped", "lines": "mpirun is missing"}, {"skipped": True}, ["note cluster: mpirun is missing"]),
    ({"state": "busy", "lines": "n1 is at work"}, None, ["unknown cluster: n1 is at work"]),
    ({"state": "unready", "lines": ["a", "b"]}, None, ["failed cluster: a; b"]),
    ({"state": "measured", "lines": "x"}, {"msg": "mpirun failed", "failed": False}, ["failed cluster: mpirun failed"]),
    ({"state": "measured", "lines": "x"}, {"measurements": []}, []),
    ({"state": "measured", "lines": ["x", "y"]}, {"results": [{"measurements": []}, {"msg": "no table"}], "msg": "All items completed"},
     ["failed cluster: no table"]),
    ({"state": "planned", "lines": "x"}, {"results": [{"skipped": True}], "msg": "All items skipped"}, []),
    ({"state": "planned", "lines": "x"}, {"skipped": True, "msg": "Conditional result was False"}, []),
    (None, {"msg": "whatever"}, []),
])
def test_the_outcome_of_the_collective_is_a_finding(outcome, result, expected):
    assert lines_of(of(n1={"check_collective_outcome": outcome, "check_collective_hccl": result})) == expected


@pytest.mark.parametrize("odd", ["text", 7, [], {"devices": 7}, {"unreachable": "x", "msg": {"a": 1}}])
def test_malformed_answers_raise_nothing(odd):
    names = ["bring_up_devices", "check_fabric_probe", "check_fabric_verdict", "check_fabric_left_out", "rank_table_of_devices", "check_collective_outcome",
             "check_collective_hccl", "hccn_failures"]
    assert of_run(["n1"], lambda host, name: odd if name in names else None).classes == {}


NO_RESULT = "Module result deserialization failed"


def test_a_module_without_result_is_named_by_its_failed_task():
    failure = {"task": "Read the addresses", "msg": NO_RESULT, "last_line": "OSError: [Errno 28]"}
    lost = {"rank_table_npus": {"failed": True, "msg": NO_RESULT}, "hccn_failures": {"rank_table": failure}}
    assert lines_of(of(n1={"rank_table_npus": UP}, n2=lost)) == [
        "failed n2: Read the addresses: Module result deserialization failed: OSError: [Errno 28]"]


def test_a_module_without_result_is_named_if_the_task_did_not_fail():
    assert lines_of(of(n1={"check_fabric_probe": UP}, n2={"check_fabric_probe": {"failed": True, "msg": NO_RESULT}})) == [
        "failed n2: Read the NPUs: Module result deserialization failed"]


def test_a_collective_that_was_not_run_for_busy_npus():
    outcome = {"check_collective_outcome": {"state": "busy", "lines": ["all_reduce: not run, NPUs are at work: n2 NPU 6 (pid 4711)"]}}
    assert [line(one) for one in of(n1=outcome, n2=outcome).findings] == [
        "unknown cluster: all_reduce: not run, NPUs are at work: n2 NPU 6 (pid 4711) -> When the job has ended: ansible-playbook hccn.cluster.check_collective"]
