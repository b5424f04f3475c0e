"""The result of the action. The checks are tested in plugin_utils/_roles, and the whole action in tests/integration/validate."""

from __future__ import annotations

import pytest

from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader

from ansible_collections.hccn.cluster.plugins.action.validate_job import ActionModule


class Validates(ActionModule):
    """The action without Ansible."""

    def __init__(self, **options):
        self._options = {"hosts": "npu", "needs": [], "wants": [], "unknown": "error", **options}
        self._loader = DataLoader()
        self._display = self
        self.shown = []

    def display(self, line):
        self.shown.append(line)

    def validate_argument_spec(self, *_arguments, **_more):
        return None, self._options


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    monkeypatch.setattr("ansible.plugins.action.ActionBase.run", lambda self, tmp=None, task_vars=None: {})
    monkeypatch.delenv("HCCN_RESULTS_FILE", raising=False)


def known(**hosts):
    return {"groups": {"all": list(hosts), "npu": list(hosts)}, "hostvars": hosts}


def test_a_valid_job_passes():
    action = Validates()
    assert action.run(task_vars=known(npu1={"tls_state": "enabled"}, npu2={})) == {
        "changed": False, "fail_on": "slow", "hosts": ["npu1", "npu2"], "problems": [], "warnings": []}
    assert action.shown == ["Validated: 2 hosts and the variables of the job."]


def test_all_problems_are_reported_in_one_failure():
    found = Validates().run(task_vars=known(npu1={"tls_sate": "enabled"}, npu2={"tls_state": "on"}))
    assert found == {
        "changed": False, "failed": True, "warnings": [],
        "msg": "npu1: tls_sate is not a variable of the collection. Did you mean tls_state?\n"
               "npu2: tls_state is 'on', but must be one of enabled, disabled",
        "problems": [
            {"cause": "unknown_variable", "message": "tls_sate is not a variable of the collection. Did you mean tls_state?", "hosts": ["npu1"],
             "host_count": 1},
            {"cause": "invalid_variable", "message": "tls_state is 'on', but must be one of enabled, disabled", "hosts": ["npu2"], "host_count": 1}]}


@pytest.mark.parametrize("options, variables", [({"unknown": "warning"}, {}), ({}, {"validate_unknown": "warning"})])
def test_an_unknown_name_can_be_a_warning(options, variables):
    found = Validates(**options).run(task_vars=known(npu1={"tls_sate": "enabled", **variables}))
    assert (found.get("failed"), found["problems"]) == (None, [])
    assert found["warnings"] == ["npu1: tls_sate is not a variable of the collection. Did you mean tls_state?"]


def test_a_mandatory_requirement_is_not_also_a_warning():
    found = Validates(needs=["history"], wants=["history"]).run(task_vars=known(npu1={}))
    assert (found["failed"], [problem["cause"] for problem in found["problems"]], found["warnings"]) == (True, ["requirement_missing"], [])
    found = Validates(wants=["history"]).run(task_vars=known(npu1={}))
    assert found["warnings"][0].startswith("There will be no history and no report: ")
    assert "failed" not in found


def test_a_pattern_without_hosts_fails():
    found = Validates(hosts="npus", wants=["history"]).run(task_vars=known(npu1={}))
    assert (found["failed"], found["warnings"], [problem["cause"] for problem in found["problems"]]) == (True, [], ["no_hosts"])


@pytest.mark.parametrize("hosts", [None, 7, {"a": 1}, ["npu", 7]])
def test_hosts_must_be_a_pattern_or_patterns(hosts):
    with pytest.raises(AnsibleActionFail, match="hosts must be a pattern such as npu, or a list of patterns"):
        Validates(hosts=hosts).run(task_vars=known(npu1={}))
