# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.hccn.cluster.plugins.plugin_utils._callbacks.last_screen import LastScreen
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.screen import lines


def test_the_conclusion_of_the_run_and_its_report():
    screen = LastScreen()
    screen.saw("hccn.cluster.conclude", {"lines": ["Result: good. 1 host: 1 good."]})
    screen.saw("hccn.cluster.report", {"path": "/h/reports/r.html"})
    screen.saw("hccn.cluster.report", {"path": "/h/metrics.prom"})
    screen.saw("ansible.builtin.debug", {"lines": ["Result: odd."]})
    assert screen.concluded
    assert screen.lines() == ["Result: good. 1 host: 1 good.", "Report: /h/reports/r.html"]


def test_a_run_that_did_not_come_to_its_conclusion():
    screen = LastScreen()
    screen.saw("hccn.cluster.validate_job", {"hosts": ["n1", "n2", "n3"], "problems": []})
    screen.failed("n1", "Read the NPUs", "no such program")
    screen.failed("n2", "Read the NPUs", "connection refused")
    screen.failed("n3", "Read the NPUs", "rescued")
    found = screen.fallback(["n1", "n2"], {"n1": 1}, {"n2": 1})
    assert not screen.concluded
    assert [line.partition(" -> ")[0] for line in lines(found)] == [
        "Result: failed. 3 hosts: 1 failed, 1 unreachable, 1 good.", "failed n1: Read the NPUs: no such program",
        "failed n2: Ansible did not reach it: connection refused"]


def test_a_job_that_was_refused():
    screen = LastScreen()
    problem = {"cause": "no_hosts", "message": "The pattern 'npuu' matches no host", "hosts": [], "host_count": 0}
    screen.saw("hccn.cluster.validate_job", {"failed": True, "problems": [problem]})
    screen.failed("localhost", "Validate the job", "The pattern 'npuu' matches no host")
    assert lines(screen.fallback(["localhost"], {"localhost": 1}, {})) == [
        "Result: failed.", "failed run: The pattern 'npuu' matches no host -> ansible-inventory --graph"]


def test_a_playbook_that_is_no_job_of_the_collection():
    screen = LastScreen()
    screen.failed("n1", "A task", "it failed")
    assert screen.fallback(["n1"], {"n1": 1}, {}) is None


def test_where_nothing_failed_nothing_is_made_up():
    screen = LastScreen()
    screen.saw("hccn.cluster.validate_job", {"hosts": ["n1"], "problems": []})
    screen.failed("n1", "A task", "its error is ignored")
    assert screen.fallback(["n1"], {}, {}) is None
