"""The checks before a switch."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import precheck
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

JOB = "0d3c2b1a-1111-4222-8333-444455556666"


class Api:
    """A Kubernetes API with these PodGroups and pods; instead of pods it may have an error."""

    def __init__(self, *groups, pods=()):
        self._objects = {"podgroups": groups, "pods": pods}
        self.asked = []

    def items(self, group, plural, namespace="", labels=""):
        self.asked.append((group, plural, namespace, labels))
        if isinstance(self._objects[plural], Exception):
            raise self._objects[plural]
        return list(self._objects[plural])


def pod_group(labels, phase="Running", uid=JOB):
    return {"metadata": {"name": "llama-x", "namespace": "train", "labels": labels, "ownerReferences": [{"uid": uid, "controller": True}]},
            "status": {"phase": phase}}


def pod(number=0, env=None, args="", phase="Running", uid=JOB, framework=None, ports=(9601,)):
    return {"metadata": {"name": "llama-%d" % number, "namespace": "train", "labels": {"framework": framework} if framework else {},
                         "ownerReferences": [{"uid": "group", "controller": False}, {"uid": uid, "controller": True}]},
            "spec": {"containers": [{"name": "ascend", "args": [args], "env": [{"name": name, "value": value} for name, value in (env or {}).items()],
                                     "ports": [{"containerPort": port} for port in ports]}]},
            "status": {"phase": phase}}


ON = {"process-recover-enable": "on"}
MINDSPORE = {"TASKD_PROCESS_ENABLE": "on", "PROCESS_RECOVER": "on", "MINDIO_FOR_MINDSPORE": "1", "MS_ENABLE_TFT": "{TTP:1,TSP:1}"}
OF_PODS = ["the framework started MindIO when it was initialised", "TASKD_PROCESS_ENABLE=on was set before TaskD Manager started"]


def run_prechecks(nics, nodes, api, products=None, namespace="train"):
    def reach():
        if isinstance(api, Exception):
            raise api
        return api

    return precheck.run(nics, nodes, products or {}, reach, namespace, JOB)


def npus(product="A3", **links):
    return {"product": product, "devices": [{"id": int(name[1:]), "link": link} for name, link in links.items()]}


def test_all_preconditions_are_met():
    pods = [pod(1, MINDSPORE), pod(0, MINDSPORE), pod(2, {"TASKD_PROCESS_ENABLE": "off"}, uid="another")]
    api = Api(pod_group({}, uid="another"), pod_group(ON), pods=pods)
    found = run_prechecks({"node-1": [0, 8]}, {"node-1": npus(d0="up", d8="up", d3="down")}, api)
    assert found.problems == []
    assert found.checked == [
        "node node-1 has NPUs of the product A3", "the links of NPU 0, 8 on node node-1 are up", "process-level recovery is on (PodGroup train/llama-x)",
        "the job is running (PodGroup train/llama-x)", "2 of 2 pods of the job are running", "TASKD_PROCESS_ENABLE is on in the specs of 2 pods",
        "MindIO is enabled in the specs of 2 pods (MS_ENABLE_TFT with TSP:1)", "port 9601 of TaskD is declared in the specs of 2 pods"]
    assert found.unchecked == [
        "training iterates normally (past its first iterations, not saving a checkpoint)",
        "the framework reports start and end of each optimizer update and suspends at the end of an iteration (MindSpeed-LLM does; others must)"]
    assert api.asked == [("scheduling.volcano.sh/v1beta1", "podgroups", "train", ""), ("v1", "pods", "train", "")]


@pytest.mark.parametrize("product, declared, message, hint", [
    ("A2", None, "node node-1 has NPUs of the product A2 according to npu-smi: ClusterD switches the links of A3 only", "exclude this node"),
    ("A2", "A3", "node node-1 has NPUs of the product A2 according to npu-smi: ClusterD switches the links of A3 only", "exclude this node"),
    ("950", None, "node node-1 has NPUs of the product 950 according to npu-smi: ClusterD switches the links of A3 only", "exclude this node"),
    (None, "910A", "node node-1 has NPUs of the product 910A according to the inventory: ClusterD switches the links of A3 only",
     "exclude this node, or correct validate_product of its host"),
    ("A3", "A2", "node node-1 has NPUs of the product A2 according to the inventory: ClusterD switches the links of A3 only",
     "exclude this node, or correct validate_product of its host"),
])
def test_other_products_are_refused_before_the_links_are_judged(product, declared, message, hint):
    found = run_prechecks({"node-1": [0]}, {"node-1": npus(product, d0="down")}, Api(), {"node-1": declared, "node-2": "A2"})
    first = found.problems[0]
    assert (first.rule, first.severity, first.host, first.message, first.hint) == ("product", "error", "node-1", message, hint)
    assert [problem.rule for problem in found.problems] == ["product", "link"]


def test_node_of_unknown_product_is_refused():
    found = run_prechecks({"node-1": [0, 1]}, {"node-1": npus(None, d0="up", d1=None)}, Api())
    assert [(problem.rule, problem.host, problem.message, problem.hint) for problem in found.problems][1:] == [
        ("product", "node-1", "the product of node node-1 is unknown: ClusterD switches the links of A3 only",
         "make npu-smi work on its host, or declare its product (validate_product: A3)")]
    assert found.problems[0].rule == "link"


def test_declared_product_is_used_if_no_tool_reports_it():
    found = run_prechecks({"node-1": [0], "node-2": [0]}, {"node-1": npus(None, d0="up")}, Api(), {"node-1": "A3", "node-2": "A3"})
    assert found.problems == []
    assert found.checked == ["node node-1 has NPUs of the product A3", "node node-2 has NPUs of the product A3", "the links of NPU 0 on node node-1 are up"]
    assert run_prechecks({"node-1": [0]}, {}, Api()).unchecked[0] == "the product of node node-1 is A3: neither nodes nor products has it"


def test_pods_that_disable_a_precondition_are_problems():
    pods = [pod(0, dict(MINDSPORE, TASKD_PROCESS_ENABLE="off")), pod(1, dict(MINDSPORE, PROCESS_RECOVER="off"), phase="Pending"),
            *(pod(number, dict(MINDSPORE, TASKD_PROCESS_ENABLE="0")) for number in range(2, 6))]
    found = run_prechecks({}, {}, Api(pod_group(ON), pods=pods))
    assert [(problem.rule, problem.where, problem.message, problem.hint) for problem in found.problems] == [
        ("job_running", "train/llama-1", "the pod train/llama-1 of the job is Pending, not running", "switch while the job is training"),
        ("process_recovery", "train/llama-1",
         "PROCESS_RECOVER is 'off' in the spec of the pod train/llama-1: its process started without process-level recovery",
         "start the job with PROCESS_RECOVER=on"),
        ("taskd", "train/llama-0", "TASKD_PROCESS_ENABLE is 'off' in the spec of the pods train/llama-0, train/llama-2, train/llama-3 and 2 more: "
         "TaskD does not take part in a switch", "start the job with TASKD_PROCESS_ENABLE=on")]


@pytest.mark.parametrize("env, framework, checked, unchecked", [
    ({}, None, [], ["TASKD_PROCESS_ENABLE=on was set before TaskD Manager started: the spec of the pod train/llama-0 does not set it, so only a start script "
                    "may; MindSpore requires it",
                    "the framework started MindIO when it was initialised: the spec of the pod train/llama-0 has no HIGH_AVAILABILITY or "
                    "--enable-high-availability, so only a start script may",
                    "port 9601 of TaskD: the spec of the pod train/llama-0 does not declare it"]),
    ({"MS_ENABLE_TFT": "{TTP:1}", "TASKD_PROCESS_ENABLE": "on"}, None, ["TASKD_PROCESS_ENABLE is on in the spec of 1 pod"], [
        "the framework started MindIO when it was initialised: the spec of the pod train/llama-0 has no MS_ENABLE_TFT with TSP:1, so only a start script may",
        "port 9601 of TaskD: the spec of the pod train/llama-0 does not declare it"]),
    ({"HIGH_AVAILABILITY": "retry"}, "pytorch", ["TASKD_PROCESS_ENABLE is not off in the spec of 1 pod",
                                                 "MindIO is enabled in the spec of 1 pod (HIGH_AVAILABILITY)"],
     ["port 9601 of TaskD: the spec of the pod train/llama-0 does not declare it"]),
])
def test_what_a_start_script_may_set_is_unchecked(env, framework, checked, unchecked):
    found = run_prechecks({}, {}, Api(pod_group(ON), pods=[pod(0, env, framework=framework, ports=())]))
    assert found.problems == []
    assert found.checked[2:] == ["1 of 1 pods of the job is running", *checked]
    assert found.unchecked == unchecked + list(precheck.ALWAYS_UNCHECKED)


def test_pods_are_searched_in_the_namespace_of_the_pod_group():
    api = Api(pod_group(ON), pods=[pod(0, MINDSPORE)])
    assert "TASKD_PROCESS_ENABLE is on in the spec of 1 pod" in run_prechecks({}, {}, api, namespace="").checked
    assert [(plural, namespace) for _group, plural, namespace, _labels in api.asked] == [("podgroups", ""), ("pods", "train")]


def test_pods_that_cannot_be_listed_leave_only_their_checks_open():
    found = run_prechecks({}, {}, Api(pod_group(ON), pods=HccnError("kubernetes_forbidden", "403 pods is forbidden")))
    assert found.checked == ["process-level recovery is on (PodGroup train/llama-x)", "the job is running (PodGroup train/llama-x)"]
    assert found.unchecked[:2] == [text + ": 403 pods is forbidden" for text in OF_PODS]
    found = run_prechecks({}, {}, Api(pod_group(ON), pods=[pod(uid="another"), {}, {"metadata": 3}, {"metadata": {"ownerReferences": [1]}}]))
    assert found.unchecked[:2] == ["%s: no pod belongs to %s" % (text, JOB) for text in OF_PODS]


def test_unmet_preconditions_are_problems():
    api = Api(pod_group({"process-recover-enable": "pause"}, "Pending"))
    found = run_prechecks({"node-1": [0, 1, 2, 3]}, {"node-1": npus(d0="down", d1=None, d2="up")}, api)
    assert [(problem.rule, problem.device, problem.message) for problem in found.problems] == [
        ("link", 0, "the link of NPU 0 on node node-1 is DOWN: the switch would fail"),
        ("link", 1, "the link of NPU 1 on node node-1 could not be read"),
        ("link", 3, "the host of node node-1 has no NPU 3"),
        ("process_recovery", None, "process-level recovery of the job is off: the PodGroup train/llama-x has the label process-recover-enable=pause"),
        ("job_running", None, "the job is not running: its PodGroup train/llama-x is Pending")]
    assert found.checked == ["node node-1 has NPUs of the product A3"]


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
    assert found.checked[:2] == ["node node-1 has NPUs of the product A3", "the links of NPU 0 on node node-1 are up"]


def test_unchecked_preconditions_are_listed():
    found = run_prechecks({"node-1": [0]}, {}, HccnError("no_kubernetes", "no kubeconfig"))
    assert found.problems == [] and found.checked == []
    assert found.unchecked[:4] == ["the product of node node-1 is A3: neither nodes nor products has it",
                                   "the links of NPU 0 on node node-1: nodes has no result of device_info for it",
                                   "process-level recovery of the job: no kubeconfig", "the job is running: no kubeconfig"]
    assert found.unchecked[4:6] == [text + ": no kubeconfig" for text in OF_PODS]
    assert run_prechecks({}, {}, Api()).unchecked[:2] == ["process-level recovery of the job: no PodGroup belongs to %s" % JOB,
                                                          "the job is running: no PodGroup belongs to %s" % JOB]
