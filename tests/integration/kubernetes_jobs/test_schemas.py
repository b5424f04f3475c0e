"""Validate the manifests with the real CustomResourceDefinitions, which include the full schema of pod templates."""

from __future__ import annotations

import copy
from typing import Any

import kubernetes_validate
import pytest

from ansible_collections.hccn.cluster.plugins.filter.mpi_job import mpi_job
from ansible_collections.hccn.cluster.plugins.filter.runner_pods import runner_pods
from ansible_collections.hccn.cluster.plugins.filter.volcano_job import volcano_job
from tests.integration.kubernetes_jobs.schema import errors
from tests.lib.project import shared

VOLCANO = ["jobs.batch.volcano.sh-mindcluster-v1.9.0.yaml", "jobs.batch.volcano.sh-mindcluster-v1.12.0.yaml",
           "jobs.batch.volcano.sh-mindcluster-v1.15.0.yaml", "batch.volcano.sh_jobs.yaml"]
MPI = ["kubeflow.org_mpijobs.yaml"]
JOBS = {
    "least": {"image": "registry/hccl:1", "replicas": 1},
    "two nodes": {"image": "registry/hccl:1", "nodes": ["a", "b"], "environment": {"HCCL_BUFFSIZE": 300}, "labels": {"ring-controller.atlas": "ascend-910b"}},
    "gpus": {"image": "registry/nccl:1", "replicas": 16, "tool": "nccl_tests", "mpi": "openmpi", "gpus_per_process": 8, "environment": {"NCCL_IB_TC": 128},
             "resources": {"rdma/hca": 1}, "shm_size": "64Gi"},
    "everything": {
        "image": "registry/hccl:1", "nodes": ["a", "b"], "host_network": True, "resource": "huawei.com/npu", "resources": {"memory": "64Gi", "cpu": 32},
        "annotations": {"huawei.com/schedule_policy": "chip8-node8"}, "node_selector": {"accelerator-type": "module-910b-8"}, "priority_class": "high",
        "tolerations": [{"key": "npu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}], "queue": "checks", "scheduler": "volcano",
        "service_account": "checker", "image_pull_secrets": ["registry"], "security_context": {"privileged": True}, "shm_size": "8Gi", "rank_table": True,
        "mounts": [{"host_path": "/usr/local/Ascend/driver"}, {"name": "conf", "host_path": "/etc/hccn.conf", "type": "File"}]},
}


RUNNERS = {
    "least": {"image": "registry/python:3.11", "nodes": ["a", "b"]},
    "everything": {
        "image": "registry/python:3.11", "nodes": ["a", "b"], "hosts": ["n1", "n2"], "queue": "checks", "priority_class": "high", "resource": "huawei.com/npu",
        "devices_per_pod": 16, "resources": {"memory": "8Gi", "cpu": 4}, "annotations": {"huawei.com/schedule_policy": "chip8-node8"},
        "labels": {"ring-controller.atlas": "ascend-910b"}, "node_selector": {"accelerator-type": "module-910b-8"}, "host_network": False,
        "tolerations": [{"key": "npu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}], "service_account": "checker",
        "image_pull_secrets": ["registry"], "security_context": {"privileged": True}, "mounts": [{"host_path": "/usr/local/Ascend/driver"}]},
}
RELEASES = [f"1.{minor}" for minor in range(25, 38)]
"""Releases of Kubernetes whose schemas are available."""


def pods(source: str, name: str) -> list[dict[str, Any]]:
    """Return all pods as the cluster would make them."""
    if source == "runners":
        return [one for one in runner_pods(RUNNERS[name])["objects"] if one["kind"] == "Pod"]
    spec = manifest(source, name)["spec"]
    templates = [one["template"] for one in spec["tasks"]] if source == "volcano" else [one["template"] for one in spec["mpiReplicaSpecs"].values()]
    return [{"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(one)} for one in templates]


EVERY_POD = [("volcano", name) for name in sorted(JOBS)] + [("mpi", name) for name in sorted(JOBS)] + [("runners", name) for name in sorted(RUNNERS)]


@pytest.mark.parametrize("release", RELEASES)
def test_pods(release: str) -> None:
    """Keys that a release does not know are errors."""
    for source, name in EVERY_POD:
        for pod in pods(source, name):
            kubernetes_validate.validate(pod, release, strict=True)


@pytest.mark.parametrize("release", [RELEASES[0], RELEASES[-1]])
def test_schemas_of_pods_find_mistakes(release: str) -> None:
    for place, key, value in (("spec", "hostNetwrok", True), ("spec", "activeDeadlineSeconds", "600"), ("metadata", "labels", ["a"])):
        pod = copy.deepcopy(pods("runners", "least")[0])
        pod[place][key] = value
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(pod, release, strict=True)


def test_pod_group_of_runners() -> None:
    group = runner_pods(RUNNERS["everything"])["objects"][0]
    definition = shared("samples/k8s/crd/scheduling.volcano.sh_podgroups.yaml")
    assert errors(definition, group) == []
    group["spec"]["minMembers"] = group["spec"].pop("minMember")
    assert [message.split(": ")[0] for message in errors(definition, group)] == ["$.spec"]


def manifest(engine: str, job: str) -> dict[str, Any]:
    return {"volcano": volcano_job, "mpi": mpi_job}[engine](JOBS[job])["objects"][-1]


@pytest.mark.parametrize("job", sorted(JOBS))
@pytest.mark.parametrize(("engine", "definition"), [("volcano", name) for name in VOLCANO] + [("mpi", name) for name in MPI])
def test_manifest(engine: str, definition: str, job: str) -> None:
    assert errors(shared(f"samples/k8s/crd/{definition}"), manifest(engine, job)) == []


def _typo(job: dict[str, Any]) -> None:
    job["spec"]["minAvailabel"] = job["spec"].pop("minAvailable")


def _number(job: dict[str, Any]) -> None:
    job["spec"]["tasks"][1]["template"]["spec"]["activeDeadlineSeconds"] = "600"


def _deep(job: dict[str, Any]) -> None:
    job["spec"]["tasks"][1]["template"]["spec"]["containers"][0]["volumeMounts"][0]["readonly"] = True


def _null(job: dict[str, Any]) -> None:
    job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["args"] = None


@pytest.mark.parametrize("definition", VOLCANO)
@pytest.mark.parametrize(("mutate", "where"), [
    (_typo, "$.spec: "), (_number, "$.spec.tasks[1].template.spec.activeDeadlineSeconds: "),
    (_deep, "$.spec.tasks[1].template.spec.containers[0].volumeMounts[0]: "), (_null, "$.spec.tasks[0].template.spec.containers[0].args: "),
])
def test_schemas_find_mistakes(definition: str, mutate: Any, where: str) -> None:
    job = copy.deepcopy(manifest("volcano", "least"))
    mutate(job)
    found = errors(shared(f"samples/k8s/crd/{definition}"), job)
    assert [message[:len(where)] for message in found] == [where]


def test_schema_of_mpi_jobs_finds_mistakes() -> None:
    job = copy.deepcopy(manifest("mpi", "least"))
    job["spec"]["slotsPerWorkers"] = job["spec"].pop("slotsPerWorker")
    job["spec"]["mpiImplementation"] = "MVAPICH"
    found = errors(shared(f"samples/k8s/crd/{MPI[0]}"), job)
    assert sorted(message.split(": ")[0] for message in found) == ["$.spec", "$.spec.mpiImplementation"]


def test_mounts_are_those_of_the_published_example() -> None:
    """The published example mounts hccn.conf into a pod."""
    text = shared("samples/k8s/hccn_conf_hostpath.yaml.txt").read_text()
    spec = manifest("volcano", "least")["spec"]["tasks"][1]["template"]["spec"]
    mount = next(one for one in spec["containers"][0]["volumeMounts"] if one["mountPath"] == "/etc/hccn.conf")
    volume = next(one for one in spec["volumes"] if one["name"] == mount["name"])
    assert (mount["readOnly"], volume["hostPath"]) == (True, {"path": "/etc/hccn.conf", "type": "File"})
    assert all(line in text for line in ("mountPath: /etc/hccn.conf", "readOnly: true", "path: /etc/hccn.conf", "type: File"))
