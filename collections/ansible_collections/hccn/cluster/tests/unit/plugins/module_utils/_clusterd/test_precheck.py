"""The checks before a switch."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import precheck
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

JOB = "0d3c2b1a-1111-4222-8333-444455556666"


class Api:
    """A Kubernetes API with these PodGroups."""

    def __init__(self, *groups):
        self._groups = groups
        self.asked = []

    def items(self, group, plural, namespace="", labels=""):
        self.asked.append((group, plural, namespace, labels))
        return list(self._groups)


def pod_group(labels, phase="Running", uid=JOB):
    return {"metadata": {"name": "llama-x", "namespace": "train", "labels": labels, "ownerReferences": [{"uid": uid, "controller": True}]},
            "status": {"phase": phase}}


def run_prechecks(nics, nodes, api):
    def reach():
        if isinstance(api, Exception):
            raise api
        return api

    return precheck.run(nics, nodes, reach, "train", JOB)


def npus(**links):
    return {"devices": [{"id": int(name[1:]), "link": link} for name, link in links.items()]}


def test_all_preconditions_are_met():
    api = Api(pod_group({}, uid="another"), pod_group({"process-recover-enable": "on"}))
    found = run_prechecks({"node-1": [0, 8]}, {"node-1": npus(d0="up", d8="up", d3="down")}, api)
    assert found.problems == []
    assert found.checked == ["the links of NPU 0, 8 on node node-1 are up", "process-level recovery is on (PodGroup train/llama-x)",
                             "the job is running (PodGroup train/llama-x)"]
    assert found.unchecked == list(precheck.ALWAYS_UNCHECKED)
    assert api.asked == [("scheduling.volcano.sh/v1beta1", "podgroups", "train", "")]


def test_unmet_preconditions_are_problems():
    api = Api(pod_group({"process-recover-enable": "pause"}, "Pending"))
    found = run_prechecks({"node-1": [0, 1, 2, 3]}, {"node-1": npus(d0="down", d1=None, d2="up")}, api)
    assert [(problem.rule, problem.device, problem.message) for problem in found.problems] == [
        ("link", 0, "the link of NPU 0 on node node-1 is DOWN: the switch would fail"),
        ("link", 1, "the link of NPU 1 on node node-1 could not be read"),
        ("link", 3, "the host of node node-1 has no NPU 3"),
        ("process_recovery", None, "process-level recovery of the job is off: the PodGroup train/llama-x has the label process-recover-enable=pause"),
        ("job_running", None, "the job is not running: its PodGroup train/llama-x is Pending")]
    assert found.checked == []


def test_missing_recovery_label_is_a_problem():
    found = run_prechecks({}, {}, Api(pod_group(None)))
    assert [problem.message for problem in found.problems] == [
        "process-level recovery of the job is off: the PodGroup train/llama-x has no label process-recover-enable"]


@pytest.mark.parametrize("result, why", [
    ({"unreachable": True, "msg": "Data could not be sent to remote host.\nMake sure it can be reached"}, "Data could not be sent to remote host."),
    ({"failed": True}, "its host was lost"),
])
def test_failed_result_or_lost_host_is_a_problem(result, why):
    found = run_prechecks({"node-1": [0], "node-2": [0, 8]}, {"node-1": npus(d0="up"), "node-2": result}, Api(pod_group({"process-recover-enable": "on"})))
    assert [(problem.rule, problem.host, problem.message) for problem in found.problems] == [
        ("link", "node-2", "the links of NPU 0, 8 on node node-2 could not be read: " + why)]
    assert found.checked[0] == "the links of NPU 0 on node node-1 are up"


def test_unchecked_preconditions_are_listed():
    found = run_prechecks({"node-1": [0]}, {}, HccnError("no_kubernetes", "no kubeconfig"))
    assert found.problems == [] and found.checked == []
    assert found.unchecked[:3] == ["the links of NPU 0 on node node-1: nodes has no result of device_info for it",
                                   "process-level recovery of the job: no kubeconfig", "the job is running: no kubeconfig"]
    assert run_prechecks({}, {}, Api()).unchecked[:2] == ["process-level recovery of the job: no PodGroup belongs to %s" % JOB,
                                                          "the job is running: no PodGroup belongs to %s" % JOB]
