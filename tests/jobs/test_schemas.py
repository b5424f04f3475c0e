# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifests against the real CustomResourceDefinitions, which hold the full schema of pod templates, too."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.filter.mpi_job import mpi_job
from ansible_collections.hccn.cluster.plugins.filter.volcano_job import volcano_job
from tests.jobs.schema import errors
from tests.support import shared

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
def test_the_schemas_find_mistakes(definition: str, mutate: Any, where: str) -> None:
    job = copy.deepcopy(manifest("volcano", "least"))
    mutate(job)
    found = errors(shared(f"samples/k8s/crd/{definition}"), job)
    assert [message[:len(where)] for message in found] == [where]


def test_the_schema_of_mpi_jobs_finds_mistakes() -> None:
    job = copy.deepcopy(manifest("mpi", "least"))
    job["spec"]["slotsPerWorkers"] = job["spec"].pop("slotsPerWorker")
    job["spec"]["mpiImplementation"] = "MVAPICH"
    found = errors(shared(f"samples/k8s/crd/{MPI[0]}"), job)
    assert sorted(message.split(": ")[0] for message in found) == ["$.spec", "$.spec.mpiImplementation"]


def test_mounts_are_those_of_the_published_example() -> None:
    """The one example of how hccn.conf comes into a pod."""
    text = shared("samples/k8s/hccn_conf_hostpath.yaml.txt").read_text()
    spec = manifest("volcano", "least")["spec"]["tasks"][1]["template"]["spec"]
    mount = next(one for one in spec["containers"][0]["volumeMounts"] if one["mountPath"] == "/etc/hccn.conf")
    volume = next(one for one in spec["volumes"] if one["name"] == mount["name"])
    assert (mount["readOnly"], volume["hostPath"]) == (True, {"path": "/etc/hccn.conf", "type": "File"})
    assert all(line in text for line in ("mountPath: /etc/hccn.conf", "readOnly: true", "path: /etc/hccn.conf", "type: File"))
