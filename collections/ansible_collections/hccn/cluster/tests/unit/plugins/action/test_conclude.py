"""The result of the action. The findings are tested in plugin_utils/_findings."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.hccn.cluster.plugins.action.conclude import ActionModule

DOWN = {"devices": [{"id": 5, "link": "down", "errors": []}]}


class Concludes(ActionModule):
    """The action without Ansible."""

    def __init__(self, **options):
        self._options = {"fail_on": "slow", "slices_of": None, "within_minutes": 360.0, **options}
        self._task = SimpleNamespace(check_mode=False)

    def validate_argument_spec(self, *_arguments, **_more):
        return None, self._options


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    monkeypatch.setattr("ansible.plugins.action.ActionBase.run", lambda self, tmp=None, task_vars=None: {})


def test_findings_classes_and_records_are_returned():
    variables = {"npu3": {"bring_up_devices": DOWN}, "npu4": {"bring_up_devices": {"devices": []}}}
    found = Concludes(hosts=["npu3", "npu4"]).run(task_vars={"hostvars": variables})
    assert (found["result"], found["fails"], found["counts"]) == ("failed", True, {"failed": 1, "good": 1})
    assert found["hosts"] == {"failed": ["npu3"], "good": ["npu4"]}
    assert found["lines"] == ["Result: failed. 2 hosts: 1 failed, 1 good.", "failed npu3 NPU 5: the link is down -> On npu3: hccn_tool -i 5 -optical -g"]
    assert found["message"] == found["lines"][0]
    assert [(record["kind"], record["id"], record["status"]) for record in found["measurements"]] == [
        ("finding", "conclusion/finding/1", "failed"), ("conclusion", "conclusion/run", "failed")]


def test_fail_on_never_does_not_fail():
    found = Concludes(hosts=["npu3"], fail_on="never").run(task_vars={"hostvars": {"npu3": {"bring_up_devices": DOWN}}})
    assert (found["result"], found["fails"]) == ("failed", False)


def test_a_host_outside_the_inventory_has_no_results():
    assert Concludes(hosts=["gone"]).run(task_vars={"hostvars": {}})["counts"] == {"good": 1}


def test_slices_are_concluded_from_the_history_only(monkeypatch, tmp_path):
    monkeypatch.setenv("HCCN_RESULTS_DIR", str(tmp_path))
    found = Concludes(hosts=["npu3"], slices_of="bring_up").run(task_vars={"hostvars": {"npu3": {"bring_up_devices": DOWN}}})
    assert (found["result"], found["runs"], found["hosts"]) == ("not_measured", [], {"not_measured": ["npu3"]})
    assert found["lines"][1].startswith("unknown npu3: no run of bring_up since ")
    assert found["lines"][1].endswith(" UTC concluded it -> ansible-playbook hccn.cluster.bring_up -e hccn_hosts=npu3")


def test_a_check_with_a_tool_of_the_hosts_speaks_of_ports():
    component = {"kind": "npu", "name": "gpu1 NPU 0", "class": "slow", "message": "gpu1: NPU 0 is slow", "hosts": ["gpu1"],
                 "devices": [{"host": "gpu1", "device": 0}]}
    slow = {"verdicts": [{"host": "gpu1", "class": "slow", "message": "NPU 0 is slow"}], "components": [component]}
    found = Concludes(hosts=["gpu1"]).run(task_vars={"hostvars": {"gpu1": {"check_fabric_verdict": slow, "check_fabric_tools": {"tools": []}}}})
    assert found["lines"] == ["Result: slow. 1 host: 1 slow.", "slow gpu1 port 0: it is slow -> On gpu1: ip -s link"]
