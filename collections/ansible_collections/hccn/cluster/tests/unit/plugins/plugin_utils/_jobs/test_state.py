from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.filter.job_state import job_state
from ansible_collections.hccn.cluster.plugins.filter.pod_states import pod_states
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs.state import ENDS

PLANNED = {"name": "check-1", "replicas": 2}


def pod(name, role="worker", node=None, phase=None, conditions=None):
    status = {key: value for key, value in (("phase", phase), ("conditions", conditions)) if value is not None}
    return {"metadata": {"name": name, "labels": {"hccn.cluster/role": role}}, "spec": {"nodeName": node} if node else {}, "status": status}


def found(*pods, job=None, nodes=()):
    return job_state({"resources": list(pods)}, {} if job is None else {"resources": [job]}, PLANNED, nodes)


def test_workers_are_ordered_by_their_number():
    made = found(pod("check-1-worker-10", node="c"), pod("check-1-worker-2", node="a"), pod("check-1-launcher", "launcher"))
    assert made["workers"] == [{"name": "check-1-worker-2", "node": "a"}, {"name": "check-1-worker-10", "node": "c"}]
    assert made["placed"] is True


def test_deleted_workers_are_derived_from_the_nodes():
    assert found(pod("w-0", node="x"))["workers"] == [{"name": "worker-0", "node": "worker-0"}, {"name": "worker-1", "node": "worker-1"}]
    assert found(nodes=["a"])["workers"] == [{"name": "worker-0", "node": "a"}, {"name": "worker-1", "node": "worker-1"}]


@pytest.mark.parametrize("pods, placed", [
    ((), False),
    ((pod("w-0", node="a"), pod("w-1")), False),
    ((pod("w-0", node="a"), pod("w-1", node="b")), True),
    ((pod("l", "launcher", phase="Running"),), False),
    ((pod("l", "launcher", phase="Succeeded"),), True),
    ((pod("l", "launcher", phase="Failed"),), True),
    # The launcher may have been started again.
    ((pod("l-1", "launcher", phase="Failed"), pod("l-2", "launcher")), False),
])
def test_a_job_is_placed_when_all_pods_have_a_node(pods, placed):
    assert found(*pods)["placed"] is placed


@pytest.mark.parametrize("status, phase", [
    ({"state": {"phase": "Running"}}, "Running"),
    ({"state": {"phase": "Completed"}}, "Completed"),
    ({"conditions": [{"type": "Created", "status": "True"}, {"type": "Failed", "status": "False"}, {"type": "Succeeded", "status": "True"}]}, "Succeeded"),
    ({"conditions": [{"type": "Running", "status": "True"}]}, "Pending"),
    ({"state": {"phase": ""}, "conditions": [{"type": "Failed", "status": "True"}]}, "Failed"),
    ({}, "Pending"),
])
def test_the_phase_of_a_job(status, phase):
    made = found(job={"status": status})
    assert (made["phase"], made["ended"]) == (phase, phase in ENDS)


def test_a_job_that_did_not_complete_has_a_problem():
    placed = (pod("w-0", node="a"), pod("w-1", node="b"))
    waits = [{"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}, {"type": "Ready", "status": "True", "message": "x"},
             {"type": "Other", "status": "False"}]
    assert found(*placed, job={"status": {"state": {"phase": "Completed"}}})["problem"] == ""
    assert found(*placed, job={"status": {"state": {"phase": "Aborted"}}})["problem"] == "The job check-1 is Aborted."
    assert found(pod("w-0", conditions=waits), pod("w-1", conditions=[*waits, {"status": "Unknown", "message": "later"}]))["problem"] == (
        "The job check-1 is Pending, its pods were not scheduled: 0/2 nodes are available; later.")
    assert found()["problem"] == "The job check-1 is Pending, its pods were not scheduled: no reason given."


@pytest.mark.parametrize("odd", [{}, {"failed": True, "msg": "x"}, {"resources": None}, {"resources": ["x", {}, {"metadata": None, "status": 5, "spec": []}]}])
def test_a_malformed_answer_is_tolerated(odd):
    assert job_state(odd, odd, PLANNED) == {
        "placed": False, "phase": "Pending", "ended": False,
        "workers": [{"name": "worker-0", "node": "worker-0"}, {"name": "worker-1", "node": "worker-1"}],
        "problem": "The job check-1 is Pending, its pods were not scheduled: no reason given."}


def test_the_state_of_the_pod_of_each_host():
    running = {"metadata": {"name": "fabric-a"}, "status": {"phase": "Running", "podIP": "10.1.0.7", "conditions": [{"status": "True", "message": "x"}]}}
    waiting = {"metadata": {"name": "fabric-b"}, "status": {"phase": "Pending", "conditions": [{"status": "False", "message": "0/2 nodes are available"}]}}
    assert pod_states([running, waiting], {"n1": "fabric-a", "n2": "fabric-b", "n3": "fabric-c"}) == {
        "n1": {"phase": "Running", "address": "10.1.0.7", "reason": "no reason given"},
        "n2": {"phase": "Pending", "address": "", "reason": "0/2 nodes are available"},
        "n3": {"phase": "Pending", "address": "", "reason": "no reason given"}}


@pytest.mark.parametrize("odd", [None, 5, "text", {}, ["x", {}, {"metadata": None, "status": 5}], [{"metadata": {"name": "fabric-a"}, "status": {}}]])
def test_malformed_pods_are_pending(odd):
    assert pod_states(odd, {"n1": "fabric-a"}) == {"n1": {"phase": "Pending", "address": "", "reason": "no reason given"}}
