"""Every rule has a mutation of a correct manifest that violates only this rule."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.filter.mpi_job import mpi_job
from ansible_collections.hccn.cluster.plugins.filter.volcano_job import volcano_job
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import mpi_rules, volcano_rules

Spec = "dict[str, Any]"
LEAST = {"name": "check-1", "namespace": "lab", "image": "registry/hccl:1", "replicas": 2}
VOLCANO = volcano_job(LEAST)["objects"][-1]
MPI = mpi_job(LEAST)["objects"][-1]


def container(spec: Any) -> Any:
    return spec["tasks"][1]["template"]["spec"]["containers"][0]


def setter(*path: Any) -> Callable[[Any], None]:
    """Return a mutation that sets the value at a path; the last part of the path is the value."""
    def change(spec: Any) -> None:
        for part in path[:-2]:
            spec = spec[part]
        spec[path[-2]] = path[-1]
    return change


def rename_master(spec: Any) -> None:
    spec["tasks"][0]["name"] = "master"


def rename_worker(spec: Any) -> None:
    spec["tasks"][1]["name"] = "worker"


def same_name(spec: Any) -> None:
    spec["tasks"].append(copy.deepcopy(spec["tasks"][0]))


def add_policy(**policy: Any) -> Callable[[Any], None]:
    return lambda spec: spec["policies"].append(policy)


def no_mpi(spec: Any) -> None:
    del spec["plugins"]["mpi"]
    spec["tasks"] = []
    spec["minAvailable"] = 0


def add_volume(**volume: Any) -> Callable[[Any], None]:
    return lambda spec: spec["tasks"][1]["template"]["spec"]["volumes"].append(volume)


def add_mount(**mount: Any) -> Callable[[Any], None]:
    return lambda spec: container(spec)["volumeMounts"].append(mount)


@pytest.mark.parametrize(("change", "rule", "message"), [
    (setter("minAvailable", -1), "negative", "minAvailable is -1"),
    (setter("maxRetry", -1), "negative", "maxRetry is -1"),
    (setter("ttlSecondsAfterFinished", -1), "negative", "ttlSecondsAfterFinished is -1"),
    (setter("minAvailable", 4), "min_available", "minAvailable is 4, but all tasks together have 3 replicas"),
    (setter("tasks", 1, "minAvailable", 3), "min_available", "minAvailable is 3, but the task has 2 replicas"),
    (no_mpi, "tasks", "there is no task"),
    (rename_master, "mpi_master", "the mpi plugin has mpimaster as its master task, which does not exist"),
    (rename_worker, "mpi_worker", "the mpi plugin has mpiworker as its worker task, which does not exist"),
    (same_name, "task_name", "there are two tasks mpimaster"),
    (setter("plugins", "ringsconfigmap", []), "plugin", "Volcano has no plugin ringsconfigmap"),
    (setter("plugins", "ssh", "--port=22"), "plugin", "the arguments of plugin ssh are not a list of strings"),
    (setter("queue", "Not_a_queue"), "queue", "'Not_a_queue' is not a queue name"),
    (add_policy(event="PodExploded", action="AbortJob"), "policy", "Volcano has no event PodExploded"),
    (add_policy(event="TaskFailed", action="Explode"), "policy", "Volcano has no action Explode"),
    (add_policy(event="PodFailed", action="RestartJob"), "policy", "PodFailed already has a policy"),
    (add_policy(event="*", action="RestartJob"), "policy", "the event * must be the only one"),
    (add_policy(event="TaskFailed", exitCode=3, action="RestartJob"), "policy", "a policy must have either events or an exit code"),
    (add_policy(action="RestartJob"), "policy", "a policy must have either events or an exit code"),
    (add_policy(exitCode=0, action="RestartJob"), "policy", "a policy must not have exit code 0"),
    (setter("tasks", 0, "policies", [{"events": ["Nothing"], "action": "AbortJob"}]), "policy", "Volcano has no event Nothing"),
    (setter("volumes", [{"mountPath": "/a"}, {"mountPath": "/a"}]), "job_volume", "mountPath '/a' is missing or a duplicate"),
    (setter("volumes", [{"volumeClaimName": "x"}]), "job_volume", "mountPath None is missing or a duplicate"),
    (setter("tasks", 0, "template", "spec", "nodeName", None), "null", "spec.tasks[0].template.spec.nodeName has no value"),
    (lambda spec: container(spec).update(name="Worker"), "container_name", "'Worker' is not a valid name: it must be an RFC 1123 label"),
    (lambda spec: container(spec).update(image=""), "image", "there is no image"),
    (setter("tasks", 1, "template", "spec", "containers", []), "containers", "there is no container"),
    (add_volume(name="huawei.com/npu-config", emptyDir={}), "volume_name", "'huawei.com/npu-config' is not a valid name: it must be an RFC 1123 label"),
    (add_volume(name="shm", emptyDir={}), "volume_name", "'shm' occurs twice"),
    (add_volume(name="x", hostPath={"path": "x"}), "host_path", "'x' is not an absolute path of the host"),
    (add_volume(name="x", hostPath={"path": "/x", "type": "Folder"}), "host_path", "type 'Folder' is not known"),
    (add_mount(name="nowhere", mountPath="/n"), "mount", "there is no volume 'nowhere'"),
    (add_mount(name="shm", mountPath="/dev/shm"), "mount", "'/dev/shm' is not a mount path, or occurs twice"),
    (lambda spec: container(spec)["env"].append({"name": "1X", "value": "y"}), "env", "'1X': 'y' is not a valid environment variable"),
    (lambda spec: container(spec)["env"].append({"name": "X", "value": 1}), "env", "'X': 1 is not a valid environment variable"),
    (lambda spec: container(spec)["ports"].append({"containerPort": 70000}), "port", "70000 is not a port"),
    (lambda spec: container(spec)["resources"]["limits"].update({"cpu": 8}), "quantity", "8 is not a quantity"),
    (lambda spec: container(spec)["resources"]["limits"].update({"cpu": "8 cores"}), "quantity", "'8 cores' is not a quantity"),
    (lambda spec: container(spec)["resources"]["limits"].update({"a/b/c": "8"}), "resource_name", "'a/b/c' is not a resource name"),
    (lambda spec: container(spec)["resources"]["requests"].update({"huawei.com/Ascend910": "4"}), "overcommit",
     "devices cannot be shared: request 4, limit 8"),
    (setter("tasks", 1, "template", "metadata", "labels", {"a b": "x"}), "label_key", "'a b' is not a label key"),
    (setter("tasks", 1, "template", "metadata", "labels", {"a": 1}), "label_value", "1 is not a label value"),
    (setter("tasks", 1, "template", "metadata", "annotations", {"a": 1}), "annotation", "'a': 1 is not a valid annotation"),
    (setter("tasks", 1, "template", "spec", "nodeSelector", {"a b": "x"}), "label_key", "'a b' is not a label key"),
    (setter("tasks", 1, "template", "spec", "restartPolicy", "Sometimes"), "restart_policy", "restartPolicy Sometimes is not known"),
])
def test_violations_of_volcano_rules_are_reported(change: Callable[[Any], None], rule: str, message: str) -> None:
    job = copy.deepcopy(VOLCANO)
    change(job["spec"])
    found = volcano_rules.problems(job)
    assert [(problem.rule, problem.message) for problem in found] == [(rule, message)]
    assert (found[0].severity, found[0].reader, bool(found[0].where)) == ("error", "kubernetes", True)


def test_numbers_of_replicas() -> None:
    job = copy.deepcopy(VOLCANO)
    job["spec"]["tasks"][1]["replicas"] = -1
    assert [problem.rule for problem in volcano_rules.problems(job)] == ["min_available", "negative"]
    job["spec"]["tasks"][1].update(replicas=5000, name="mpiworker")
    assert [problem.rule for problem in volcano_rules.problems(job)] == ["environment_limit"]


@pytest.mark.parametrize(("name", "rules"), [
    ("check_1", ["job_name", "pod_name", "pod_name"]), ("1check", ["job_name"]), ("a" * 60, ["pod_name", "pod_name"]), ("a" * 52, ["pod_name"] * 2),
    ("a" * 51, []), ("", ["job_name", "pod_name", "pod_name"]),
])
def test_names_of_jobs(name: str, rules: "list[str]") -> None:
    assert [problem["rule"] for problem in volcano_job({**LEAST, "name": name})["problems"]] == rules


def test_labels_of_the_job_itself() -> None:
    found = volcano_job({**LEAST, "labels": {"a": "x" * 64}, "namespace": "Lab"})["problems"]
    assert [(problem["rule"], problem["where"]) for problem in found][:2] == [("namespace", "metadata.namespace"), ("label_value", "metadata.labels.a")]


def test_a_task_without_a_name_is_reported() -> None:
    job = copy.deepcopy(VOLCANO)
    del job["spec"]["plugins"]["mpi"]
    job["spec"]["tasks"][1]["name"] = "The_workers"
    assert [problem.rule for problem in volcano_rules.problems(job)] == ["task_name", "pod_name"]


def test_an_empty_job_is_reported() -> None:
    assert [problem.rule for problem in volcano_rules.problems({})] == ["job_name", "namespace", "queue", "tasks"]
    assert [problem.rule for problem in mpi_rules.problems({})] == ["job_name", "namespace", "slots", "launcher", "workers", "pod_name"]


@pytest.mark.parametrize(("change", "rule", "message"), [
    (setter("slotsPerWorker", 0), "slots", "slotsPerWorker is 0"),
    (setter("mpiImplementation", "MVAPICH"), "implementation", "MPI Operator does not support MVAPICH"),
    (setter("runPolicy", "cleanPodPolicy", "Some"), "clean_pods", "MPI Operator does not support Some"),
    (setter("runPolicy", "backoffLimit", -1), "negative", "backoffLimit is -1"),
    (setter("runPolicy", "schedulingPolicy", "minAvailable", 4), "min_available", "minAvailable is 4, but there are 3 pods"),
    (setter("mpiReplicaSpecs", "Launcher", "replicas", 2), "launcher", "there must be one launcher"),
    (setter("mpiReplicaSpecs", "Worker", "restartPolicy", "Always"), "restart_policy", "restartPolicy Always is not allowed"),
    (setter("runPolicy", "managedBy", None), "null", "spec.runPolicy.managedBy has no value"),
    (lambda spec: spec["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["volumes"].append({"name": "Ü"}), "volume_name",
     "'Ü' is not a valid name: it must be an RFC 1123 label"),
])
def test_violations_of_mpi_operator_rules_are_reported(change: Callable[[Any], None], rule: str, message: str) -> None:
    job = copy.deepcopy(MPI)
    change(job["spec"])
    assert [(problem.rule, problem.message) for problem in mpi_rules.problems(job)] == [(rule, message)]


def test_workers_of_an_mpi_job() -> None:
    job = copy.deepcopy(MPI)
    job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = 0
    assert [problem.rule for problem in mpi_rules.problems(job)] == ["workers", "min_available"]
    assert [problem["rule"] for problem in mpi_job({**LEAST, "name": "a" * 60})["problems"]] == ["pod_name"]
