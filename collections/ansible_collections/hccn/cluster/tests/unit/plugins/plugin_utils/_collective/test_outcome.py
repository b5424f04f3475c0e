from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.collective_outcome import FilterModule

collective_outcome = FilterModule().filters()["collective_outcome"]

MEASURED = "all_reduce over 2 hosts, 16 ranks: ok, at 67108864 bytes 2630.2 us, 47.84 GB/s bus bandwidth"


def record(group=None, status="ok", busbw=47.8401, **more):
    samples = [{"size_bytes": 8192, "time_us": 30.0, "busbw_gbyte_s": 1.0}, {"size_bytes": 67108864, "time_us": 2630.23, "busbw_gbyte_s": busbw}]
    context = {} if group is None else {"context": {"group": group}}
    return {"kind": "collective", "status": status, "hosts": ["n1", "n2"], "ranks": 16, "samples": samples, **context, **more}


def found(*records, fail_on="slow", run=None, **result):
    made = collective_outcome({"measurements": list(records), **result}, "all_reduce", 2, fail_on=fail_on, **(run or {}))
    return made["state"], made["lines"], made["fails"]


def test_a_measured_collective_has_one_line():
    assert found(record()) == ("measured", MEASURED, False)
    assert found({"kind": "finding"}, record("all")) == ("measured", MEASURED, False)


def test_groups_have_separate_lines():
    records = [record("all"), record("2 hosts", busbw=48.5), record("bisection", busbw=1.0), record("device 0", busbw=5)]
    assert found(*records) == ("measured", [MEASURED, "2 hosts: 48.5 GB/s", "device 0: 5 GB/s"], False)


@pytest.mark.parametrize("fail_on, fails", [("never", False), ("failed", False), ("slow", True), ("any", True)])
def test_a_slow_collective_lists_its_findings(fail_on, fails):
    findings = [{"message": "n1 is slow"}, {"message": "n2, too"}]
    assert found(record(), fail_on=fail_on, slow=True, findings=findings, limit_gbyte_s=90.0) == (
        "measured", [MEASURED, "Slow: n1 is slow; n2, too"], fails)


@pytest.mark.parametrize("hint, line", [("", "Slow: below 90000.5 GB/s."), ("Not searched further: it is said so", "Slow: below 90000.5 GB/s. "
                                                                            "Not searched further: it is said so")])
def test_a_slow_collective_without_a_finding_has_the_hint(hint, line):
    assert found(record(), run={"slow_hint": hint}, slow=True, findings=[], limit_gbyte_s=90000.5)[1] == [MEASURED, line]


@pytest.mark.parametrize("fail_on, fails", [("never", False), ("failed", True), ("slow", True), ("any", True)])
def test_a_failure_has_its_message_and_the_problem_of_the_job(fail_on, fails):
    failed = record(status="failed", error={"code": "timed_out", "message": "x"})
    assert found(record(), failed, fail_on=fail_on, msg="it took too long.", failed=True) == (
        "measured", "all_reduce: failed. it took too long.", fails)
    assert found(fail_on=fail_on, run={"job_problem": "The job j is Aborted."}, msg="no table") == (
        "measured", "all_reduce: failed. no table The job j is Aborted.", fails)


def test_a_failure_takes_precedence_over_the_run_over_all_hosts():
    slower = record("2 hosts", status="failed", hosts=["n1"], ranks=8)
    assert found(record("all"), slower)[1].startswith("all_reduce over 1 hosts, 8 ranks: failed, at ")


@pytest.mark.parametrize("run, lines, fails", [
    ({"skip_message": "Skipped: mpirun is not installed on n1."}, "Skipped: mpirun is not installed on n1.", False),
    ({"skip_message": ""}, "all_reduce: failed. mpirun is missing", True),
])
def test_a_missing_tool_can_be_skipped(run, lines, fails):
    missing = record(status="not_run", error={"code": "tool_missing"}, samples=[])
    assert found(missing, run=run, msg="mpirun is missing") == ("skipped" if run["skip_message"] else "measured", lines, fails)
    other = record(status="not_run", error={"code": "ssh_refused"}, samples=[])
    assert found(other, run=run, msg="refused") == ("measured", "all_reduce: failed. refused", True)


@pytest.mark.parametrize("fail_on", ["never", "failed", "slow", "any"])
def test_busy_and_unready_hosts_prevent_the_collective(fail_on):
    busy, unready = ["n1 NPU 0 (pid 5)", "n2 NPU 1 (processes unknown)"], ["n1: lost", "n2: gone"]
    fails = fail_on != "never"
    assert found(fail_on=fail_on, run={"busy": busy}, skipped=True) == (
        "busy", "all_reduce: not run, NPUs are at work: n1 NPU 0 (pid 5), n2 NPU 1 (processes unknown)", fails)
    assert found(fail_on=fail_on, run={"busy": ["n2 GPUs (pid 11, 12)"]}, skipped=True) == (
        "busy", "all_reduce: not run, GPUs are at work: n2 GPUs (pid 11, 12)", fails)
    assert found(fail_on=fail_on, run={"busy": busy, "unready": unready, "check_mode": True}) == (
        "unready", "all_reduce: not run, a host is not ready: n1: lost; n2: gone", fails)


def test_check_mode_only_plans():
    assert found(run={"check_mode": True}) == ("planned", "all_reduce would be run over 2 hosts.", False)
    assert collective_outcome({}, "all_gather", 3) == {"state": "measured", "lines": "all_gather would be run over 3 hosts.", "fails": False}


@pytest.mark.parametrize("result", [
    {"measurements": 5}, {"measurements": [record(samples=[])]}, {"measurements": [record(samples=5)]}, {"measurements": [record(hosts=None)]},
    {"measurements": [record(samples=[{"size_bytes": 1, "time_us": "x", "busbw_gbyte_s": None}])]}, {"measurements": [record()], "slow": True},
    {"measurements": [record()], "slow": True, "findings": ["x"]},
    {"measurements": [record(), {"kind": "collective", "status": "ok", "context": {"group": "x"}}]},
])
def test_an_invalid_result_is_an_error(result):
    with pytest.raises(AnsibleFilterError, match="collective_outcome: the result of the collective cannot be read"):
        collective_outcome(result, "all_reduce", 2)


def test_an_unknown_option_is_an_error():
    with pytest.raises(AnsibleFilterError, match="collective_outcome: .*unexpected keyword argument 'colour'"):
        collective_outcome({}, "all_reduce", 2, colour="red")


def test_the_outcome_of_several_operations_has_a_line_for_each():
    calls = [{"ansible_loop_var": "operation", "operation": name, **more} for name, more in (
        ("all_reduce", {"measurements": [record()]}), ("all_gather", {"msg": "no table", "measurements": [record(status="failed")]}))]
    made = collective_outcome({"results": calls, "msg": "All items completed"}, "all_reduce, all_gather", 2)
    assert made == {"state": "measured", "lines": [MEASURED, "all_gather: failed. no table"], "fails": True}


def test_operations_that_were_all_skipped_are_named_once():
    skipped = {"results": [{"skipped": True}, {"skipped": True}], "skipped": True, "msg": "All items skipped"}
    assert collective_outcome(skipped, "all_reduce, all_gather", 2, busy=["n2 NPU 6 (pid 4711)"]) == {
        "state": "busy", "lines": "all_reduce, all_gather: not run, NPUs are at work: n2 NPU 6 (pid 4711)", "fails": True}
