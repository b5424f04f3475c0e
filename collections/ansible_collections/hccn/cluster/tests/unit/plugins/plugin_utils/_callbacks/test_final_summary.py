from __future__ import annotations

from ansible_collections.hccn.cluster.plugins.plugin_utils._callbacks.final_summary import FinalSummary
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.screen import lines


def test_the_summary_is_the_conclusion_and_the_report():
    summary = FinalSummary()
    summary.note_result("hccn.cluster.conclude", {"lines": ["Result: good. 1 host: 1 good."]})
    summary.note_result("hccn.cluster.report", {"path": "/h/reports/r.html"})
    summary.note_result("hccn.cluster.report", {"path": "/h/metrics.prom"})
    summary.note_result("ansible.builtin.debug", {"lines": ["Result: odd."]})
    assert summary.concluded
    assert summary.lines() == ["Result: good. 1 host: 1 good.", "Report: /h/reports/r.html"]


def test_a_run_without_a_conclusion_is_concluded_from_statistics():
    summary = FinalSummary()
    summary.note_result("hccn.cluster.validate_job", {"hosts": ["n1", "n2", "n3"], "problems": []})
    summary.note_failure("n1", "Read the NPUs", "no such program")
    summary.note_failure("n2", "Read the NPUs", "connection refused")
    summary.note_failure("n3", "Read the NPUs", "rescued")
    found = summary.fallback(["n1", "n2"], {"n1": 1}, {"n2": 1})
    assert not summary.concluded
    assert [line.partition(" -> ")[0] for line in lines(found)] == [
        "Result: failed. 3 hosts: 1 failed, 1 unreachable, 1 good.", "failed n1: Read the NPUs: no such program",
        "failed n2: Ansible did not reach it: connection refused"]


def test_a_task_that_runs_once_fails_for_the_run():
    summary = FinalSummary()
    summary.note_result("hccn.cluster.validate_job", {"hosts": ["n1", "n2", "n3"], "problems": []})
    summary.note_failure("n1", "Read the NPUs", "rescued")
    summary.note_failure("n1", "Assemble the table", "no addresses", run_once=True)
    summary.note_failure("n2", "Read the NPUs", "connection refused")
    found = summary.fallback(["n1", "n2", "n3"], {"n1": 1}, {"n2": 1})
    assert [line.partition(" -> ")[0] for line in lines(found)] == [
        "Result: failed. 1 host: 1 unreachable.", "failed n2: Ansible did not reach it: connection refused", "failed run: Assemble the table: no addresses"]


def test_a_refused_job_has_its_problems_as_findings():
    summary = FinalSummary()
    problem = {"cause": "no_hosts", "message": "The pattern 'npuu' matches no host", "hosts": [], "host_count": 0}
    summary.note_result("hccn.cluster.validate_job", {"failed": True, "problems": [problem]})
    summary.note_failure("localhost", "Validate the job", "The pattern 'npuu' matches no host")
    assert lines(summary.fallback(["localhost"], {"localhost": 1}, {})) == [
        "Result: failed.", "failed run: The pattern 'npuu' matches no host -> ansible-inventory --graph"]


def test_other_playbooks_have_no_summary():
    summary = FinalSummary()
    summary.note_failure("n1", "A task", "it failed")
    assert summary.fallback(["n1"], {"n1": 1}, {}) is None


def test_a_run_without_failures_has_no_fallback():
    summary = FinalSummary()
    summary.note_result("hccn.cluster.validate_job", {"hosts": ["n1"], "problems": []})
    summary.note_failure("n1", "A task", "its error is ignored")
    assert summary.fallback(["n1"], {}, {}) is None
